"""A hold that an object refuses, since it has had that instance before: B5, in a record that was set back."""

from __future__ import annotations

from core.builders import (
    at,
    calls,
    gated,
    held,
    intent,
    kinds,
    opened,
    queued,
    read,
    record,
    row,
    started,
    step,
    tell,
)
from dispatch.model.journal import (
    AnyEvent,
    HoldAsked,
    Intended,
    Outcome,
    ReleaseAsked,
    Settled,
    Verb,
)
from dispatch.model.steps import Append, Call
from dispatch.model.view import JobView


def asked() -> HoldAsked:
    return HoldAsked(instance=1, by="alice", why="wait", until=at(9000))


def refused(view: JobView, name: str, outcome: Outcome = Outcome.NOT_LANDED) -> JobView:
    """The view once a hold was tried, and refused by an answer."""
    made: tuple[AnyEvent, ...] = (
        Intended(intent=intent(Verb.HOLD, id=name, instance=1)),
        Settled(intent=name, outcome=outcome, reason="it has had hold 1", retry_at=at(1)),
    )
    return tell(view, *made)


def waiting() -> JobView:
    return record(*opened(), read(queued()), asked())


def test_a_hold_that_was_refused_twice_is_asked_for_under_a_higher_instance() -> None:
    # It was placed and released in what a record that was set back has forgotten.
    view = refused(waiting(), "one")
    assert calls(step(view, queued(), sent=10)) == (Verb.HOLD, 1)
    view = refused(view, "two")
    made = step(view, queued(), sent=10)
    assert (row(made), kinds(made)) == ("hold anew", ["HoldAsked"])
    assert isinstance(made, Append)
    view = tell(view, *made.events)
    assert view.hold is not None
    hold = view.hold
    assert (hold.instance, hold.by, hold.why, hold.until) == (2, "alice", "wait", at(9000))
    again = step(view, queued(), sent=10)
    assert isinstance(again, Call)
    assert (again.verb, again.instance) == (Verb.HOLD, 2)


def test_it_is_so_before_the_open_too() -> None:
    view = record(*started(), read(gated()), asked())
    assert row(step(refused(refused(view, "one"), "two"), gated(), sent=10)) == "hold anew"


def test_what_was_busy_or_whose_outcome_only_reads_have_settled_counts_as_no_refusal() -> None:
    view = refused(refused(waiting(), "one", Outcome.BUSY), "two")
    assert calls(step(view, queued(), sent=10)) == (Verb.HOLD, 1)
    silent = Settled(intent="three", outcome=Outcome.NOT_LANDED, reason="2 reads do not show it")
    view = tell(view, Intended(intent=intent(Verb.HOLD, id="three", instance=1)), silent)
    view = refused(view, "four")
    assert calls(step(view, queued(), sent=10)) == (Verb.HOLD, 1)


def test_one_that_is_shown_after_all_or_not_wanted_any_more_is_not_asked_for_anew() -> None:
    view = refused(refused(waiting(), "one"), "two")
    assert row(step(tell(view, read(held())), held(), sent=10)) == "watch"
    view = tell(view, ReleaseAsked(instance=1, by="alice"))
    assert row(step(view, queued(), sent=10)) == "watch"
