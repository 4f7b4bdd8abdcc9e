"""Requeue: an ended object back to pending, and a requeue bit that is borrowed and restored (03, Requeuer)."""

from __future__ import annotations

from contextlib import suppress

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.scheduler import Made
from dispatch.conformance.verdicts import expect, expect_same, forgiving, refused
from dispatch.model.answers import Capability, Tristate
from dispatch.model.errors import Conflict, Expired, Finished, OutcomeUnknown, Unsupported
from dispatch.model.status import Gate, State
from dispatch.spi.adapter import Requeuer

REQUEUE = Capability.REQUEUE


async def revivable(on: Bench) -> Made:
    """An object that has failed and may be run again."""
    made = await on.start()
    await on.scheduler.mark_requeueable(made)
    await on.open(made)
    await on.running(made)
    await on.scheduler.finish(made, 3)
    await on.ended(made)
    return made


@check(needs=Requeuer, claims=REQUEUE)
async def a_requeue_brings_an_ended_object_back_with_its_count_raised(on: Bench) -> None:
    """The epoch rises with it, so that a late writer is fenced (02, S5)."""
    made = await revivable(on)
    await on.requeuer.requeue(made.ref, on.meta())
    seen = await on.see(made)
    expect_same((seen.state, seen.restarts), (State.PENDING, 1), "a requeued object")
    expect_same((seen.ref, seen.gate), (made.ref, Gate.OPEN), "its ref and gate")


@check(needs=Requeuer, claims=REQUEUE)
async def a_requeue_leaves_the_requeue_bit_as_it_was(on: Bench) -> None:
    """It is borrowed: one left set lets the scheduler run the object again on its own authority (03, Requeuer)."""
    made = await revivable(on)
    before = (await on.see(made)).requeue
    await on.requeuer.requeue(made.ref, on.meta())
    expect_same((await on.see(made)).requeue, before, "the requeue bit")


@check(needs=Requeuer, claims=REQUEUE)
async def a_requeue_of_what_has_not_ended_is_a_conflict(on: Bench) -> None:
    """It would run as it is, and twice (12, B3)."""
    made = await on.start()
    with refused(Conflict):
        await on.requeuer.requeue(made.ref, on.meta())
    seen = await on.stays(made, gate=Gate.CLOSED)
    expect_same((seen.restarts, seen.requeue), (0, False), "its count and its bit")


@check(needs=Requeuer, claims=REQUEUE)
async def a_requeue_of_a_final_object_is_finished(on: Bench) -> None:
    """Stop is final (12)."""
    made = await on.start()
    await on.stop(made)
    await on.gone(made)
    with refused(Finished):
        await on.requeuer.requeue(made.ref, on.meta())
    await on.stays(made, State.CANCELLED)


@check(needs=Requeuer, claims=REQUEUE)
async def a_requeue_after_its_deadline_revives_nothing(on: Bench) -> None:
    """It was counted as not landed; what it lets run would be a second copy."""
    made = await revivable(on)
    with refused(Expired):
        await on.requeuer.requeue(made.ref, on.late())
    await on.stays(made, State.FAILED)


@check(needs=Requeuer, claims=REQUEUE)
async def a_requeue_bit_that_was_left_set_can_be_restored(on: Bench) -> None:
    """Every bit that was borrowed is given back (02, liveness)."""
    made = await on.start()
    await on.scheduler.mark_requeueable(made)
    await on.requeuer.restore_requeue_bit(made.ref, on.meta())
    expect(not (await on.see(made)).requeue, "the requeue bit is left set")


@check(needs=Requeuer, claims=REQUEUE)
async def a_requeue_that_dies_half_way_can_be_made_good(on: Bench) -> None:
    """Whatever step it died at, the bit can be restored afterwards."""
    made = await revivable(on)
    await on.scheduler.cut_next_call(1)
    with refused(OutcomeUnknown):
        await on.requeuer.requeue(made.ref, on.meta())
    if (await on.see(made)).state.ended:
        with suppress(Finished):
            await on.requeuer.requeue(made.ref, on.meta())
    with forgiving(Finished):
        await on.requeuer.restore_requeue_bit(made.ref, on.meta())
    seen = await on.see(made)
    expect(seen.state.ended or not seen.requeue, "it waits with its requeue bit set")


@check(needs=Requeuer)
async def requeuing_without_the_claim_is_unsupported(on: Bench) -> None:
    """What a cluster cannot do is refused, and unknown counts as no."""
    for value in (Tristate.NO, Tristate.UNKNOWN):
        backend = await on.view_without(REQUEUE, value)
        made = await backend.start(on.order(), on.meta())
        if isinstance(backend, Requeuer):
            with refused(Unsupported):
                await backend.requeue(made, on.meta())
            with refused(Unsupported):
                await backend.restore_requeue_bit(made, on.meta())
