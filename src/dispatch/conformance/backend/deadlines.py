"""Deadlines: a call whose command starts after its deadline does nothing (02, protocol 8)."""

from __future__ import annotations

from datetime import timedelta

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect_same, refused
from dispatch.model.answers import Capability
from dispatch.model.errors import Expired
from dispatch.model.status import Gate, State
from dispatch.spi.adapter import Holder

PAST = timedelta(seconds=-1)
LONG_PAST = timedelta(days=-1)
HOLD = Capability.HOLD


@check()
async def a_start_after_its_deadline_makes_nothing(on: Bench) -> None:
    """Its intent has been settled as not landed by then; an object would be an orphan."""
    order = on.order()
    for late in (PAST, LONG_PAST):
        with refused(Expired):
            await on.backend.start(order, on.meta(late))
    expect_same(await on.objects(order.id), (), "what was made")


@check()
async def an_open_after_its_deadline_lifts_nothing(on: Bench) -> None:
    """It was counted as not landed; what it lets run would be a second copy."""
    made = await on.start()
    for late in (PAST, LONG_PAST):
        with refused(Expired):
            await on.backend.open(made.ref, on.meta(late))
    await on.stays(made, gate=Gate.CLOSED)


@check()
async def a_stop_after_its_deadline_ends_nothing(on: Bench) -> None:
    """Nobody waits for it any more, and it may have been decided anew."""
    made = await on.start_running()
    for late in (PAST, LONG_PAST):
        with refused(Expired):
            await on.backend.stop(made.ref, on.meta(late))
    await on.stays(made, State.RUNNING)


@check(needs=Holder, claims=HOLD)
async def a_hold_after_its_deadline_holds_nothing(on: Bench) -> None:
    """A hold that nobody knows of would keep the job for ever."""
    made = await on.start()
    for late in (PAST, LONG_PAST):
        with refused(Expired):
            await on.holder.hold(made.ref, on.holding(1, late))
    expect_same((await on.see(made)).hold, None, "the hold")


@check(needs=Holder, claims=HOLD)
async def a_release_after_its_deadline_lifts_nothing(on: Bench) -> None:
    """What it lets run would be a second copy."""
    made = await on.start()
    await on.hold(made, 1)
    await on.open(made)
    for late in (PAST, LONG_PAST):
        with refused(Expired):
            await on.holder.release(made.ref, 1, on.meta(late))
    await on.stays(made)


@check()
async def the_deadline_is_compared_where_the_command_runs(on: Bench) -> None:
    """A client that queued its call in time, and slept, does nothing when it wakes (02, protocol 8)."""
    made = await on.start()
    deadline = on.meta()
    bound = on.backend.declarations.call_bound
    for late in (timedelta(seconds=1), bound + timedelta(seconds=1)):
        with on.harness.late_call(deadline.deadline + late), refused(Expired):
            await on.backend.open(made.ref, deadline)
    expect_same((await on.see(made)).gate, Gate.CLOSED, "the gate")
    with on.harness.late_call(deadline.deadline - timedelta(seconds=1)):
        await on.backend.open(made.ref, deadline)
