"""Explaining: where a job stands, why, and what a person can do, for every phase."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.builders import (
    at,
    ended,
    gated,
    held,
    intent,
    judged,
    opened,
    opening,
    queued,
    ran,
    read,
    record,
    running,
    s,
    started,
    succeeded,
    tell,
)
from dispatch.core.explaining import Explanation, describe, explain
from dispatch.model.answers import Action
from dispatch.model.journal import (
    AnyEvent,
    Awaiting,
    Ceased,
    Ended,
    HoldAsked,
    Intended,
    NodesBack,
    Outcome,
    Proof,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.policy import HOLD_BY_CESSATION, Backoff, Policy, Rule
from dispatch.model.status import (
    By,
    Cause,
    Detail,
    Evidence,
    HoldSeen,
    Observation,
    Source,
    State,
    Verdict,
)

AGAIN = Policy(
    rules=(
        Rule(
            when=(Cause.PREEMPTED,),
            do=Action.RESUBMIT,
            backoff=Backoff(initial=s("10m"), jitter=0),
        ),
    )
)
STOP = StopAsked(by="alice")
CEASED = Ceased(submission=1, proof=Proof.CLEANED)
BUSY = Settled(intent="start-1", outcome=Outcome.BUSY, reason="queue full", retry_at=at(30))


def told(*events: AnyEvent) -> Explanation:
    return explain(record(*events))


@pytest.mark.parametrize(
    ("events", "state", "cause", "headline"),
    [
        ((), State.PENDING, None, "accepted, not yet submitted to the scheduler"),
        ((Intended(intent=intent(Verb.START)),), State.PENDING, None, "being submitted to the scheduler"),
        ((Intended(intent=intent(Verb.START)), BUSY), State.PENDING, Cause.NO_CAPACITY, "refused for now"),
        (started(), State.PENDING, Cause.GATED, "created, not yet opened"),
        (opening(), State.PENDING, Cause.GATED, "being opened"),
        (opened(), State.PENDING, Cause.GATED, "Gated"),
        ((*opened(), read(queued())), State.PENDING, Cause.NO_CAPACITY, "NoCapacity"),
        ((*opened(), read(queued(verdict=Verdict(state=State.PENDING)))), State.PENDING, None, "waiting in the scheduler's queue"),
        (ran(), State.RUNNING, None, "running on n1, n2"),
        (ran(nodes=()), State.RUNNING, None, "running"),
        ((*ran(), Vanished(submission=1, sent=at(1), boot="b1")), State.UNKNOWN, None, "not shown by the scheduler"),
        ((*ran(), read(ended())), State.FAILED, Cause.PREEMPTED, "ended: Preempted"),
        ((*ran(), read(succeeded())), State.SUCCEEDED, None, "ended: Succeeded"),
        ((*opening(), Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="lost")), State.UNKNOWN, Cause.FORGOTTEN, "being replaced"),
    ],
)  # fmt: skip
def test_each_phase_has_its_words(
    events: tuple[AnyEvent, ...], state: State, cause: Cause | None, headline: str
) -> None:
    found = told(*events)
    assert (found.state, found.cause, found.headline) == (state, cause, headline)


def test_an_opened_object_that_was_never_read_is_opened() -> None:
    seen = Intended(intent=intent(Verb.OPEN))
    found = told(*started(), seen, Settled(intent="open-1", outcome=Outcome.LANDED))
    assert (found.state, found.headline) == (State.PENDING, "opened")
    lost = Vanished(submission=1, sent=at(1), boot="b1")
    found = told(*started(), seen, Settled(intent="open-1", outcome=Outcome.LANDED), lost)
    assert (found.state, found.headline) == (State.UNKNOWN, "opened")


def test_reasons_come_with_what_they_explain() -> None:
    assert told(Intended(intent=intent(Verb.START)), BUSY).why == ("queue full",)
    quiet = replace(BUSY, reason="")
    assert told(Intended(intent=intent(Verb.START)), quiet).why == ()
    lost = Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="lost")
    assert told(*opening(), lost).why == ("lost",)
    assert "once the end is certain" in told(*ran(), read(ended())).why[0]


def test_the_evidence_is_told() -> None:
    fact = Evidence(source=Source.QUEUE, field="reason", value="Priority", read_at=at(0))
    verdict = Verdict(state=State.PENDING, cause=Cause.NO_CAPACITY, evidence=(fact,))
    assert told(*opened(), read(queued(verdict=verdict))).why == ("queue: reason is Priority",)


# --- advice


def waiting(cause: Cause, hold: HoldSeen | None = None) -> Observation:
    return queued(verdict=Verdict(state=State.PENDING, cause=cause), hold=hold)


@pytest.mark.parametrize(
    ("seen", "advice"),
    [
        (waiting(Cause.HELD, HoldSeen(instance=1)), "`dispatch release JOB`"),
        (waiting(Cause.HELD, HoldSeen(by=By.OWNER)), "theirs to release"),
        (waiting(Cause.HELD), "theirs to release"),
        (waiting(Cause.ADMIN_HELD), "ask them"),
        (waiting(Cause.UNSATISFIABLE), "can never start"),
    ],
)
def test_what_a_person_can_do_is_said(seen: Observation, advice: str) -> None:
    (todo,) = told(*opened(), read(seen)).todo
    assert advice in todo


def test_where_nothing_can_be_done_nothing_is_advised() -> None:
    assert told(*opened(), read(held())).todo == ()
    assert told(*ran()).todo == ()


# --- between two executions


def test_a_job_that_waits_for_proof_names_the_nodes_and_the_last_end() -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    found = explain(view)
    assert (found.state, found.cause) == (State.PENDING, Cause.AWAITING_CESSATION)
    assert "from the nodes of the last execution" in found.headline
    assert found.why == ("submission 1 ended: Preempted", "decided: resubmit, since rule 1")
    assert found.todo == ("It goes on by itself once the nodes respond again.",)
    view = tell(view, Awaiting(submission=1, nodes=("n1", "n2"), sent=at(50)))
    assert "from nodes n1, n2 that the last execution is gone" in explain(view).headline


def test_a_job_whose_nodes_have_the_kill_wait_says_until_when() -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    view = tell(view, NodesBack(submission=1, sent=at(50)))
    found = explain(view)
    assert (found.state, found.cause) == (State.PENDING, Cause.AWAITING_CESSATION)
    assert "until 2026-01-01T00:01:30Z" in found.headline
    assert "its nodes respond; they have 40s to kill what they should not run" in found.why
    assert found.todo == ("It goes on by itself then.",)
    assert explain(tell(view, HoldAsked(instance=1, by="alice"))).todo == ()


def test_a_job_that_is_held_for_want_of_proof_says_what_a_release_means() -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    by_person = tell(view, HoldAsked(instance=1, by="alice"))
    assert "by itself" in explain(by_person).todo[0]
    held_ = tell(view, HoldAsked(instance=1, by=HOLD_BY_CESSATION))
    assert explain(held_).todo[0].startswith("Make sure that no process of it is left")


def test_a_job_that_backs_off_says_until_when() -> None:
    view = tell(judged(record(*ran(), policy=AGAIN), ended()), CEASED)
    found = explain(view)
    assert (found.state, found.cause) == (State.PENDING, Cause.BACKING_OFF)
    assert found.headline == "submission 2 is due at 2026-01-01T00:10:00Z"
    assert found.why == ("submission 1 ended: Preempted", "decided: resubmit, since rule 1")
    decision = view.decisions[-1]
    undated = replace(view, decisions=((decision[0], replace(decision[1], due=None, why="")),))
    assert explain(undated).headline == "submission 2 is due"
    assert explain(undated).why == ("submission 1 ended: Preempted",)


def test_a_next_submission_that_was_refused_for_now_says_so() -> None:
    view = tell(judged(record(*ran(), policy=AGAIN), ended()), CEASED)
    view = tell(view, Intended(intent=intent(Verb.START, 2)), replace(BUSY, intent="start-2"))
    found = explain(view)
    assert found.cause is Cause.NO_CAPACITY
    assert "queue full" in found.why


def test_an_older_object_that_was_superseded_needs_no_decision() -> None:
    bare = replace(judged(record(*ran(), policy=AGAIN), ended()), decisions=())
    assert explain(bare).why == ("",)
    assert explain(tell(bare, CEASED)).headline == "submission 2 is due"


# --- stopping, and the end


def test_a_job_that_is_being_stopped_says_who_asked() -> None:
    found = told(*ran(), STOP)
    assert found.headline == "stopping: running on n1, n2"
    assert found.state is State.RUNNING
    assert found.why[0].startswith("alice asked for it to stop")


def test_the_end_is_told_with_what_was_decided() -> None:
    view = judged(record(*ran()), ended(cause=Cause.TIMEOUT))
    found = explain(view)
    assert (found.state, found.cause, found.headline) == (State.FAILED, Cause.TIMEOUT, "Timeout")
    assert found.why[0].startswith("decided: fail, since no rule matches")
    assert found.todo == ()


def test_a_success_after_a_decision_is_not_told_with_what_was_decided() -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    succeeded = explain(tell(view, Ended(verdict=Verdict(state=State.SUCCEEDED))))
    assert (succeeded.headline, succeeded.why) == ("Succeeded", ())


def test_a_rejected_job_is_to_be_corrected() -> None:
    verdict = Verdict(state=State.FAILED, cause=Cause.REJECTED, detail=Detail(reason="no such qos"))
    found = told(Ended(verdict=verdict))
    assert found.headline == 'Rejected ("no such qos")'
    assert found.todo == ("Correct the job file and submit it again.",)


@pytest.mark.parametrize(
    ("detail", "proven", "words"),
    [
        ({}, True, "Signalled"),
        ({"exit_code": 0}, True, "Signalled (exit code 0)"),
        ({"signal": "TERM"}, True, "Signalled (signal TERM)"),
        ({"nodes": ("n1", "n2")}, True, "Signalled (nodes n1, n2)"),
        ({"by": By.ADMINISTRATOR}, True, "Signalled (by administrator)"),
        ({"by": By.ADMINISTRATOR, "who": "root"}, True, "Signalled (by root)"),
        ({"who": "root"}, True, "Signalled (by root)"),
        ({"reason": "so"}, True, 'Signalled ("so")'),
        ({"suspected": Cause.OUT_OF_MEMORY}, False, "Signalled (perhaps OutOfMemory, not proven)"),
        ({"exit_code": 137, "signal": "KILL"}, False, "Signalled (exit code 137, signal KILL, not proven)"),
    ],
)  # fmt: skip
def test_a_verdict_is_told_in_one_line(detail: dict[str, Any], proven: bool, words: str) -> None:  # noqa: FBT001 - a column
    verdict = Verdict(state=State.FAILED, cause=Cause.SIGNALLED, detail=Detail(**detail), proven=proven)  # fmt: skip
    assert describe(verdict) == words


def test_a_verdict_without_a_cause_is_told_by_its_state() -> None:
    assert describe(Verdict(state=State.SUCCEEDED)) == "Succeeded"
    assert explain(record(*started(), read(gated()))).headline == "created, not yet opened"
    assert told(*opened(), read(running())).headline == "running on n1, n2"
