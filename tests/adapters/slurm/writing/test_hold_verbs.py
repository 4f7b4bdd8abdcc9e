"""Opens, holds and releases: their real scripts, run against stand-ins for Slurm's commands."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.slurm.writing.fake_slurm import FakeSlurm
from adapters.slurm.writing.verbs import (
    BASE,
    hold,
    hold_first,
    open_,
    release,
    release_first,
    start,
    stop,
)
from dispatch.model.errors import (
    Conflict,
    Finished,
    Invalid,
)

# ------------------------------------------------------------------------- open and holds


def test_open_releases_and_clears_the_begin_time(slurm: FakeSlurm) -> None:
    start()
    open_()
    assert slurm.writes[1:] == ["scontrol release 77", "scontrol update JobId=77 StartTime=now"]
    open_()
    assert len(slurm.writes) == 3


def test_open_finishes_what_a_crash_left_half_done(slurm: FakeSlurm) -> None:
    start()
    slurm.set(Priority="1", Reason="BeginTime")
    open_()
    assert slurm.writes[1:] == ["scontrol update JobId=77 StartTime=now"]


def test_a_hold_survives_open(slurm: FakeSlurm) -> None:
    start()
    hold(3)
    open_()
    assert slurm.field("StartTime") == str(BASE + 3)
    release(3)
    assert slurm.field("StartTime") == "Unknown"


def test_a_hold_that_is_released_before_open_leaves_the_gate(slurm: FakeSlurm) -> None:
    start()
    hold(3)
    release(3)
    assert (slurm.field("StartTime"), slurm.field("Priority")) == (str(BASE), "0")


def test_a_release_of_what_was_opened_leaves_the_hold_that_somebody_else_has_placed_on_it(
    slurm: FakeSlurm,
) -> None:
    # Back at base + 0 beneath their flag it would be gated, as if its open had been forgotten.
    start()
    hold(3)
    open_()
    slurm.set(Priority="0", Reason="JobHeldUser")
    before = slurm.writes
    with pytest.raises(Conflict, match="somebody else"):
        release(3, opened=True)
    assert slurm.writes == before
    slurm.set(Priority="1", Reason="BeginTime")
    release(3, opened=True)
    assert slurm.field("StartTime") == "Unknown"


def test_a_release_that_names_an_old_hold_lifts_nothing(slurm: FakeSlurm) -> None:
    start()
    hold(4)
    before = slurm.writes
    with pytest.raises(Conflict, match="hold 4"):
        release(3)
    with pytest.raises(Conflict):
        hold(3)
    assert slurm.writes == before


def test_a_hold_that_is_placed_twice_is_one(slurm: FakeSlurm) -> None:
    start()
    hold(3)
    before = slurm.writes
    hold(3)
    assert slurm.writes == before


def test_a_persons_hold_is_never_lifted(slurm: FakeSlurm) -> None:
    start()
    open_()
    slurm.set(Priority="0", Reason="JobHeldUser")
    before = slurm.writes
    open_()
    assert slurm.writes == before


def test_an_administrators_hold_is_a_conflict(slurm: FakeSlurm) -> None:
    start()
    slurm.set(Reason="JobHeldAdmin")
    with pytest.raises(Conflict, match="administrator"):
        open_()
    assert len(slurm.writes) == 1


def test_a_running_object_cannot_be_held(slurm: FakeSlurm) -> None:
    start()
    slurm.set(JobState="RUNNING")
    with pytest.raises(Conflict, match="RUNNING"):
        hold(1)
    open_()
    assert len(slurm.writes) == 1


@pytest.mark.parametrize("verb", [open_, hold_first, release_first])
def test_what_has_ended_is_finished(slurm: FakeSlurm, verb: Any) -> None:
    start()
    slurm.set(JobState="FAILED")
    with pytest.raises(Finished):
        verb()
    stop()
    assert len(slurm.writes) == 1


@pytest.mark.parametrize("instance", [0, -1, 1_000_000])
def test_a_hold_instance_is_within_its_range(slurm: FakeSlurm, instance: int) -> None:
    with pytest.raises(Invalid):
        hold(instance)
    with pytest.raises(Invalid):
        release(instance)
