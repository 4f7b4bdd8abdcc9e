"""Ending and stopping: E2, E3 and E5 of the hard cases, B7, S6 and S9."""

from __future__ import annotations

import pytest

from core.builders import (
    BOUND,
    at,
    calls,
    cancelled,
    ceased,
    ended,
    gated,
    held,
    intent,
    judged,
    kinds,
    opened,
    opening,
    queued,
    ran,
    read,
    record,
    row,
    running,
    settled_step,
    started,
    step,
    succeeded,
    tell,
    waits,
)
from dispatch.model.answers import Action
from dispatch.model.errors import CorruptRecord
from dispatch.model.journal import (
    Ended,
    Intended,
    Outcome,
    Proof,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import By, Cause, Detail, Observation, State, Verdict
from dispatch.model.steps import Call, Rest
from dispatch.model.view import JobView, Phase

AGAIN = Policy(rules=(Rule(when=(Cause.PREEMPTED, Cause.NODE_LOST), do=Action.RESUBMIT),))
STOP = StopAsked(by="alice", why="enough")


def verdict(view: JobView) -> tuple[State, Cause | None]:
    assert view.verdict is not None
    return view.verdict.state, view.verdict.cause


# --- E2: an end is judged when it is sure


def test_an_end_is_judged_a_save_window_after_it_was_first_read() -> None:
    view, made = settled_step(record(*ran()), succeeded(), sent=100)
    assert waits(made) == ("await save window", 130)
    assert row(step(view, succeeded(), sent=129.9)) == "await save window"
    view, _ = settled_step(view, succeeded(), sent=130)
    assert verdict(view) == (State.SUCCEEDED, None)


def test_an_end_must_be_read_for_a_save_window_under_one_boot() -> None:
    view, _ = settled_step(record(*ran()), succeeded(), sent=100)
    view, made = settled_step(view, succeeded(), sent=129, boot="b2")
    assert waits(made) == ("await save window", 159)
    assert view.objects[1].boot == "b2"


def test_more_evidence_of_the_same_end_does_not_begin_the_save_window_again() -> None:
    view, _ = settled_step(record(*ran()), ended(), sent=100)
    _, made = settled_step(view, ended(detail=Detail(reason="late words")), sent=110)
    assert waits(made) == ("await save window", 130)


@pytest.mark.parametrize("another", [ended(restarts=1), ended(started=at(50))])
def test_the_end_of_another_run_begins_the_save_window_again(another: Observation) -> None:
    # It was requeued, ran and ended between two reads.
    view, _ = settled_step(record(*ran()), ended(), sent=100)
    _, made = settled_step(view, another, sent=110)
    assert waits(made) == ("await save window", 140)


def test_an_end_that_is_still_being_cleaned_up_is_not_judged() -> None:
    view, made = settled_step(record(*ran()), ended(cleaning=True), sent=100)
    assert row(made) == "await cleaning"
    _, made = settled_step(view, ended(cleaning=True), sent=900)
    assert row(made) == "await cleaning"


def test_an_end_that_anybody_may_run_again_is_not_judged() -> None:
    _, made = settled_step(record(*ran()), ended(final=False, requeue=True), sent=900)
    assert row(made) == "await finality"


def test_an_end_that_turns_out_to_be_none_is_forgotten_by_us_too() -> None:
    view, _ = settled_step(record(*ran()), ended(), sent=100)
    view, made = settled_step(view, running(), sent=110, boot="b2")
    assert view.objects[1].phase is Phase.OPEN
    assert (view.objects[1].ended, view.objects[1].why) == (None, "")
    assert row(made) == "watch"


def test_a_final_verdict_is_written_once() -> None:
    view = judged(record(*ran()), succeeded())
    assert row(step(view, succeeded(), sent=100)) == "rest"
    with pytest.raises(CorruptRecord, match="ends twice"):
        tell(view, Ended(verdict=Verdict(state=State.FAILED)))


def test_the_decision_the_charge_and_the_end_are_one_append() -> None:
    view, _ = settled_step(record(*ran()), ended(cause=Cause.TIMEOUT))
    assert kinds(step(view, ended(cause=Cause.TIMEOUT), sent=31)) == ["Decided", "Ended"]


# --- E2 and E3: stopping


def test_a_job_that_was_never_started_is_stopped_at_once() -> None:
    view, _ = settled_step(record(STOP))
    assert verdict(view) == (State.CANCELLED, Cause.STOPPED)
    assert view.verdict is not None
    assert view.verdict.detail == Detail(who="alice", reason="enough")


def test_a_stop_of_a_running_job_is_acknowledged_when_its_end_is_sure() -> None:
    view = record(*ran(), STOP)
    made = step(view, running())
    assert isinstance(made, Call)
    assert (made.verb, made.ref, made.why) == (Verb.STOP, "ref-1", "a stop was asked for")
    view = tell(view, Intended(intent=intent(Verb.STOP)))
    view, made = settled_step(view, cancelled(ran_for=60), sent=100)
    assert waits(made) == ("await save window", 130)
    assert view.verdict is None
    view, _ = settled_step(view, cancelled(ran_for=60), sent=130)
    assert verdict(view) == (State.CANCELLED, Cause.STOPPED)
    assert view.verdict is not None
    assert view.verdict.detail.who == "alice"


@pytest.mark.parametrize("verb", [Verb.OPEN, Verb.HOLD, Verb.RELEASE])
def test_a_stop_does_not_wait_for_another_write(verb: Verb) -> None:
    events = started() if verb is Verb.OPEN else opened()
    shown = {Verb.OPEN: gated(), Verb.HOLD: queued(), Verb.RELEASE: held()}[verb]
    view = record(*events, read(shown), Intended(intent=intent(verb, instance=1)), STOP)
    assert calls(step(view, shown)) == (Verb.STOP, 1)
    view = tell(view, Intended(intent=intent(Verb.STOP)))
    assert row(step(view, shown)) == "await landing"


def test_a_stop_beside_an_open_start_stops_what_that_start_made() -> None:
    view = record(Intended(intent=intent(Verb.START)), STOP)
    assert row(step(view)) == "await landing"
    made = step(view, gated(ref="77"))
    assert isinstance(made, Call)
    assert (made.verb, made.ref) == (Verb.STOP, "77")


def test_a_stop_ends_every_object_of_ours_and_each_but_once() -> None:
    view = record(*ran(), STOP, Intended(intent=intent(Verb.STOP)))
    made = step(view, running(), running(ref="twin"))
    assert isinstance(made, Call)
    assert made.ref == "twin"


def test_a_start_that_may_have_landed_keeps_a_stop_from_being_acknowledged() -> None:
    view = record(Intended(intent=intent(Verb.START)), STOP)
    view, _ = settled_step(view, sent=BOUND)
    assert view.verdict is None
    view, _ = settled_step(view, sent=BOUND + 25)
    assert verdict(view) == (State.CANCELLED, Cause.STOPPED)


def test_nothing_is_started_after_a_stop_whatever_was_decided_before() -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    assert view.wants_another
    made = step(tell(view, STOP), ended(), sent=100)
    assert (row(made), kinds(made)) == ("stopped between executions", ["Ended"])


@pytest.mark.parametrize(
    "shown", [ended(ref="twin", cleaning=True), ended(ref="twin", final=False)]
)
def test_a_stop_is_not_acknowledged_before_every_object_is_final(shown: Observation) -> None:
    for view in (record(STOP), tell(judged(record(*ran(), policy=AGAIN), ended()), STOP)):
        mine = (ended(),) if view.objects else ()
        made = step(view, *mine, shown, sent=100)
        assert row(made) in {"blocked by another object", "adopt"}


def test_a_stop_does_not_wait_for_the_time_of_another_refused_write() -> None:
    busy = Settled(intent="open-1", outcome=Outcome.BUSY, retry_at=at(600))
    view = record(*opening(), busy)
    assert view.retry_at == at(600)
    assert calls(step(tell(view, STOP), gated())) == (Verb.STOP, 1)
    view = record(*opening(), STOP, busy)
    assert calls(step(view, gated())) == (Verb.STOP, 1)


def test_a_stop_that_was_refused_for_now_is_tried_again_at_its_time() -> None:
    busy = Settled(intent="stop-1", outcome=Outcome.BUSY, reason="full", retry_at=at(60))
    view = record(*ran(), STOP, Intended(intent=intent(Verb.STOP)), busy)
    assert waits(step(view, running(), sent=59)) == ("await retry", 60)
    assert calls(step(view, running(), sent=60)) == (Verb.STOP, 1)


def test_a_second_request_to_stop_changes_nothing() -> None:
    view = record(STOP, StopAsked(by="bob"))
    assert view.stop is not None
    assert view.stop.by == "alice"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (succeeded(), (State.SUCCEEDED, None)),
        (ended(cause=Cause.TIMEOUT), (State.FAILED, Cause.TIMEOUT)),
        (cancelled(by=By.OWNER), (State.CANCELLED, Cause.STOPPED)),
        (cancelled(by=None), (State.CANCELLED, Cause.STOPPED)),
        (cancelled(by=By.ADMINISTRATOR), (State.CANCELLED, Cause.CANCELLED)),
        (cancelled(by=By.OTHER), (State.CANCELLED, Cause.CANCELLED)),
        (ended(cause=Cause.FENCED), (State.CANCELLED, Cause.STOPPED)),
    ],
)
def test_a_stopped_job_ends_with_the_truth(
    shown: Observation, expected: tuple[State, Cause | None]
) -> None:
    assert verdict(judged(record(*ran(), STOP, policy=AGAIN), shown)) == expected


