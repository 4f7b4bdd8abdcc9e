"""The real engine on the memory scheduler, from submission to verdict."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dispatch.model.answers import Action
from dispatch.model.epoch import Epoch
from dispatch.model.errors import Busy, Conflict, Rejected
from dispatch.model.journal import Adopted, Ceased, Outcome, Proof, Settled, Verb
from dispatch.model.policy import Cessation, Policy
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, State
from shell.world import RESUBMIT, World, ended, opened, submission


def test_a_job_runs_and_succeeds_with_one_start_and_one_open(world: World) -> None:
    job = world.submit(nodes=2)
    world.until(job, opened)
    assert world.verbs(job) == [Verb.START, Verb.OPEN]
    world.env.run(job)
    world.advance(job)
    assert world.explain(job).state is State.RUNNING
    world.env.finish(job)
    view = world.until(job, ended)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.SUCCEEDED, None)
    assert world.verbs(job) == [Verb.START, Verb.OPEN]


def test_a_final_verdict_waits_for_the_save_window(world: World) -> None:
    job = world.submit()
    world.until(job, opened)
    world.env.run(job)
    world.env.finish(job)
    due = world.advance(job)[job]
    assert world.view(job).verdict is None
    assert due is not None
    world.clock.advance(world.backend.declarations.save_window)
    world.advance(job)
    assert world.view(job).verdict is not None


def test_a_preempted_job_is_resubmitted_after_its_backoff_with_a_higher_epoch(world: World) -> None:
    job = world.submit(RESUBMIT, nodes=2)
    world.until(job, opened)
    first = world.env.run(job)
    world.env.preempt(job)
    view = world.until(job, submission(2))
    assert first is not None
    second = world.env.run(job)
    assert second is not None
    assert view.current is not None
    assert Epoch(1, 0).number == 1_000_000
    assert [ticket.epoch for ticket in world.env.tickets(job)] == [1_000_000, 2_000_000]
    (decided,) = world.decisions(job)
    assert decided.verdict.cause is Cause.PREEMPTED
    assert decided.due is not None
    assert world.env.overlaps(job) == ()


def test_a_lost_node_keeps_the_next_copy_waiting_until_it_is_back(world: World) -> None:
    job = world.submit(RESUBMIT, nodes=2)
    world.until(job, opened)
    world.env.run(job, nodes=("n1", "n2"))
    world.advance(job)
    world.env.lose_node("n2")
    world.until(job, lambda view: view.last_decision is not None)
    world.until(job, lambda view: bool(view.current and view.current.awaiting))
    explanation = world.explain(job)
    assert (explanation.state, explanation.cause) == (State.PENDING, Cause.AWAITING_CESSATION)
    assert "n2" in explanation.headline
    for _ in range(20):
        world.clock.advance(timedelta(minutes=10))
        world.advance(job)
    assert world.view(job).current == world.view(job).objects[1]
    world.env.return_node("n2")
    world.until(job, submission(2))
    (ceased,) = world.events(job, Ceased)
    assert isinstance(ceased, Ceased)
    assert ceased.proof is Proof.NODES_BACK
    assert world.env.overlaps(job) == ()


def test_a_policy_that_accepts_a_wait_goes_on_without_proof_and_says_so(world: World) -> None:
    policy = Policy(rules=RESUBMIT.rules, cessation=Cessation(after="30m"))
    job = world.submit(policy, nodes=2)
    world.until(job, opened)
    world.env.run(job, nodes=("n1", "n2"))
    world.env.lose_node("n2")
    world.until(job, submission(2))
    (ceased,) = world.events(job, Ceased)
    assert isinstance(ceased, Ceased)
    assert ceased.proof is Proof.ASSUMED_GONE


def test_a_person_can_release_a_job_that_has_no_proof(world: World) -> None:
    policy = Policy(rules=RESUBMIT.rules, cessation=Cessation(hold_after=Duration(hours=1)))
    job = world.submit(policy)
    world.until(job, opened)
    world.env.run(job, nodes=("n1",))
    world.env.lose_node("n1")
    world.until(job, lambda view: view.hold is not None)
    world.process.operator.ask_release(job)
    world.until(job, submission(2))
    (ceased,) = world.events(job, Ceased)
    assert isinstance(ceased, Ceased)
    assert ceased.proof is Proof.ASSUMED_GONE


@pytest.mark.parametrize("call", range(2))
def test_a_lost_reply_is_read_back_and_never_repeated(world: World, call: int) -> None:
    job = world.submit()
    if call == 1:
        world.turn(job)
    world.env.drop_next_reply()
    world.until(job, opened)
    assert world.verbs(job).count(Verb.START) == 1
    assert len(world.env.truths(job)) == 1


@pytest.mark.parametrize("late", [5, 40, 54])
def test_a_start_that_lands_late_is_adopted_or_swept_but_never_runs_twice(
    world: World, late: int
) -> None:
    job = world.submit()
    world.env.delay_next_call(timedelta(seconds=late))
    world.until(job, opened)
    world.env.run(job)
    world.clock.advance(timedelta(minutes=5))
    world.advance(job)
    assert len(world.env.live(job)) == 1
    alive = [one for one in world.observed(job) if not one.state.ended]
    assert len(alive) == 1


def test_a_start_beyond_every_bound_leaves_an_orphan_that_is_swept_and_never_ran(
    world: World,
) -> None:
    job = world.submit()
    world.env.delay_next_call(timedelta(minutes=30))
    world.until(job, opened)
    assert len(world.env.truths(job)) == 1
    world.env.run(job)
    world.clock.advance(timedelta(minutes=40))
    world.advance(job)
    world.advance(job)
    first, orphan = world.observed(job)
    assert first.state is State.RUNNING
    assert orphan.state is State.CANCELLED
    assert world.events(job, Adopted) == []


def test_two_processes_at_once_start_one_object(world: World) -> None:
    job = world.submit()
    other = world.another("host2")
    for _ in range(6):
        world.advance(job)
        world.advance(job, process=other)
    assert world.verbs(job) == [Verb.START, Verb.OPEN]
    assert len(world.env.truths(job)) == 1


def test_a_refused_start_is_tried_again_when_it_was_for_now(world: World) -> None:
    job = world.submit()
    world.env.refuse_next(Busy("QOSMaxSubmitJobPerUserLimit"))
    world.advance(job)
    explanation = world.explain(job)
    assert explanation.cause is Cause.NO_CAPACITY
    assert "QOSMaxSubmitJobPerUserLimit" in " ".join(explanation.why)
    world.until(job, opened)
    assert world.decisions(job) == []


def test_a_start_refused_for_good_ends_the_job_as_rejected_with_the_words(world: World) -> None:
    job = world.submit(RESUBMIT)
    world.env.refuse_next(Rejected("Invalid partition name specified"))
    view = world.until(job, ended)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.FAILED, Cause.REJECTED)
    assert view.verdict.detail.reason == "Invalid partition name specified"


def test_the_budget_is_counted_once_and_then_the_job_fails_with_its_cause(world: World) -> None:
    job = world.submit(RESUBMIT)
    for number in (1, 2, 3, 4):
        world.until(job, submission(number))
        world.env.run(job)
        world.env.preempt(job)
    view = world.until(job, ended)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.FAILED, Cause.PREEMPTED)
    assert [decided.action for decided in world.decisions(job)] == [Action.RESUBMIT] * 3 + [
        Action.FAIL
    ]


@pytest.mark.parametrize("forgets", ["submission", "open", "start"])
def test_what_a_crashed_controller_forgot_is_replaced_and_charged_to_nobody(
    world: World, forgets: str
) -> None:
    job = world.submit()
    world.turn(job)
    if forgets != "submission":
        world.clock.advance(world.backend.declarations.save_window)  # the gated object is saved
        world.until(job, opened)
    if forgets == "start":
        world.env.run(job)
        world.advance(job)
    world.env.crash(timedelta(seconds=1), partly=forgets == "start")
    world.env.reboot()
    world.until(job, opened)
    assert world.env.overlaps(job) == ()
    world.until(
        job,
        lambda view: opened(view) and (forgets == "submission" or view.current != view.objects[1]),
    )
    world.env.run(job)
    world.env.finish(job)
    view = world.until(job, ended)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED
    assert all(decided.budget is None for decided in world.decisions(job))


def test_a_cluster_that_is_away_ends_nothing(world: World) -> None:
    job = world.submit(RESUBMIT)
    world.until(job, opened)
    world.env.run(job)
    world.advance(job)
    before = world.view(job)
    world.env.make_unavailable()
    for _ in range(10):
        due = world.advance(job)[job]
        assert due is not None
        world.clock.advance_to(due)
    assert world.view(job).version == before.version
    world.env.make_available()
    world.until(job, lambda _: world.process.clusters.named("c").away_since is None)
    assert world.explain(job).state is State.RUNNING


def test_the_same_key_and_spec_give_the_same_job(world: World) -> None:
    first = world.submit(key="sft")
    assert world.submit(key="sft") == first
    with pytest.raises(Conflict, match="another spec"):
        world.submit(key="sft", nodes=3)


def test_an_outcome_that_is_learnt_by_reading_is_recorded_as_landed(world: World) -> None:
    job = world.submit()
    world.env.drop_next_reply()
    world.until(job, opened)
    settled = [event for event in world.events(job, Settled) if isinstance(event, Settled)]
    assert [event.outcome for event in settled] == [Outcome.LANDED, Outcome.LANDED]
    assert settled[0].reason == "read back"
