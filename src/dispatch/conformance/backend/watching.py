"""Watching: a stream that begins with what there is, and ends rather than dropping anything (03, Watcher)."""

from __future__ import annotations

import asyncio

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import Broken, expect, expect_same, refused
from dispatch.model.answers import Capability, Tristate
from dispatch.model.errors import Unsupported
from dispatch.model.status import Gate, Observation
from dispatch.spi.adapter import Watch, Watcher

WATCH = Capability.WATCH


async def told_next(on: Bench, watch: Watch) -> Observation:
    """The next observation, which is due."""
    try:
        return await asyncio.wait_for(anext(aiter(watch)), on.harness.patience)
    except StopAsyncIteration:
        raise Broken("the stream has ended") from None
    except TimeoutError:
        raise Broken("the stream tells nothing") from None


async def is_over(on: Bench, watch: Watch, within: int) -> bool:
    """Whether the stream ends after at most so many observations."""
    for _ in range(within):
        try:
            await asyncio.wait_for(anext(aiter(watch)), on.harness.patience)
        except StopAsyncIteration:
            return True
        except TimeoutError:
            return False
    return False


@check(needs=Watcher, claims=WATCH)
async def a_watch_begins_with_every_object_that_there_is(on: Bench) -> None:
    """Whoever subscribes again has missed nothing that still holds."""
    made = {(await on.start()).ref, (await on.start()).ref}
    watch = await on.watcher.watch()
    expect_same(
        {(await told_next(on, watch)).ref, (await told_next(on, watch)).ref}, made, "the snapshot"
    )
    await watch.close()


@check(needs=Watcher, claims=WATCH)
async def a_watch_tells_each_change_in_its_order(on: Bench) -> None:
    """A change that is told after a later one would be taken for the present."""
    made = await on.start()
    watch = await on.watcher.watch()
    first = await told_next(on, watch)
    await on.open(made)
    await on.running(made)
    gates = [first.gate, (await told_next(on, watch)).gate]
    while gates[-1] is Gate.CLOSED:
        gates.append((await told_next(on, watch)).gate)
    expect_same(gates[0], Gate.CLOSED, "the gate at first")
    await watch.close()


@check(needs=Watcher, claims=WATCH)
async def a_watch_that_nobody_reads_ends_rather_than_drops(on: Bench) -> None:
    """A stream with a gap reads like one without; an end makes the reader subscribe again."""
    watch = await on.watcher.watch()
    for _ in range(on.harness.flood):
        await on.stop(await on.start())
    expect(await is_over(on, watch, 9 * on.harness.flood), "it goes on, whatever it has dropped")


@check(needs=Watcher, claims=WATCH)
async def a_closed_watch_ends(on: Bench) -> None:
    """By its own close, and twice."""
    await on.start()
    watch = await on.watcher.watch()
    await told_next(on, watch)
    await watch.close()
    await watch.close()
    expect(await is_over(on, watch, 2), "it goes on after its close")


@check(needs=Watcher, claims=WATCH)
async def a_closed_backend_ends_its_watches(on: Bench) -> None:
    """Closing lets go of everything (03)."""
    view = await on.view()
    if not isinstance(view, Watcher):
        raise Broken("a second view cannot watch")
    await on.start()
    watch = await view.watch()
    await told_next(on, watch)
    await view.close()
    expect(await is_over(on, watch, 2), "it goes on after its backend has closed")


@check(needs=Watcher)
async def watching_without_the_claim_is_unsupported(on: Bench) -> None:
    """A cluster that is polled says so, and unknown counts as no."""
    for value in (Tristate.NO, Tristate.UNKNOWN):
        backend = await on.view_without(WATCH, value)
        if isinstance(backend, Watcher):
            with refused(Unsupported):
                await backend.watch()
