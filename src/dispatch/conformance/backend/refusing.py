"""Refusals: of the scheduler, for now and for good, and those of a cluster that cannot be seen (02, errors)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect_same, refused
from dispatch.model.errors import Busy, Rejected, Unavailable
from dispatch.model.status import State
from dispatch.spi.adapter import MultiFinder


@check()
async def a_refusal_for_now_is_busy_and_makes_nothing(on: Bench) -> None:
    """The same start may be tried again, and is charged to nobody (12, B1)."""
    order = on.order()
    await on.scheduler.refuse_next_for_now()
    with refused(Busy):
        await on.backend.start(order, on.meta())
    expect_same(await on.objects(order.id), (), "what was made")
    await on.start(order)


@check()
async def a_refusal_for_good_is_rejected_and_leaves_nothing(on: Bench) -> None:
    """The job ends as Rejected; an object that is left behind would be an orphan (03)."""
    order = on.order(on.harness.impossible_job())
    with refused(Rejected):
        await on.backend.start(order, on.meta())
    alive = [one for one in await on.objects(order.id) if not one.state.ended]
    expect_same(alive, [], "what is left behind")


@check()
async def a_cluster_that_cannot_be_seen_is_unavailable_and_not_empty(on: Bench) -> None:
    """An empty answer would read as a job that is gone (02, errors: says nothing about the job)."""
    made = await on.start()
    await on.scheduler.go_away()
    try:
        with refused(Unavailable):
            await on.backend.find(made.order.id)
        with refused(Unavailable):
            await on.see(made)
        if isinstance(on.backend, MultiFinder):
            with refused(Unavailable):
                await on.backend.find_many([made.order.id])
    finally:
        await on.scheduler.come_back()
    expect_same((await on.see(made)).state, State.PENDING, "the object afterwards")


@check()
async def a_write_that_reaches_nobody_is_unavailable_and_does_nothing(on: Bench) -> None:
    """It surely did not land, so it may be decided again at once."""
    made, order = await on.start(), on.order()
    await on.scheduler.go_away()
    try:
        with refused(Unavailable):
            await on.backend.start(order, on.meta())
        with refused(Unavailable):
            await on.stop(made)
    finally:
        await on.scheduler.come_back()
    expect_same(await on.objects(order.id), (), "what was made")
    expect_same((await on.see(made)).state, State.PENDING, "the object that was not stopped")
