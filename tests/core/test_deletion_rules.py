"""A stop that deletes, as on Kubeflow: what it deleted is shown by no read, and its end was never read (12, E2)."""

from __future__ import annotations

import pytest

from core.builders import (
    BOUND,
    intent,
    opening,
    queued,
    ran,
    read,
    record,
    row,
    running,
    settled_step,
    step,
    tell,
    waits,
)
from dispatch.model.answers import Action
from dispatch.model.journal import AnyEvent, Intended, Outcome, Settled, StopAsked, Verb
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import Cause, State
from dispatch.model.view import JobView

STOP = StopAsked(by="alice", why="enough")
AGAIN = Policy(rules=(Rule(when=(Cause.UNKNOWN,), do=Action.RESUBMIT),))


def stopped(*, at_: float = 100, outcome: Outcome = Outcome.LANDED, n: int = 1) -> list[AnyEvent]:
    """The events of a stop that was intended then and came to that."""
    made = intent(Verb.STOP, n, at_=at_)
    return [Intended(intent=made), Settled(intent=made.id, outcome=outcome)]


def end(view: JobView, *, sent: float, boot: str = "b1") -> tuple[State, Cause | None]:
    """What the job comes to where nothing is shown from then on."""
    view, made = settled_step(view, sent=sent, boot=boot)
    _, moment = waits(made)
    view, _ = settled_step(view, sent=moment or 0, boot=boot)
    assert view.verdict is not None
    return view.verdict.state, view.verdict.cause


def test_what_our_stop_has_deleted_ends_as_stopped_a_save_window_later() -> None:
    view, made = settled_step(record(*ran(), STOP, *stopped()), sent=110)
    assert waits(made) == ("await evidence", 140)
    assert row(step(view, sent=139.9)) == "await evidence"
    view, _ = settled_step(view, sent=140)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.CANCELLED, Cause.STOPPED)
    assert (view.verdict.detail.who, view.verdict.detail.reason) == ("alice", "enough")


def test_a_stop_whose_reply_was_lost_has_deleted_what_is_gone_by_its_ref() -> None:
    view = record(*ran(), STOP, Intended(intent=intent(Verb.STOP)))
    view, _ = settled_step(view, sent=BOUND)
    view, _ = settled_step(view, sent=BOUND + 25)
    assert view.intents == ()
    view, _ = settled_step(view, sent=BOUND + 60)
    assert view.verdict is not None
    assert view.verdict.cause is Cause.STOPPED


def test_an_object_that_its_stop_has_deleted_waits_no_longer_than_a_lost_start() -> None:
    view = record(*ran(), STOP, *stopped(at_=0))
    assert end(view, sent=1) == (State.CANCELLED, Cause.STOPPED)


@pytest.mark.parametrize(
    ("sent", "boot"), [(375, "b1"), (300 + 100, "b1"), (370, "b2"), (10_000, "b1")]
)
def test_what_may_have_ended_by_itself_and_been_purged_is_not_taken_for_deleted(
    sent: float, boot: str
) -> None:
    view = record(*ran(), STOP, *stopped(at_=100))
    assert end(view, sent=sent, boot=boot) == (State.UNKNOWN, Cause.UNKNOWN)


def test_the_time_of_a_stop_is_that_of_its_intent() -> None:
    view = record(*ran(), STOP, *stopped(at_=100))
    assert end(view, sent=374.9) == (State.CANCELLED, Cause.STOPPED)


@pytest.mark.parametrize("outcome", [Outcome.NOT_LANDED, Outcome.BUSY, Outcome.REJECTED])
def test_a_stop_that_did_not_land_has_deleted_nothing(outcome: Outcome) -> None:
    view = record(*ran(), STOP, *stopped(outcome=outcome))
    assert end(view, sent=110) == (State.UNKNOWN, Cause.UNKNOWN)


def test_the_stop_of_another_object_says_nothing_of_the_recorded_one() -> None:
    twin = intent(Verb.STOP, 1, ref="twin")
    unknown = intent(Verb.STOP, 2)
    events = [
        event
        for made in (twin, unknown)
        for event in (Intended(intent=made), Settled(intent=made.id, outcome=Outcome.LANDED))
    ]
    assert end(record(*ran(), STOP, *events), sent=110) == (State.UNKNOWN, Cause.UNKNOWN)


def test_an_uncertain_object_that_its_stop_has_deleted_was_forgotten_and_charges_nobody() -> None:
    lost = Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="lost")
    view = record(*opening(), lost, read(queued()), *stopped(), policy=AGAIN)
    view, _ = settled_step(view, sent=110)
    view, _ = settled_step(view, sent=140)
    (_, decided) = view.decisions[-1]
    assert (decided.verdict.cause, decided.budget) == (Cause.FORGOTTEN, None)
    assert decided.action is Action.RESUBMIT


def test_what_is_shown_again_after_its_stop_is_judged_by_what_is_shown() -> None:
    view, _ = settled_step(record(*ran(), STOP, *stopped()), sent=110)
    view = tell(view, read(running(), sent=120))
    assert view.objects[1].missing is None
    assert view.verdict is None
