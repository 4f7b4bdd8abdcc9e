"""Ended is not ceased: E1, E4 and E7 of the hard cases, and cessation in the policy."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.builders import (
    BOTH_UP,
    at,
    calls,
    cancelled,
    ended,
    gated,
    header,
    intent,
    judged,
    nodes,
    nodes_wanted,
    opened,
    opening,
    queued,
    ran,
    read,
    record,
    row,
    running,
    s,
    settled_step,
    started,
    step,
    tell,
    waits,
)
from dispatch.model.answers import Action
from dispatch.model.journal import (
    AnyEvent,
    Awaiting,
    Ceased,
    HoldAsked,
    Intended,
    NodesBack,
    Outcome,
    Proof,
    ReleaseAsked,
    Settled,
    Verb,
)
from dispatch.model.policy import HOLD_BY_CESSATION, Cessation, Policy, Rule
from dispatch.model.status import Cause, Detail, NodeReport, Observation
from dispatch.model.steps import Append, Call, Look
from dispatch.model.view import JobView, Phase

AGAIN = Policy(rules=(Rule(when=(Cause.PREEMPTED, Cause.NODE_LOST), do=Action.RESUBMIT),))

# --- E4: ended is not ceased


def proof(view: JobView) -> Proof | None:
    assert view.objects[1].phase is Phase.CEASED
    return view.objects[1].proof


def test_an_end_without_nodes_never_ran() -> None:
    view = judged(record(*opened(), policy=AGAIN), ended(ran_for=None))
    assert nodes_wanted(view) is None
    view, made = settled_step(view, ended(ran_for=None), sent=40)
    assert proof(view) is Proof.NEVER_RAN
    assert calls(made) == (Verb.START, 2)


@pytest.mark.parametrize(
    "known", [running(), ended(), ended(nodes=(), detail=Detail(nodes=("n1",)))]
)
def test_an_object_that_was_given_nodes_has_run(known: Observation) -> None:
    end = ended(ran_for=None, nodes=())
    view = judged(record(*opened(), read(known), policy=AGAIN), end)
    view, _ = settled_step(view, end, sent=40)
    assert view.objects[1].phase is Phase.JUDGED


@pytest.mark.parametrize(
    "cause", [Cause.NODE_LOST, Cause.EVICTED, Cause.REQUEUED, Cause.UNKNOWN, Cause.FENCED]
)
def test_after_a_loss_every_node_must_be_back_for_the_kill_wait(cause: Cause) -> None:
    policy = Policy(
        rules=(
            Rule(
                when=(Cause.NODE_LOST, Cause.EVICTED, Cause.REQUEUED, Cause.UNKNOWN),
                do=Action.RESUBMIT,
            ),
        )
    )
    end = ended(cause=cause, detail=Detail(nodes=("n2",)))
    view = judged(record(*ran(), policy=policy), end)
    view, made = settled_step(view, end, sent=100, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 140)
    assert row(step(view, end, sent=139, nodes=BOTH_UP)) == "await cessation"
    view, _ = settled_step(view, end, sent=140, nodes=BOTH_UP)
    assert proof(view) is Proof.NODES_BACK


def lost() -> JobView:
    return judged(record(*ran(), policy=AGAIN), ended(cause=Cause.NODE_LOST))


LOST = ended(cause=Cause.NODE_LOST)
N2_AWAY = nodes(n1=True, n2=False)


def test_a_lost_node_is_awaited_by_name_for_as_long_as_it_takes() -> None:
    view, made = settled_step(lost(), LOST, sent=100, nodes=N2_AWAY)
    assert view.objects[1].awaiting == ("n2",)
    assert isinstance(made, Look)
    assert (made.row, made.at) == ("await cessation", None)
    assert "nodes n2 respond" in made.why
    _, made = settled_step(view, LOST, sent=1_000_000, nodes=N2_AWAY)
    assert row(made) == "await cessation"


def test_a_node_that_comes_back_and_goes_again_begins_its_wait_again() -> None:
    view, _ = settled_step(lost(), LOST, sent=100, nodes=N2_AWAY)
    view, made = settled_step(view, LOST, sent=200, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 240)
    view, _ = settled_step(view, LOST, sent=210, nodes=N2_AWAY)
    assert view.objects[1].nodes_back is None
    assert view.objects[1].awaiting_since == at(100)
    view, made = settled_step(view, LOST, sent=241, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 281)
    view, _ = settled_step(view, LOST, sent=281, nodes=BOTH_UP)
    assert proof(view) is Proof.NODES_BACK


def test_another_lost_node_is_recorded_too() -> None:
    view, _ = settled_step(lost(), LOST, sent=100, nodes=N2_AWAY)
    view, _ = settled_step(view, LOST, sent=110, nodes=nodes(n1=False, n2=False))
    assert view.objects[1].awaiting == ("n1", "n2")
    view, _ = settled_step(view, LOST, sent=120, nodes=nodes(n1=False, n2=True))
    assert view.objects[1].awaiting == ("n1",)


def test_a_node_that_could_not_kill_its_processes_is_not_back() -> None:
    drained = (
        NodeReport(name="n1", responding=True),
        NodeReport(name="n2", responding=True, kill_failed=True),
    )
    view, _ = settled_step(lost(), LOST, sent=100, nodes=drained)
    assert view.objects[1].awaiting == ("n2",)


def test_a_node_that_is_not_reported_is_not_back() -> None:
    view, _ = settled_step(lost(), LOST, sent=100, nodes=nodes(n1=True))
    assert view.objects[1].awaiting == ("n2",)


def test_with_unknown_nodes_every_node_that_is_reported_must_be_back() -> None:
    view, _ = settled_step(
        record(*opened(), policy=Policy(rules=(Rule(when=(Cause.UNKNOWN,), do=Action.RESUBMIT),))),
        sent=100,
    )
    view, _ = settled_step(view, sent=400)
    assert nodes_wanted(view) == ()
    view, made = settled_step(view, sent=410, nodes=())
    assert row(made) == "await cessation"
    view, _ = settled_step(view, sent=420, nodes=nodes(n8=True, n9=False))
    assert view.objects[1].awaiting == ("n9",)


def test_an_end_whose_nodes_went_away_meanwhile_needs_the_kill_wait_from_their_return() -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    view, _ = settled_step(view, ended(), sent=40, nodes=N2_AWAY)
    view, made = settled_step(view, ended(), sent=50, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 90)


def test_the_nodes_of_every_run_of_an_object_are_awaited() -> None:
    view = record(*ran(), policy=AGAIN)
    view, _ = settled_step(view, queued(restarts=1), sent=10)
    end = ended(restarts=1, nodes=("n3",))
    view = judged(view, end, sent=20)
    assert nodes_wanted(view) == ("n1", "n2", "n3")
    up = nodes(n1=True, n2=True, n3=True)
    view, made = settled_step(view, end, sent=100, nodes=up)
    assert waits(made) == ("await cessation", 140)  # a run may have been lost before the last


def test_where_a_run_was_seen_by_nobody_every_node_is_awaited() -> None:
    view, _ = settled_step(record(*ran(), policy=AGAIN), queued(restarts=2), sent=10)
    view = judged(view, ended(restarts=2, nodes=("n3",)), sent=20)
    assert nodes_wanted(view) == ()


def test_a_pending_object_names_no_nodes_but_those_still_being_cleaned_up() -> None:
    view, _ = settled_step(record(*opened()), queued(nodes=("n7",)))
    assert view.objects[1].ran_on == ()
    view, _ = settled_step(view, queued(nodes=("n7",), cleaning=True), sent=1)
    assert view.objects[1].ran_on == ("n7",)


def accepts(after: str, hold_after: str | None = None) -> Policy:
    cessation = Cessation(after=after, hold_after=s(hold_after) if hold_after else None)
    return replace(AGAIN, cessation=cessation)


def test_a_declared_wait_in_place_of_proof_is_recorded_as_assumed() -> None:
    view = judged(record(*ran(), policy=accepts("30m")), LOST, sent=0)
    view, made = settled_step(view, LOST, sent=100, nodes=N2_AWAY)
    assert waits(made) == ("await cessation", 1800)
    assert row(step(view, LOST, sent=1799, nodes=N2_AWAY)) == "await cessation"
    made = step(view, LOST, sent=1800, nodes=N2_AWAY)
    assert isinstance(made, Append)
    (ceased,) = made.events
    assert isinstance(ceased, Ceased)
    assert ceased.proof is Proof.ASSUMED_GONE
    assert "30m" in ceased.why


def test_the_declared_wait_of_what_vanished_counts_from_when_it_was_missed() -> None:
    policy = replace(accepts("30m"), rules=(Rule(when=(Cause.UNKNOWN,), do=Action.RESUBMIT),))
    view, _ = settled_step(record(*ran(), policy=policy), sent=100)
    view, made = settled_step(view, sent=400, nodes=N2_AWAY)
    assert waits(made) == ("await cessation", 1900)


def test_proof_that_comes_before_the_declared_wait_is_proof() -> None:
    view = judged(record(*ran(), policy=accepts("30m")), ended(), sent=0)
    for sent in (100, 140):
        view, _ = settled_step(view, ended(), sent=sent, nodes=BOTH_UP)
    assert proof(view) is Proof.NODES_BACK


def test_a_declared_wait_that_is_shorter_than_the_kill_wait_is_all_that_is_waited() -> None:
    view = judged(record(*ran(), policy=accepts("50s")), ended(), sent=0)
    view, made = settled_step(view, ended(), sent=32, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 50)
    view, _ = settled_step(view, ended(), sent=50, nodes=BOTH_UP)
    assert proof(view) is Proof.ASSUMED_GONE


# --- cessation.holdAfter


def without_proof() -> JobView:
    view = judged(record(*ran(), policy=accepts("proof", "1h")), LOST)
    view, made = settled_step(view, LOST, sent=100, nodes=N2_AWAY)
    assert waits(made) == ("await cessation", 3700)
    assert row(step(view, LOST, sent=3699, nodes=N2_AWAY)) == "await cessation"
    return settled_step(view, LOST, sent=3700, nodes=N2_AWAY)[0]


def test_a_job_without_proof_is_held_for_a_person() -> None:
    view = without_proof()
    assert view.hold is not None
    assert (view.hold.by, view.hold.instance) == (HOLD_BY_CESSATION, 1)
    assert "no proof for 1h" in view.hold.why
    assert waits(step(view, LOST, sent=9000, nodes=N2_AWAY)) == ("await cessation", None)


def test_a_person_who_releases_it_says_that_the_copy_is_gone() -> None:
    view = tell(without_proof(), ReleaseAsked(instance=1, by="alice"))
    view, made = settled_step(view, LOST, sent=9000, nodes=N2_AWAY)
    assert proof(view) is Proof.ASSUMED_GONE
    assert calls(made) == (Verb.START, 2)


def test_proof_that_comes_lifts_the_hold_that_waited_for_it() -> None:
    view, _ = settled_step(without_proof(), LOST, sent=9000, nodes=BOTH_UP)
    view, made = settled_step(view, LOST, sent=9040, nodes=BOTH_UP)
    assert view.hold is None
    assert calls(made) == (Verb.START, 2)


def test_the_release_of_a_persons_own_hold_says_nothing_about_the_copy() -> None:
    view = judged(record(*ran(), policy=accepts("proof", "1h")), LOST)
    view = tell(view, HoldAsked(instance=1, by="alice"))
    view, _ = settled_step(view, LOST, sent=9000, nodes=N2_AWAY)
    view, made = settled_step(view, LOST, sent=99000, nodes=N2_AWAY)
    assert waits(made) == ("await cessation", None)  # it is held already
    view = tell(view, ReleaseAsked(instance=1, by="alice"))
    assert view.cessation_waived_by is None
    view, _ = settled_step(view, LOST, sent=99001, nodes=N2_AWAY)
    assert view.hold is not None
    assert view.hold.by == HOLD_BY_CESSATION


def test_a_proof_leaves_a_persons_hold_alone() -> None:
    view = tell(judged(record(*ran(), policy=AGAIN), ended()), HoldAsked(instance=1, by="alice"))
    view, _ = settled_step(view, ended(), sent=100, nodes=BOTH_UP)
    assert view.hold is not None


def test_a_waiver_is_good_for_one_execution() -> None:
    view = tell(without_proof(), ReleaseAsked(instance=1, by="alice"))
    view, _ = settled_step(view, LOST, sent=9000, nodes=N2_AWAY)
    view = tell(view, *started(2), read(gated(2)), Intended(intent=intent(Verb.OPEN, 2)))
    view = tell(view, Settled(intent="open-2", outcome=Outcome.LANDED))
    second = ended(2, cause=Cause.NODE_LOST)
    view = judged(view, LOST, second, sent=9100)
    assert view.cessation_waived_by is None


# --- E7 and what is live though it is judged


@pytest.mark.parametrize("back", [gated(), queued(), running()])
def test_a_judged_object_that_is_back_is_stopped_before_anything_else(back: Observation) -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    view, made = settled_step(view, back, sent=50, boot="b2")
    assert calls(made) == (Verb.STOP, 1)
    busy = Settled(intent="stop-1", outcome=Outcome.BUSY, reason="full", retry_at=at(90))
    view = tell(view, Intended(intent=intent(Verb.STOP)), busy)
    made = step(view, back, sent=60, boot="b2")
    assert waits(made) == ("await stop", 90)
    assert isinstance(made, Look)
    assert made.why == "full"
    stopping = Settled(intent="stop-2", outcome=Outcome.LANDED)
    view = tell(view, Intended(intent=intent(Verb.STOP, id="stop-2")), stopping)
    made = step(view, back, sent=95, boot="b2")
    assert calls(made) == (Verb.STOP, 1)


def test_a_judged_object_that_came_back_and_is_not_cleaned_up_keeps_its_successor_waiting() -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    view, _ = settled_step(view, running(), sent=50, boot="b2")
    _, made = settled_step(view, ended(cleaning=True), sent=60, boot="b2", nodes=BOTH_UP)
    assert row(made) == "blocked by another object"
    for sent in (70, 110):
        view, _ = settled_step(view, ended(), sent=sent, boot="b2", nodes=BOTH_UP)
    assert view.objects[1].phase is Phase.CEASED


def test_steps_towards_cessation_are_events_of_that_object() -> None:
    view = lost()
    for event in (
        Awaiting(submission=1, nodes=("n2",), sent=at(100)),
        NodesBack(submission=1, sent=at(110)),
    ):
        view = tell(view, event)
    assert view.objects[1].nodes_back == at(110)
    view = tell(view, Ceased(submission=1, proof=Proof.NODES_BACK))
    assert view.objects[1].awaiting == ()


def test_nodes_are_not_asked_of_a_job_that_has_nothing_to_prove() -> None:
    for view in (record(), record(*ran()), judged(record(*ran()), ended())):
        assert nodes_wanted(view) is None
    assert header().id == view.id


def test_an_end_after_a_forgotten_start_needs_the_kill_wait_though_it_is_ordinary() -> None:
    again = ended(started=at(50))
    view = judged(record(*ran(), policy=AGAIN), again, sent=60)
    assert view.decisions[-1][1].verdict.cause is Cause.PREEMPTED
    _, made = settled_step(view, again, sent=100, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 140)


def test_what_is_superseded_is_found_wherever_it_is_listed() -> None:
    view, _ = settled_step(record(*ran(), policy=AGAIN), running(), running(2))
    for shown in ((running(), running(2)), (running(2), running())):
        assert calls(step(view, *shown, sent=1)) == (Verb.STOP, 1)


@pytest.mark.parametrize(
    "events",
    [
        ran(),
        opening(),
        (*opening(), Settled(intent="open-1", outcome=Outcome.UNKNOWN)),
    ],
    ids=["open", "opening", "tainted"],
)
def test_an_older_object_that_is_not_shown_may_run_and_is_awaited(
    events: tuple[AnyEvent, ...],
) -> None:
    view = tell(record(*events), *started(2), read(gated(2)))
    if view.intents:  # what an open came to is settled first
        view = tell(view, Settled(intent="open-1", outcome=Outcome.LANDED))
    _, made = settled_step(view, gated(2), sent=10, nodes=nodes(n1=True, n2=False))
    assert waits(made)[0] == "await cessation"
    view, made = settled_step(view, gated(2), sent=20, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 60)
    view, made = settled_step(view, gated(2), sent=60, nodes=BOTH_UP)
    assert proof(view) is Proof.NODES_BACK
    assert calls(made) == (Verb.OPEN, 2)


def test_what_is_live_though_judged_is_found_behind_what_has_ended() -> None:
    view = judged(record(*ran(), policy=AGAIN), ended())
    _, made = settled_step(view, cancelled(2, ref="orphan"), running(), sent=50)
    assert isinstance(made, Call)
    assert (made.verb, made.ref) == (Verb.STOP, "ref-1")
