"""Watching: every object first, then each change in its order, and an end rather than a gap."""

from __future__ import annotations

import asyncio

import pytest

from adapters.memory.bench import Bench, do, kubeflow, seconds
from dispatch.adapters.memory import Stream
from dispatch.model.errors import Unavailable, Unsupported
from dispatch.model.status import Cause, Gate, Observation, State
from dispatch.spi.adapter import Watcher


def read(stream: Stream, count: int) -> list[Observation]:
    return [do(stream.__anext__()) for _ in range(count)]


def ends(stream: Stream) -> bool:
    try:
        do(stream.__anext__())
    except StopAsyncIteration:
        return True
    return False


def test_a_subscription_begins_with_every_objects_current_observation() -> None:
    bench = Bench()
    running, gated = bench.running(1), bench.start(2)
    assert isinstance(bench.backend, Watcher)
    stream = do(bench.backend.watch())
    first = read(stream, 2)
    assert [(seen.ref, seen.state) for seen in first] == [
        (running, State.RUNNING), (gated, State.PENDING),
    ]  # fmt: skip


@pytest.mark.parametrize("shape", ["slurm", "kubeflow"])
def test_each_change_is_told_in_its_order_from_inside_the_call_that_makes_it(shape: str) -> None:
    bench = Bench(shape=shape)
    stream = do(bench.backend.watch())
    ref = bench.start()
    assert [seen.gate for seen in read(stream, 1)] == [Gate.CLOSED]
    bench.open(ref)
    bench.env.run(ref)
    bench.env.finish(ref)
    told = read(stream, len(stream._changes))
    assert [seen.state for seen in told if seen.gate is Gate.OPEN] == [
        State.PENDING, State.RUNNING, State.SUCCEEDED,
    ]  # fmt: skip


def test_what_another_view_changes_is_told_too() -> None:
    bench = Bench()
    stream = do(bench.env.view(read_only=True).watch())
    ref = bench.start()
    assert read(stream, 1)[0].ref == ref


def test_what_time_brings_is_told_by_the_next_call() -> None:
    bench = kubeflow(evidenceWindow="30s")
    ref = bench.running()
    bench.env.finish(ref, 1)
    stream = do(bench.backend.watch())
    assert read(stream, 1)[0].cause is Cause.NON_ZERO_EXIT
    bench.pass_time(30)
    bench.env.truths()
    assert read(stream, 1)[0].cause is Cause.UNKNOWN


def test_a_snapshot_is_not_bounded_and_a_full_buffer_ends_the_stream() -> None:
    bench = Bench(watchBuffer=2)
    refs = [bench.start(number) for number in range(1, 5)]
    stream = do(bench.backend.watch())
    for ref in refs[:3]:
        bench.env.cancel(ref)
    assert stream.closed
    assert [seen.state for seen in read(stream, 4)] == [State.PENDING] * 4
    assert len(stream._changes) == 2
    read(stream, 2)
    assert ends(stream)
    again = do(bench.backend.watch())
    assert len(read(again, 4)) == 4


def test_a_change_that_shows_nothing_new_is_not_told() -> None:
    bench = Bench()
    ref = bench.start()
    stream = do(bench.backend.watch())
    read(stream, 1)
    bench.restore(ref)
    bench.env.truths()
    assert "0 unread" in repr(stream)


@pytest.mark.parametrize("how", ["stream", "backend", "crash", "cut off"])
def test_a_close_ends_the_stream(how: str) -> None:
    bench = Bench()
    stream, other = do(bench.backend.watch()), do(bench.env.view().watch())
    match how:
        case "stream":
            do(stream.close())
            do(stream.close())
        case "backend":
            do(bench.backend.close())
        case "crash":
            bench.env.crash()
        case _:
            bench.env.make_unavailable(seconds(1))
    assert ends(stream)
    assert "closed" in repr(stream)
    assert other.closed is (how in {"crash", "cut off"})


def test_a_wait_is_woken_by_a_change_and_a_cancelled_wait_ends_the_stream() -> None:
    bench = Bench()

    async def watch() -> None:
        stream = await bench.backend.watch()
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        ref = await bench.backend.start(bench.order(), bench.meta())
        assert (await waiting).ref == ref
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert [seen async for seen in stream] == []

    asyncio.run(watch())


def test_a_close_wakes_who_waits() -> None:
    bench = Bench()

    async def watch() -> list[Observation]:
        stream = await bench.backend.watch()

        async def collect() -> list[Observation]:
            return [seen async for seen in stream]

        waiting = asyncio.ensure_future(collect())
        await asyncio.sleep(0)
        await bench.backend.close()
        return await waiting

    assert asyncio.run(watch()) == []


def test_a_cluster_that_cannot_be_watched_or_reached_says_so() -> None:
    with pytest.raises(Unsupported):
        do(Bench(capabilities={"Watch": {"value": "no"}}).backend.watch())
    bench = Bench()
    bench.env.make_unavailable()
    with pytest.raises(Unavailable):
        do(bench.backend.watch())
