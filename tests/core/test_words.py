"""The words that people read: why a job waits, what was decided, and what a refusal advises."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import (
    BOTH_UP,
    BOUND,
    at,
    ceased,
    ended,
    gated,
    held,
    intent,
    judged,
    key,
    nodes,
    opened,
    opening,
    queued,
    ran,
    read,
    record,
    running,
    s,
    settled_step,
    started,
    step,
    succeeded,
    tell,
)
from dispatch.core.explaining import explain
from dispatch.core.planning import make_plan
from dispatch.model.answers import Action, Answer, Answers, Capability, Tristate
from dispatch.model.errors import Invalid, Refused
from dispatch.model.job import Job
from dispatch.model.journal import (
    AnyEvent,
    Ceased,
    Forgot,
    HoldAsked,
    Intended,
    Outcome,
    Proof,
    ReleaseAsked,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.policy import (
    HOLD_BY_CESSATION,
    Backoff,
    Cessation,
    Changes,
    CrashLoop,
    Policy,
    Rule,
    Unmatched,
)
from dispatch.model.quantity import TimeLimit
from dispatch.model.status import By, Cause, Detail, HoldSeen, Observation, State, Verdict
from dispatch.model.steps import Append, Step
from dispatch.model.view import JobView

AGAIN = Policy(rules=(Rule(when=(Cause.PREEMPTED, Cause.NODE_LOST), do=Action.RESUBMIT),))
STOP = StopAsked(by="alice")


def why(made: Step) -> str:
    return str(getattr(made, "why", "no such words"))


def over(**fields: Any) -> JobView:
    return judged(record(*ran(), policy=AGAIN), ended(**fields))


def waits() -> list[tuple[str, JobView, tuple[Observation, ...], float]]:
    """For each wait: its words, and a view, a read and a moment that come to it."""
    admin = HoldSeen(by=By.ADMINISTRATOR)
    vanished, _ = settled_step(record(*ran()))
    refused = Settled(intent="start-1", outcome=Outcome.BUSY, reason="queue full", retry_at=at(9))
    slow = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.RESUBMIT, backoff=Backoff(initial=s("10m"))),))  # fmt: skip
    return [
        ("neither the queue nor accounting shows the object", vanished, (), 1),
        ("the scheduler is still cleaning up after it", record(*ran(), read(ended(cleaning=True))), (ended(cleaning=True),), 0),
        ("its requeue bit is set: anybody may run it again until it is purged", record(*ran(), read(ended(final=False))), (ended(final=False),), 0),
        ("it has ended; a crash could still undo that", record(*ran(), read(ended())), (ended(),), 0),
        ("the outcome of start is not known yet", record(Intended(intent=intent(Verb.START))), (), 0),
        ("queue full", record(Intended(intent=intent(Verb.START)), refused), (), 0),
        ("an administrator holds the gated object", record(*started(), read(gated(hold=admin))), (gated(hold=admin),), 0),
        ("object x, which this record does not know, is live", record(), (gated(ref="x", key=key(store="other")),), 0),
        ("object x has ended, but is not cleaned up or may run again", record(), (ended(ref="x", key=key(store="other"), final=False),), 0),
        ("nothing to do until something changes", record(*ran()), (running(),), 0),
        ("backing off: rule 1", ceased(record(*ran(), policy=slow), ended()), (ended(),), 100),
    ]  # fmt: skip


@pytest.mark.parametrize("case", waits(), ids=lambda case: str(case[0]))
def test_a_wait_says_why(case: tuple[str, JobView, tuple[Observation, ...], float]) -> None:
    words, view, observations, sent = case
    assert why(step(view, *observations, sent=sent)) == words


def test_a_read_that_is_stale_says_so() -> None:
    view = record()
    assert why(step(view, version=9)) == "the record has moved on since the listing was sent"


def test_two_writes_are_named_together() -> None:
    both = (Intended(intent=intent(Verb.HOLD, instance=1)), Intended(intent=intent(Verb.STOP)))
    made = step(record(*opened(), read(queued()), *both), queued())
    assert why(made) == "the outcome of hold and stop is not known yet"


def test_the_wait_for_proof_names_what_it_waits_for() -> None:
    first = "no proof yet that the last execution is gone: waiting until "
    _, made = settled_step(over(), ended(), sent=40, nodes=nodes(n1=False, n2=False))
    assert why(made) == first + "nodes n1, n2 respond"
    lost = ended(cause=Cause.NODE_LOST)
    _, made = settled_step(over(cause=Cause.NODE_LOST), lost, sent=40, nodes=BOTH_UP)
    assert why(made).endswith("its nodes respond, and have yet to kill what they should not run")
    nowhere = judged(record(*ran(nodes=()), policy=AGAIN), ended(nodes=()))
    _, made = settled_step(nowhere, ended(nodes=()), sent=40, nodes=())
    assert why(made) == first + "all nodes where it could have run respond"
    policy = Policy(rules=AGAIN.rules, cessation=Cessation(after="1h"))
    view = judged(record(*ran(), policy=policy), lost)
    _, made = settled_step(view, lost, sent=40, nodes=nodes(n1=True, n2=False))
    assert why(made) == first + "nodes n2 respond"


def test_each_stop_says_why() -> None:
    unknown = Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="lost")
    _, made = settled_step(record(*opening(), unknown), gated())
    assert why(made) == "superseded, or a write of it is uncertain"
    view = judged(record(*ran()), succeeded())
    _, made = settled_step(view, running(), sent=50)
    assert why(made) == "the job has ended"
    full = Settled(intent="stop-1", outcome=Outcome.BUSY, reason="full", retry_at=at(90))
    view = tell(view, Intended(intent=intent(Verb.STOP)), full)
    _, made = settled_step(view, running(), sent=60)
    assert why(made) == "full"
    quiet = Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="", retry_at=at(9))
    _, made = settled_step(record(*opening(), quiet), gated())
    assert why(made) == "an object is being stopped"


# --- what is recorded with a reason


def appended(made: Step) -> AnyEvent:
    assert isinstance(made, Append)
    return made.events[0]


def test_a_settled_write_says_how_it_was_settled() -> None:
    view = record(Intended(intent=intent(Verb.START)))
    assert getattr(appended(step(view, gated())), "reason", None) == "read back"
    view, _ = settled_step(view, sent=BOUND)
    made = appended(step(view, sent=BOUND + 25))
    assert getattr(made, "reason", None) == "2 reads do not show it"
    view = record(*opening())
    made = appended(step(view, gated(), sent=BOUND, boot="b2"))
    assert isinstance(made, Settled)
    assert made.reason == "the controller restarted meanwhile"


def test_a_start_that_was_lost_says_so() -> None:
    view, _ = settled_step(record(*started(), read(gated())))
    made = appended(step(view, sent=30))
    assert made == Forgot(submission=1, why="the controller lost the object before its open")
    assert record(*opened(), Forgot(submission=1, why="")).objects[1].why == "the controller forgot a write of it"  # fmt: skip


def test_a_taint_without_a_reason_says_what_it_is() -> None:
    unknown = Settled(intent="open-1", outcome=Outcome.UNKNOWN)
    assert record(*opening(), unknown).objects[1].why == "its open may have landed"


def test_a_verdict_without_evidence_says_so() -> None:
    view, _ = settled_step(record(*ran()))
    view, _ = settled_step(view, sent=300)
    verdict = view.decisions[-1][1].verdict
    assert verdict == Verdict(state=State.UNKNOWN, cause=Cause.UNKNOWN, detail=Detail(reason="all evidence is gone"), proven=False)  # fmt: skip
    view, _ = settled_step(record(*ran()), boot="b2")
    view, _ = settled_step(view, sent=300, boot="b2")
    assert view.decisions[-1][1].verdict.detail.reason == "the controller has restarted and no longer knows the object"  # fmt: skip


def test_cessation_says_on_what_it_rests() -> None:
    lost = ended(cause=Cause.NODE_LOST)
    view, _ = settled_step(over(cause=Cause.NODE_LOST), lost, sent=40, nodes=BOTH_UP)
    made = appended(step(view, lost, sent=80, nodes=BOTH_UP))
    assert made == Ceased(submission=1, proof=Proof.NODES_BACK, why="responding: n1, n2")
    waived = tell(over(), HoldAsked(instance=1, by=HOLD_BY_CESSATION), ReleaseAsked(instance=1, by="bob"))  # fmt: skip
    made = appended(step(waived, ended(), sent=80))
    assert made == Ceased(submission=1, proof=Proof.ASSUMED_GONE, why="bob released the job")
    policy = Policy(rules=AGAIN.rules, cessation=Cessation(after="1h"))
    view = judged(record(*ran(), policy=policy), lost)
    view, _ = settled_step(view, lost, sent=40, nodes=nodes(n1=True, n2=False))
    made = appended(step(view, lost, sent=3600, nodes=nodes(n1=True, n2=False)))
    assert made == Ceased(submission=1, proof=Proof.ASSUMED_GONE, why="the policy accepts a wait of 1h in place of proof")  # fmt: skip


def test_decisions_say_why() -> None:
    assert judged(record(*ran(), STOP), ended()).decisions[-1][1].why == "a stop was asked for"
    fenced = judged(record(*ran()), ended(cause=Cause.FENCED)).decisions[-1][1]
    assert fenced.why == "a fault of the controller, charged to nobody"
    brake = CrashLoop(executions=2, shorter_than=s("1h"), do=Unmatched.FAIL)
    loop = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.RESUBMIT, with_=Changes(qos="x")),), crash_loop=brake)  # fmt: skip
    view = record(*ran(), policy=loop)
    view = judged(view, ended())
    view = tell(view, Ceased(submission=1, proof=Proof.CLEANED), *opened(2))
    decided = judged(view, ended(), ended(2), sent=900).decisions[-1][1]
    assert decided.why == "crashLoop: the last 2 executions were each shorter than 1h"
    assert decided.changes is None


def test_a_hold_of_the_policy_names_the_cause_where_there_is_one() -> None:
    nameless = ended(cause=None)
    view = judged(record(*ran(), policy=Policy(unmatched=Unmatched.HOLD)), nameless)
    assert view.hold is not None
    assert view.hold.why == ""


def test_a_first_start_has_no_reason() -> None:
    assert why(step(record())) == ""


# --- explanations


@pytest.mark.parametrize(
    ("seen", "advice"),
    [
        (HoldSeen(instance=1), "`dispatch release JOB` lets it run."),
        (None, "A person held it in the scheduler; it is theirs to release: `scontrol release ID`."),
    ],
)  # fmt: skip
def test_the_advice_for_a_hold(seen: HoldSeen | None, advice: str) -> None:
    verdict = Verdict(state=State.PENDING, cause=Cause.HELD)
    assert explain(record(*opened(), read(queued(verdict=verdict, hold=seen)))).todo == (advice,)


@pytest.mark.parametrize(
    ("cause", "advice"),
    [
        (Cause.ADMIN_HELD, "An administrator holds it; ask them."),
        (Cause.UNSATISFIABLE, "It can never start as it is. `dispatch stop JOB`, correct the job file, and submit it again."),
    ],
)  # fmt: skip
def test_the_advice_for_what_a_person_must_do(cause: Cause, advice: str) -> None:
    verdict = Verdict(state=State.PENDING, cause=cause)
    assert explain(record(*opened(), read(queued(verdict=verdict)))).todo == (advice,)


def test_the_words_of_a_job_that_ends_or_stops() -> None:
    found = explain(record(*ran(), read(ended())))
    assert found.why == ("what is done about it is decided once the end is certain",)
    found = explain(record(*opened(), read(queued()), STOP))
    assert (found.state, found.cause) == (State.PENDING, Cause.NO_CAPACITY)
    assert found.why == ("alice asked for it to stop; this is true once its end is certain",)
    assert explain(record(*opened(), read(held()))).headline == "NoCapacity"


# --- refusals


def test_a_refusal_says_what_to_do() -> None:
    with pytest.raises(Invalid) as unknown:
        make_plan(Job(command=("a",), recovery="spot"), Answers())
    assert unknown.value.todo == "Define it under policies."
    with pytest.raises(Refused) as refused:
        make_plan(Job(command=("a",)), Answers())
    assert refused.value.what == "The job is refused: this cluster cannot honour all of it."
    assert refused.value.todo == "Change the job, or the cluster's settings, so that none of these is left:"  # fmt: skip


def test_the_whole_reason_of_a_refused_restart_and_of_an_assumed_end() -> None:
    yes = Answer(value=Tristate.YES)
    gate = {Capability.GATE: yes, Capability.FENCE: yes, Capability.CESSATION: yes}
    restart = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.RESTART),))
    with pytest.raises(Refused) as refused:
        make_plan(Job(command=("a",), recovery=restart), Answers(capabilities=gate, rules={Action.RESTART: yes}))  # fmt: skip
    assert refused.value.reasons == (
        "recovery.rules[0]: the action restart is not carried out by this version of dispatch: use resubmit, or add orElse: resubmit",
    )  # fmt: skip
    waits_ = Policy(cessation=Cessation(after="30m"))
    plan = make_plan(Job(command=("a",), recovery=waits_), Answers(capabilities=gate))
    assert plan.notes == (
        "A new copy is started 30m after a node was lost, without proof that the old one is gone: two copies may run if it is not.",
    )  # fmt: skip
    assert TimeLimit.parse("30m") == s("30m")
