"""Holds of ours: by instance, and lifted by that instance alone."""

from __future__ import annotations

import pytest

from adapters.memory.bench import Bench
from dispatch.model.errors import Conflict, Finished, Invalid
from dispatch.model.status import By, Cause, Gate, HoldSeen, State


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_held_object_waits_with_its_instance_shown(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 3)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.hold, seen.gate) == (
        State.PENDING, Cause.HELD, HoldSeen(instance=3), Gate.OPEN,
    )  # fmt: skip
    assert bench.env.runnable() == ()
    bench.release(ref, 3)
    assert bench.see(ref).hold is None
    assert bench.env.runnable() == (ref,)


def test_a_hold_placed_before_the_open_survives_it(bench: Bench) -> None:
    ref = bench.start()
    bench.hold(ref, 2)
    assert (bench.see(ref).gate, bench.see(ref).hold) == (Gate.CLOSED, HoldSeen(instance=2))
    bench.open(ref)
    assert (bench.see(ref).gate, bench.see(ref).hold) == (Gate.OPEN, HoldSeen(instance=2))
    assert bench.env.runnable() == ()
    bench.release(ref, 2)
    assert bench.env.runnable() == (ref,)


def test_a_release_of_an_unopened_object_gives_its_gate_back(bench: Bench) -> None:
    ref = bench.start()
    bench.hold(ref, 2)
    bench.release(ref, 2)
    assert (bench.see(ref).gate, bench.cause(ref)) == (Gate.CLOSED, Cause.GATED)
    assert bench.env.runnable() == ()


def test_a_release_of_everything_by_a_person_leaves_our_hold(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 4)
    bench.env.person_release(ref)
    assert bench.see(ref).hold == HoldSeen(instance=4)
    assert bench.env.runnable() == ()


@pytest.mark.parametrize("instance", [1, 2, 4])
def test_a_release_that_names_another_instance_lifts_nothing(bench: Bench, instance: int) -> None:
    ref = bench.queued()
    bench.hold(ref, 3)
    with pytest.raises(Conflict):
        bench.release(ref, instance)
    assert bench.see(ref).hold == HoldSeen(instance=3)


def test_a_release_where_nothing_is_held_is_a_conflict(bench: Bench) -> None:
    ref = bench.start()
    with pytest.raises(Conflict):
        bench.release(ref, 1)
    assert bench.see(ref).gate is Gate.CLOSED


@pytest.mark.parametrize("instance", [2, 3])
def test_a_hold_that_is_not_newer_is_stale(bench: Bench, instance: int) -> None:
    ref = bench.queued()
    bench.hold(ref, 3)
    with pytest.raises(Conflict):
        bench.hold(ref, instance)
    bench.hold(ref, 4)
    assert bench.see(ref).hold == HoldSeen(instance=4)


@pytest.mark.parametrize("instance", [0, -1, 1_000_000])
def test_an_instance_out_of_range_is_invalid(bench: Bench, instance: int) -> None:
    ref = bench.start()
    with pytest.raises(Invalid):
        bench.hold(ref, instance)
    assert bench.see(ref).gate is Gate.CLOSED


def test_a_running_object_is_not_held(bench: Bench) -> None:
    ref = bench.running()
    with pytest.raises(Conflict):
        bench.hold(ref, 1)
    assert (bench.see(ref).state, bench.see(ref).hold) == (State.RUNNING, None)


def test_an_ended_object_is_neither_held_nor_released(bench: Bench) -> None:
    ref = bench.start()
    bench.hold(ref, 1)
    bench.stop(ref)
    with pytest.raises(Finished):
        bench.hold(ref, 2)
    with pytest.raises(Finished):
        bench.release(ref, 1)


def test_both_holds_show_where_an_administrator_holds_what_we_hold(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 5)
    bench.env.admin_hold(ref)
    assert (bench.see(ref).hold, bench.cause(ref)) == (
        HoldSeen(instance=5, by=By.ADMINISTRATOR), Cause.ADMIN_HELD,
    )  # fmt: skip


def test_the_truth_tells_who_holds(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 5)
    bench.env.person_hold(ref)
    truth = bench.env.truth(ref)
    assert (truth.hold_instance, truth.held_by) == (5, By.OWNER)
    assert (truth.held_until, truth.hold_reason) == (None, "")
