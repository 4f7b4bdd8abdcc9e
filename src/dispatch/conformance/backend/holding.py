"""Holds: an object does not start before the release that names the hold's instance (02, protocol 5)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.scheduler import Made
from dispatch.conformance.verdicts import expect, expect_same, forgiving, refused
from dispatch.model.answers import Capability
from dispatch.model.errors import Conflict, Finished, NotFound
from dispatch.model.status import By, Cause, Gate, State
from dispatch.spi.adapter import Holder

HOLD = Capability.HOLD


async def instance_of(on: Bench, made: Made) -> int | None:
    """The instance of the hold that is shown on it."""
    seen = await on.see(made)
    return seen.hold.instance if seen.hold else None


@check(needs=Holder, claims=HOLD)
async def a_hold_shows_its_instance(on: Bench) -> None:
    """A hold whose reply was lost is settled by reading its instance (02, protocol 8)."""
    made = await on.start()
    await on.hold(made, 7)
    expect_same(await instance_of(on, made), 7, "the instance")
    seen = await on.see(made)
    others = seen.hold and seen.hold.by
    expect_same(others, None, "whose hold there is besides ours (HoldSeen.by)")


@check(needs=Holder, claims=HOLD)
async def a_hold_before_the_open_survives_it(on: Bench) -> None:
    """Open lifts the gate and leaves the hold (02, protocol 5)."""
    made = await on.start()
    await on.hold(made, 3)
    await on.open(made)
    seen = await on.stays(made, gate=Gate.OPEN)
    expect_same((seen.cause, await instance_of(on, made)), (Cause.HELD, 3), "a held, opened object")


@check(needs=Holder, claims=HOLD)
async def a_hold_after_the_open_keeps_what_still_waits(on: Bench) -> None:
    """A job that waits for nodes can still be held."""
    await on.scheduler.fill()
    made = await on.start()
    await on.open(made)
    await on.hold(made, 1)
    await on.scheduler.make_room()
    await on.stays(made)


@check(needs=Holder, claims=HOLD)
async def a_release_lets_an_opened_object_run(on: Bench) -> None:
    """A hold that cannot be lifted loses the job."""
    made = await on.start()
    await on.hold(made, 1)
    await on.open(made)
    await on.release(made, 1)
    await on.running(made)


@check(needs=Holder, claims=HOLD)
async def a_release_leaves_a_closed_gate_closed(on: Bench) -> None:
    """A release lifts a hold, and never the gate (02, S2)."""
    made = await on.start()
    await on.hold(made, 1)
    await on.release(made, 1)
    await on.stays(made, gate=Gate.CLOSED)


@check(needs=Holder, claims=HOLD)
async def a_release_beneath_a_hold_by_hand_closes_no_gate(on: Bench) -> None:
    """What was opened would look as if its open had been forgotten, and would be stopped (12, O3 and O5)."""
    await on.scheduler.fill()
    made = await on.start()
    await on.hold(made, 1)
    await on.open(made)
    await on.scheduler.hold_as_owner(made)
    with forgiving(Conflict):
        await on.release(made, 1, opened=True)
    await on.stays(made)
    await on.scheduler.release_as_owner(made)
    with forgiving(Conflict):
        await on.release(made, 1, opened=True)
    await on.scheduler.make_room()
    await on.running(made)


@check(needs=Holder, claims=HOLD)
async def a_release_that_names_another_hold_lifts_nothing(on: Bench) -> None:
    """A release that was delayed must not lift the hold that came after it (02, S3)."""
    made = await on.start()
    await on.hold(made, 2)
    await on.open(made)
    for stale in (1, 3):
        with refused(Conflict):
            await on.release(made, stale)
        expect_same(await instance_of(on, made), 2, f"the hold after a release of {stale}")


@check(needs=Holder, claims=HOLD)
async def a_release_without_a_hold_is_a_conflict(on: Bench) -> None:
    """It names a hold that is not there; the gate is none."""
    made = await on.start()
    with refused(Conflict):
        await on.release(made, 1)
    await on.stays(made, gate=Gate.CLOSED)


@check(needs=Holder, claims=HOLD)
async def a_later_hold_takes_the_place_of_an_earlier_one(on: Bench) -> None:
    """Instances rise; the last is the hold, and only its release counts (02, protocol 5)."""
    made = await on.start()
    await on.hold(made, 1)
    await on.hold(made, 2)
    expect_same(await instance_of(on, made), 2, "the instance")
    with refused(Conflict):
        await on.release(made, 1)
    await on.release(made, 2)
    expect_same(await instance_of(on, made), None, "the instance after the release")


@check(needs=Holder, claims=HOLD)
async def an_earlier_hold_that_lands_late_replaces_no_later_one(on: Bench) -> None:
    """Each verb is harmless when it lands late (02, protocol 8)."""
    made = await on.start()
    await on.hold(made, 5)
    with forgiving(Conflict):
        await on.hold(made, 4)
    expect_same(await instance_of(on, made), 5, "the instance")


@check(needs=Holder, claims=HOLD)
async def a_hold_on_a_running_object_is_a_conflict_or_ends_its_execution(on: Bench) -> None:
    """Or it ends the execution and says so; it must not say well and let it run (03; memory adapter, shapes)."""
    made = await on.start_running()
    try:
        await on.hold(made, 1)
    except Conflict:
        expect_same((await on.see(made)).state, State.RUNNING, "the running object")
        return
    seen = await on.stays(made)
    expect_same((seen.cause, await instance_of(on, made)), (Cause.HELD, 1), "what was running")


@check(needs=Holder, claims=HOLD)
async def a_hold_on_an_ended_object_is_finished(on: Bench) -> None:
    """There is nothing to keep from starting (03)."""
    made = await on.start_ended()
    with refused(Finished):
        await on.hold(made, 1)


@check(needs=Holder, claims=HOLD)
async def a_release_of_an_ended_object_is_finished(on: Bench) -> None:
    """There is nothing to let start (03)."""
    made = await on.start()
    await on.hold(made, 1)
    await on.stop(made)
    if await on.gone(made) is None:
        made = await on.start_ended()
    with refused(Finished):
        await on.release(made, 1)


@check(needs=Holder, claims=HOLD)
async def a_hold_of_an_unknown_object_is_not_found(on: Bench) -> None:
    """A hold that answers well without an object would be recorded as placed."""
    made = await on.start()
    with refused(NotFound):
        await on.holder.hold(on.harness.unknown_ref(made), on.holding(1))
    expect_same(await instance_of(on, made), None, "the hold on the object with the similar ref")


@check(needs=Holder, claims=HOLD)
async def a_hold_is_placed_on_one_object_and_no_other(on: Bench) -> None:
    """Two objects of one job have the same name; only one of them is meant."""
    first = await on.start()
    second = await on.start(on.order(of=first.order.id, submission=2))
    await on.hold(second, 1)
    expect_same(await instance_of(on, first), None, "the hold on the other object")


# ------------------------------------------------------------------ administrators


@check()
async def an_administrators_hold_is_told_from_ours(on: Bench) -> None:
    """Why a job waits is never guessed (01, promise 3)."""
    made = await on.start()
    await on.scheduler.hold_as_administrator(made)
    seen = await on.see(made)
    expect_same(seen.cause, Cause.ADMIN_HELD, "the cause")
    expect(seen.hold is not None and seen.hold.by is By.ADMINISTRATOR, f"the hold is {seen.hold}")


@check()
async def an_administrators_hold_refuses_the_open(on: Bench) -> None:
    """It is theirs to lift (02, S3)."""
    made = await on.start()
    await on.scheduler.hold_as_administrator(made)
    with refused(Conflict):
        await on.open(made)
    await on.stays(made)


@check(needs=Holder, claims=HOLD)
async def an_administrators_hold_outlives_our_release(on: Bench) -> None:
    """A release lifts only the hold that it names (02, S3)."""
    made = await on.start()
    await on.hold(made, 1)
    await on.open(made)
    await on.scheduler.hold_as_administrator(made)
    expect_same(await instance_of(on, made), 1, "the instance of our hold beneath theirs")
    with forgiving(Conflict):
        await on.release(made, 1)
    seen = await on.stays(made)
    expect_same(seen.cause, Cause.ADMIN_HELD, "the cause after our release")
