"""The gate: a new object cannot run before its Open (02, protocol 2 and 3)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.errors import Finished, NotFound
from dispatch.model.status import Cause, Gate, State


@check()
async def a_new_object_is_pending_behind_a_closed_gate(on: Bench) -> None:
    """A start that reads as anything else could be taken for one that was opened (02, S2)."""
    seen = await on.see(await on.start())
    expect_same((seen.state, seen.gate), (State.PENDING, Gate.CLOSED), "a new object")
    expect_same(seen.cause, Cause.GATED, "the cause of a new object")
    expect_same(seen.restarts, 0, "its restart count")


@check()
async def a_gated_object_never_runs(on: Bench) -> None:
    """Nothing runs whose Open was not intended (02, S2)."""
    await on.stays(await on.start(), gate=Gate.CLOSED)


@check()
async def an_opened_object_runs(on: Bench) -> None:
    """A gate that never opens loses the job (02, liveness)."""
    made = await on.start_running()
    expect_same((await on.see(made)).gate, Gate.OPEN, "the gate of a running object")


@check()
async def an_open_lifts_one_gate_and_no_other(on: Bench) -> None:
    """Open names one object (02, protocol 8), even among the objects of one job."""
    older = await on.start()
    newer = await on.start(on.order(of=older.order.id, submission=2))
    stranger = await on.start()
    await on.open(newer)
    await on.running(newer)
    await on.stays(older, gate=Gate.CLOSED)
    expect_same((await on.see(stranger)).gate, Gate.CLOSED, "another job's gate")


@check()
async def a_second_open_changes_nothing(on: Bench) -> None:
    """Open lifts a gate once; the same Open that lands twice is harmless (02, protocol 8)."""
    made = await on.start_running()
    before = await on.see(made)
    await on.open(made)
    after = await on.see(made)
    expect_same(
        (after.state, after.restarts, after.started),
        (before.state, before.restarts, before.started),
        "a running object after a second open",
    )


@check()
async def an_open_of_an_ended_object_is_finished(on: Bench) -> None:
    """Its caller must learn that nothing will run (02, errors)."""
    made = await on.start_ended()
    with refused(Finished):
        await on.open(made)


@check()
async def an_open_of_an_unknown_object_is_not_found(on: Bench) -> None:
    """An open that answers well without an object would be recorded as landed."""
    made = await on.start()
    with refused(NotFound):
        await on.backend.open(on.harness.unknown_ref(made), on.meta())


@check()
async def a_release_of_everything_by_hand_opens_no_gate(on: Bench) -> None:
    """A person who releases all of their jobs must not start one that dispatch has not opened (12, O5)."""
    made = await on.start()
    await on.scheduler.release_as_owner(made)
    await on.stays(made)
    await on.open(made)
    await on.running(made)


@check()
async def a_gate_may_be_opened_from_another_view(on: Bench) -> None:
    """Supervisors come and go: a ref is all that one needs to go on (04, one engine)."""
    made = await on.start()
    other = await on.view()
    await other.open(made.ref, on.meta())
    seen = await on.running(made)
    expect(seen.ref == made.ref, f"the ref became {seen.ref!r}, from {made.ref!r}")
