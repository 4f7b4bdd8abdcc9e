"""The start gate, and what people and administrators do to it."""

from __future__ import annotations

import pytest

from adapters.memory.bench import Bench, do, seconds
from dispatch.model.errors import Conflict, Finished, Invalid, NotFound
from dispatch.model.status import By, Cause, Gate, HoldSeen, State


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_new_object_is_gated(bench: Bench) -> None:
    seen = bench.see(bench.start())
    assert (seen.state, seen.cause, seen.gate, seen.hold) == (
        State.PENDING,
        Cause.GATED,
        Gate.CLOSED,
        None,
    )
    assert not seen.final


def test_a_gated_object_does_not_run(bench: Bench) -> None:
    ref = bench.start()
    assert bench.env.runnable() == ()
    with pytest.raises(Conflict):
        bench.env.run(ref)


def test_an_opened_object_runs(bench: Bench) -> None:
    ref = bench.queued()
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.gate, seen.hold) == (State.PENDING, None, Gate.OPEN, None)
    assert bench.env.runnable() == (ref,)
    execution = bench.env.run(ref)
    assert execution is not None
    assert execution.epoch == 1_000_000
    assert bench.see(ref).state is State.RUNNING


def test_a_second_open_changes_nothing(bench: Bench) -> None:
    ref = bench.queued()
    before = bench.see(ref)
    bench.open(ref)
    assert bench.see(ref) == before
    bench.env.run(ref)
    running = bench.see(ref)
    bench.open(ref)
    assert bench.see(ref) == running


def test_an_open_of_an_ended_object_is_finished(bench: Bench) -> None:
    ref = bench.start()
    bench.stop(ref)
    with pytest.raises(Finished):
        bench.open(ref)


def test_a_release_of_everything_by_a_person_leaves_the_gate_closed(bench: Bench) -> None:
    ref = bench.start()
    bench.env.person_release(ref)
    seen = bench.see(ref)
    assert (seen.cause, seen.gate, bench.raw(ref)["state_reason"]) == (
        Cause.GATED,
        Gate.CLOSED,
        "BeginTime",
    )
    assert bench.env.runnable() == ()
    bench.open(ref)
    assert bench.env.runnable() == (ref,)


def test_a_gate_that_would_open_by_itself_is_refused(bench: Bench) -> None:
    order = bench.order()
    bench.clock.advance(seconds(400_000_000))
    with pytest.raises(Invalid):
        do(bench.backend.start(order, bench.meta()))
    assert bench.env.truths() == ()


def test_an_open_cut_between_its_steps_leaves_the_gate_closed(bench: Bench) -> None:
    ref = bench.start()
    bench.env.cut_next_call(1)
    with pytest.raises(Exception, match="No reply"):
        bench.open(ref)
    assert bench.see(ref).gate is Gate.CLOSED
    assert bench.env.runnable() == ()
    bench.open(ref)
    assert bench.env.runnable() == (ref,)


def test_a_gated_object_that_an_administrator_holds_refuses_open_until_he_releases_it(
    bench: Bench,
) -> None:
    ref = bench.start()
    bench.env.admin_hold(ref)
    seen = bench.see(ref)
    assert (seen.cause, seen.gate, seen.hold) == (
        Cause.ADMIN_HELD,
        Gate.CLOSED,
        HoldSeen(by=By.ADMINISTRATOR),
    )
    with pytest.raises(Conflict):
        bench.open(ref)
    with pytest.raises(Conflict):
        bench.env.person_release(ref)
    bench.env.admin_release(ref)
    assert bench.see(ref).gate is Gate.CLOSED
    bench.open(ref)
    assert bench.env.runnable() == (ref,)


def test_a_persons_hold_on_an_opened_object_is_seen_as_theirs_and_never_lifted(
    bench: Bench,
) -> None:
    ref = bench.queued()
    bench.env.person_hold(ref)
    seen = bench.see(ref)
    assert (seen.cause, seen.gate, seen.hold) == (Cause.HELD, Gate.OPEN, HoldSeen(by=By.OWNER))
    assert seen.verdict.detail.by is By.OWNER
    bench.open(ref)
    assert bench.see(ref) == seen
    bench.env.person_release(ref)
    assert bench.env.runnable() == (ref,)


def test_an_administrators_hold_on_an_opened_object_is_told_apart(bench: Bench) -> None:
    ref = bench.queued()
    bench.env.admin_hold(ref)
    seen = bench.see(ref)
    assert (seen.cause, seen.hold) == (Cause.ADMIN_HELD, HoldSeen(by=By.ADMINISTRATOR))
    assert bench.raw(ref)["state_reason"] == "JobHeldAdmin"


def test_a_persons_hold_on_a_running_object_shows_and_stops_nothing(bench: Bench) -> None:
    ref = bench.running()
    bench.env.person_hold(ref)
    seen = bench.see(ref)
    assert (seen.state, seen.hold) == (State.RUNNING, HoldSeen(by=By.OWNER))
    assert bench.raw(ref)["state_reason"] == "JobHeldUser"


def test_a_begin_time_set_by_hand_opens_the_gate_of_a_released_object(bench: Bench) -> None:
    ref = bench.start()
    bench.env.person_release(ref)
    bench.env.person_begin(ref, bench.clock.now() + seconds(60))
    assert (bench.see(ref).gate, bench.cause(ref)) == (Gate.OPEN, Cause.HELD)
    bench.pass_time(60)
    assert bench.env.runnable() == (ref,)


def test_an_unknown_ref_is_not_found(bench: Bench) -> None:
    ref = bench.start()
    with pytest.raises(NotFound):
        bench.open(ref + "x")
    with pytest.raises(Invalid):
        bench.see("nonsense")