def test_a_stop_of_a_tainted_object_ends_as_stopped() -> None:
    unknown = Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="lost")
    view = judged(record(*opening(), unknown, STOP), cancelled())
    assert verdict(view) == (State.CANCELLED, Cause.STOPPED)
    assert view.verdict is not None
    assert view.verdict.detail.reason == "enough"


def test_a_stop_without_a_why_says_no_reason() -> None:
    view = judged(record(*ran(), StopAsked(by="alice")), cancelled())
    assert view.verdict is not None
    assert view.verdict.detail.reason is None
    view, _ = settled_step(record(StopAsked(by="alice")))
    assert view.verdict is not None
    assert view.verdict.detail.reason is None


def test_a_stop_of_a_gated_object_that_vanished_is_acknowledged() -> None:
    view, _ = settled_step(record(*started(), read(gated()), STOP), sent=100)
    view, _ = settled_step(view, sent=130)
    assert verdict(view) == (State.CANCELLED, Cause.STOPPED)


# --- E5 and final verdicts


def test_an_exit_code_that_nothing_proves_is_unknown_and_charged_to_nobody() -> None:
    view = judged(record(*ran()), ended(cause=Cause.NON_ZERO_EXIT, proven=False))
    (_, decided) = view.decisions[-1]
    assert decided.verdict.cause is Cause.UNKNOWN
    assert decided.verdict.detail.suspected is Cause.NON_ZERO_EXIT
    assert decided.budget is None


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (cancelled(), Cause.FORGOTTEN),
        (cancelled(by=None), Cause.FORGOTTEN),
        (cancelled(by=By.ADMINISTRATOR), Cause.CANCELLED),
        (ended(cause=Cause.TIMEOUT), Cause.TIMEOUT),
        (ended(cause=Cause.TIMEOUT, proven=False), Cause.FORGOTTEN),
        (ended(cause=Cause.NON_ZERO_EXIT, proven=False), Cause.FORGOTTEN),
    ],
)
def test_the_end_of_a_tainted_object_is_forgotten_unless_it_is_proven(
    end: Observation, cause: Cause
) -> None:
    unknown = Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="lost")
    view = judged(record(*opening(), unknown, policy=AGAIN), end)
    found = view.decisions[-1][1].verdict
    assert found.cause is cause
    if cause is Cause.FORGOTTEN:
        assert found.detail.reason == "lost"


