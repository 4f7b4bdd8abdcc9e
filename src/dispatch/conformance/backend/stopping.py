"""Stop: it ends exactly one object, for good (02, protocol 7)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same, forgiving, refused
from dispatch.model.answers import Capability
from dispatch.model.errors import NotFound
from dispatch.model.status import Cause, State
from dispatch.spi.adapter import Holder


@check()
async def a_stop_ends_a_gated_object_that_never_ran(on: Bench) -> None:
    """That is how an orphan is swept (12, T1)."""
    made = await on.start()
    await on.stop(made)
    if seen := await on.gone(made):
        expect_same((seen.state, seen.started), (State.CANCELLED, None), "a stopped, gated object")


@check()
async def a_stop_ends_a_running_object(on: Bench) -> None:
    """After it, nothing of the object runs."""
    made = await on.start_running()
    await on.stop(made)
    if seen := await on.gone(made):
        found = (seen.state, seen.cause)
        expect_same(found, (State.CANCELLED, Cause.CANCELLED), "a stopped object")


@check(needs=Holder, claims=Capability.HOLD)
async def a_stop_ends_a_held_object(on: Bench) -> None:
    """A hold keeps from starting, not from ending."""
    made = await on.start()
    await on.hold(made, 1)
    await on.stop(made)
    if seen := await on.gone(made):
        expect_same(seen.state, State.CANCELLED, "a stopped, held object")


@check()
async def a_stop_ends_one_object_and_no_other(on: Bench) -> None:
    """Two objects of one job have the same name; only one of them is meant."""
    kept = await on.start()
    stopped = await on.start(on.order(of=kept.order.id, submission=2))
    await on.stop(stopped)
    await on.gone(stopped)
    expect_same((await on.see(kept)).state, State.PENDING, "the object that was not named")


@check()
async def a_stopped_object_is_final(on: Bench) -> None:
    """Stop is final: whatever lands late finds nothing that could run (12)."""
    made = await on.start()
    await on.stop(made)
    if seen := await on.gone(made):
        expect(seen.final, "it has ended, but may run again")
        expect(not seen.requeue, "its requeue bit is set")


@check()
async def a_stopped_object_is_revived_by_nobody(on: Bench) -> None:
    """An ended object that can be run again is not stopped (12, E1)."""
    made = await on.start()
    await on.scheduler.mark_requeueable(made)
    await on.stop(made)
    await on.gone(made)
    await on.scheduler.requeue_as_owner(made)
    await on.stays(made, State.CANCELLED)


@check()
async def a_second_stop_changes_nothing(on: Bench) -> None:
    """One that has ended already is no error (03)."""
    made = await on.start()
    await on.stop(made)
    if await on.gone(made) is None:
        with forgiving(NotFound):
            await on.stop(made)
        return
    await on.stop(made)
    expect_same((await on.see(made)).state, State.CANCELLED, "an object that was stopped twice")


@check()
async def a_stop_of_a_finished_object_leaves_its_verdict(on: Bench) -> None:
    """A late stop must not turn a success into a cancellation (02, S6 and S8)."""
    made = await on.start_running()
    await on.scheduler.finish(made, 0)
    await on.ended(made)
    await on.stop(made)
    expect_same((await on.see(made)).state, State.SUCCEEDED, "a success that was stopped late")


@check()
async def a_stop_of_an_unknown_object_is_not_found(on: Bench) -> None:
    """Nothing was stopped, so nothing may be recorded as stopped."""
    made = await on.start()
    with refused(NotFound):
        await on.backend.stop(on.harness.unknown_ref(made), on.meta())
    expect_same((await on.see(made)).state, State.PENDING, "the object with the similar ref")
