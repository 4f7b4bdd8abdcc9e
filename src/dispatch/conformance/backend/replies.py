"""Replies that are lost, and calls that die half-way: what has happened can be read back (02, protocol 4 and 8)."""

from __future__ import annotations

from contextlib import suppress

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import CannotDo, expect, expect_same, refused
from dispatch.model.answers import Capability
from dispatch.model.errors import OutcomeUnknown
from dispatch.model.status import Gate, State
from dispatch.spi.adapter import Holder

HOLD = Capability.HOLD


@check()
async def a_start_whose_reply_is_lost_is_found_by_its_attempt(on: Bench) -> None:
    """The create is never repeated; what it made is found, gated, and adopted (02, protocol 4)."""
    order = on.order()
    await on.scheduler.drop_next_reply()
    with refused(OutcomeUnknown):
        await on.backend.start(order, on.meta())
    found = await on.objects(order.id)
    expect_same([one.key.attempt for one in found], [order.attempt], "the attempts that are found")
    expect_same(found[0].gate, Gate.CLOSED, "the gate of what was made")
    await on.backend.stop(found[0].ref, on.meta())


@check()
async def an_open_whose_reply_is_lost_is_read_back(on: Bench) -> None:
    """Whether it landed shows in the gate."""
    made = await on.start()
    await on.scheduler.drop_next_reply()
    with refused(OutcomeUnknown):
        await on.open(made)
    expect_same((await on.see(made)).gate, Gate.OPEN, "the gate")


@check()
async def a_stop_whose_reply_is_lost_is_read_back(on: Bench) -> None:
    """Whether it landed shows in the state."""
    made = await on.start()
    await on.scheduler.drop_next_reply()
    with refused(OutcomeUnknown):
        await on.stop(made)
    await on.gone(made)


@check(needs=Holder, claims=HOLD)
async def a_hold_whose_reply_is_lost_is_read_back(on: Bench) -> None:
    """Whether it landed shows in the instance."""
    made = await on.start()
    await on.scheduler.drop_next_reply()
    with refused(OutcomeUnknown):
        await on.hold(made, 4)
    seen = await on.see(made)
    expect(seen.hold is not None and seen.hold.instance == 4, f"the hold is {seen.hold}")


@check()
async def an_open_that_dies_half_way_leaves_the_gate_closed_or_open(on: Bench) -> None:
    """Half an open either has landed or has not; a second one completes it (07, gate)."""
    made = await on.start()
    await on.scheduler.cut_next_call(1)
    with refused(OutcomeUnknown):
        await on.open(made)
    if (await on.see(made)).gate is Gate.CLOSED:
        await on.stays(made, gate=Gate.CLOSED)
    await on.open(made)
    await on.running(made)


@check()
async def a_stop_that_dies_half_way_leaves_no_requeue_bit(on: Bench) -> None:
    """The bit is taken away before the end, so that no end leaves it set; a second stop completes it (12, E1)."""
    made = await on.start()
    with suppress(CannotDo):
        await on.scheduler.mark_requeueable(made)
    await on.scheduler.cut_next_call(1)
    with refused(OutcomeUnknown):
        await on.stop(made)
    half = await on.see(made)
    expect(not (half.state.ended and half.requeue), "it has ended with its requeue bit set")
    await on.stop(made)
    if whole := await on.gone(made):
        expect_same((whole.state, whole.final), (State.CANCELLED, True), "after a second stop")