def test_a_tainted_object_that_succeeded_has_succeeded() -> None:
    unknown = Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="lost")
    for proven in (True, False):
        view = judged(record(*opening(), unknown), succeeded(proven=proven))
        assert verdict(view) == (State.SUCCEEDED, None)


def test_another_cause_that_nothing_proves_stays_as_the_scheduler_said() -> None:
    view = judged(record(*ran()), ended(cause=Cause.TIMEOUT, proven=False))
    assert view.decisions[-1][1].verdict.cause is Cause.TIMEOUT
    assert view.decisions[-1][1].verdict.detail.suspected is None


def test_a_request_to_stop_forgets_what_was_refused() -> None:
    busy = Settled(intent="open-1", outcome=Outcome.BUSY, reason="full", retry_at=at(600))
    for view in (record(*opening(), busy, STOP), record(*opening(), STOP, busy)):
        assert (view.retry_at, view.retry_why) == (None, "")


# --- E6: a success that is learnt late


LOST = Policy(rules=(Rule(when=(Cause.NODE_LOST,), do=Action.RESUBMIT),))


def lost_then() -> JobView:
    return judged(record(*ran(), policy=LOST), ended(cause=Cause.NODE_LOST))


def given_up() -> JobView:
    return ceased(record(*ran(), policy=LOST), ended(cause=Cause.NODE_LOST))


def test_a_lost_execution_that_succeeds_while_its_cessation_is_awaited_is_not_run_again() -> None:
    made = step(lost_then(), succeeded(), sent=50)
    assert row(made) == "late success"
    assert kinds(made) == ["Ended"]
    view, made = settled_step(lost_then(), succeeded(), sent=50)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED
    assert isinstance(made, Rest)


def test_a_success_learnt_while_the_next_is_still_gated_ends_the_job_and_stops_that() -> None:
    view = tell(given_up(), *started(2))
    view, made = settled_step(view, succeeded(), gated(2), sent=900)
    assert view.verdict is not None
    assert calls(made) == (Verb.STOP, 2)


def test_a_success_is_learnt_though_a_later_object_was_opened_and_has_never_run() -> None:
    either = Policy(rules=(Rule(when=(Cause.NODE_LOST, Cause.CANCELLED), do=Action.RESUBMIT),))
    view = ceased(record(*ran(), policy=either), ended(cause=Cause.NODE_LOST))
    view = tell(view, *opened(2), read(queued(2), sent=900))
    view = ceased(view, ended(cause=Cause.NODE_LOST), cancelled(2, By.OTHER), sent=1000)
    assert view.objects[2].proof is Proof.NEVER_RAN
    assert view.verdict is None
    made = step(view, succeeded(), cancelled(2, By.OTHER), sent=1100)
    assert row(made) == "late success"


def test_a_success_of_an_earlier_execution_is_none_of_a_later_one_that_may_have_run() -> None:
    view = tell(given_up(), *ran(2))
    assert row(step(view, succeeded(), running(2), sent=900)) == "watch"


def test_a_lost_execution_that_is_still_lost_is_waited_for_as_before() -> None:
    assert row(step(lost_then(), ended(cause=Cause.NODE_LOST), sent=50)) == "cessation"
    assert row(step(lost_then(), sent=50)) == "cessation"
