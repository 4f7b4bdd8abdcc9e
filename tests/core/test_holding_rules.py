"""Holds that people ask for: placed, kept through the open, and lifted by their own release (12, O5 and B6)."""

from __future__ import annotations

from core.builders import (
    at,
    calls,
    gated,
    held,
    opened,
    queued,
    ran,
    read,
    record,
    row,
    running,
    settled_step,
    started,
    step,
    tell,
    waits,
)
from dispatch.model.journal import (
    HoldAsked,
    ReleaseAsked,
    Verb,
)
from dispatch.model.policy import HOLD_BY_CESSATION
from dispatch.model.status import HoldSeen
from dispatch.model.steps import Append, Call


def hold(instance: int = 1, until: float | None = None) -> HoldAsked:
    return HoldAsked(
        instance=instance, by="alice", why="wait", until=None if until is None else at(until)
    )


def test_a_hold_that_was_asked_for_before_the_open_is_placed_before_it() -> None:
    view = record(*started(), hold())
    view, made = settled_step(view, gated())
    assert isinstance(made, Call)
    assert (made.verb, made.instance, made.ref, made.why) == (Verb.HOLD, 1, "ref-1", "wait")
    _, made = settled_step(view, gated(hold=HoldSeen(instance=1)), sent=30)
    assert waits(made) == ("await saved hold", 60)


def test_an_open_goes_beneath_a_hold_only_once_no_controller_can_forget_the_hold() -> None:
    # It would be forgotten by a crash, and the open would land after that: the object would run, though the hold stands.
    shown = gated(hold=HoldSeen(instance=1))
    view, made = settled_step(record(*started(), hold()), shown)
    assert waits(made) == ("await saved hold", 30)
    assert calls(settled_step(view, shown, sent=30)[1]) == (Verb.OPEN, 1)


def test_a_hold_that_is_read_under_another_boot_is_awaited_anew() -> None:
    # It may have been placed again, late, under that boot.
    shown = gated(hold=HoldSeen(instance=1))
    view, _ = settled_step(record(*started(), hold()), shown)
    view, made = settled_step(view, shown, sent=40, boot="b2")
    assert waits(made) == ("await saved hold", 70)
    assert calls(settled_step(view, shown, sent=70, boot="b2")[1]) == (Verb.OPEN, 1)


def test_another_hold_than_the_one_that_was_read_is_awaited_anew() -> None:
    view, _ = settled_step(record(*started(), hold(1), hold(2)), gated(hold=HoldSeen(instance=1)))
    _, made = settled_step(view, gated(hold=HoldSeen(instance=2)), sent=100)
    assert waits(made) == ("await saved hold", 130)


def test_the_hold_for_missing_proof_keeps_no_open_waiting() -> None:
    view = record(*started(), HoldAsked(instance=1, by=HOLD_BY_CESSATION))
    assert calls(settled_step(view, gated(hold=HoldSeen(instance=2)))[1]) == (Verb.OPEN, 1)


def test_a_hold_is_placed_on_an_object_that_waits_in_the_queue() -> None:
    _, made = settled_step(record(*opened(), hold()), queued())
    assert calls(made) == (Verb.HOLD, 1)


def test_a_newer_hold_takes_the_place_of_an_older_one() -> None:
    view = record(*opened(), hold(1), hold(2))
    _, made = settled_step(view, held(instance=1))
    assert isinstance(made, Call)
    assert (made.verb, made.instance) == (Verb.HOLD, 2)


def test_a_hold_on_a_running_job_waits_for_its_next_execution() -> None:
    view = record(*ran(), hold())
    assert row(step(view, running())) == "watch"
    _, made = settled_step(view, queued(restarts=1), sent=60)
    assert calls(made) == (Verb.HOLD, 1)


def test_a_release_lifts_only_the_hold_that_it_names() -> None:
    view = record(*opened(), hold(1), hold(2), ReleaseAsked(instance=1, by="bob"))
    assert view.hold is not None
    assert view.hold.instance == 2
    assert tell(view, ReleaseAsked(instance=2, by="bob")).hold is None


def test_a_hold_of_ours_that_is_not_wanted_is_released_by_its_instance() -> None:
    view = record(*opened(), hold(3), ReleaseAsked(instance=3, by="bob"))
    _, made = settled_step(view, held(instance=3))
    assert isinstance(made, Call)
    assert (made.verb, made.submission, made.instance, made.ref) == (Verb.RELEASE, 1, 3, "ref-1")


def test_a_hold_with_a_time_ends_by_itself_and_not_before() -> None:
    view = record(*opened(), hold(until=100), read(held()))
    assert row(step(view, held(), sent=99)) == "watch"
    made = step(view, held(), sent=100)
    assert isinstance(made, Append)
    assert made.events == (ReleaseAsked(instance=1, by="until 2026-01-01T00:01:40Z"),)


def test_a_hold_that_is_not_wanted_any_more_is_released_after_the_open_and_not_before() -> None:
    view = record(*started(), hold(), ReleaseAsked(instance=1, by="alice"))
    _, made = settled_step(view, gated(hold=HoldSeen(instance=1)))
    assert calls(made) == (Verb.OPEN, 1)
