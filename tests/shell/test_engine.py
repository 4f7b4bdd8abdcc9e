"""The real engine on the memory scheduler, from submission to verdict."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dispatch.model.answers import Action
from dispatch.model.epoch import Epoch
from dispatch.model.errors import Busy, Conflict, Finished, Rejected
from dispatch.model.journal import Adopted, Awaiting, Ceased, Decided, Intended, Outcome, Proof, Settled, Verb
from dispatch.model.policy import Backoff, Cessation, Policy, Rule, Unmatched
from dispatch.model.quantity import Duration
from dispatch.model.status import By, Cause, State
from tests.shell.world import World, ended, opened, run, submission

RESUBMIT = Policy(
    rules=(
        Rule(
            when=(Cause.PREEMPTED, Cause.NODE_LOST, Cause.LAUNCH_FAILED),
            do=Action.RESUBMIT,
            limit=3,
            backoff=Backoff(initial=Duration(seconds=30), jitter=0),
        ),
    )
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


Worlds = Callable[..., World]


@pytest.fixture
def worlds(tmp_path: Path) -> Worlds:
    def make(**settings: Any) -> World:
        return World(tmp_path, **settings)

    return make


def verbs(world: World, job: str) -> list[Verb]:
    return [event.intent.verb for event in world.events(job, Intended) if isinstance(event, Intended)]


def decisions(world: World, job: str) -> list[Decided]:
    return [event for event in world.events(job, Decided) if isinstance(event, Decided)]


def test_a_job_runs_and_succeeds_with_one_start_and_one_open(world: World) -> None:
    job = world.submit(nodes=2)
    world.until(job, opened)
    assert verbs(world, job) == [Verb.START, Verb.OPEN]
    world.env.run(job)
    world.advance(job)
    assert world.explain(job).state is State.RUNNING
    world.env.finish(job)
    view = world.until(job, ended)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.SUCCEEDED, None)
    assert verbs(world, job) == [Verb.START, Verb.OPEN]


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
    (decided,) = decisions(world, job)
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
    assert verbs(world, job).count(Verb.START) == 1
    assert len(world.env.truths(job)) == 1


@pytest.mark.parametrize("late", [5, 40, 54])
def test_a_start_that_lands_late_is_adopted_or_swept_but_never_runs_twice(world: World, late: int) -> None:
    job = world.submit()
    world.env.delay_next_call(timedelta(seconds=late))
    world.until(job, opened)
    world.env.run(job)
    world.clock.advance(timedelta(minutes=5))
    world.advance(job)
    assert len(world.env.live(job)) == 1
    alive = [truth for truth in world.env.truths(job) if not truth.observation.state.ended]
    assert len(alive) == 1


def test_a_start_beyond_every_bound_leaves_an_orphan_that_is_swept_and_never_ran(world: World) -> None:
    job = world.submit()
    world.env.delay_next_call(timedelta(minutes=30))
    world.until(job, opened)
    assert len(world.env.truths(job)) == 1
    world.env.run(job)
    world.clock.advance(timedelta(minutes=40))
    world.advance(job)
    world.advance(job)
    first, orphan = world.env.truths(job)
    assert first.observation.state is State.RUNNING
    assert orphan.observation.state is State.CANCELLED
    assert world.events(job, Adopted) == []


def test_two_processes_at_once_start_one_object(world: World) -> None:
    job = world.submit()
    other = world.another("host2")
    for _ in range(6):
        world.advance(job)
        world.advance(job, process=other)
    assert verbs(world, job) == [Verb.START, Verb.OPEN]
    assert len(world.env.truths(job)) == 1


def test_a_refused_start_is_tried_again_when_it_was_for_now(world: World) -> None:
    job = world.submit()
    world.env.refuse_next(Busy("QOSMaxSubmitJobPerUserLimit"))
    world.advance(job)
    explanation = world.explain(job)
    assert explanation.cause is Cause.NO_CAPACITY
    assert "QOSMaxSubmitJobPerUserLimit" in " ".join(explanation.why)
    world.until(job, opened)
    assert decisions(world, job) == []


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
    assert [decided.action for decided in decisions(world, job)] == [Action.RESUBMIT] * 3 + [Action.FAIL]


def test_stop_is_acknowledged_only_when_it_is_certain(world: World) -> None:
    job = world.submit()
    world.until(job, opened)
    world.env.run(job)
    world.process.operator.ask_stop(job, "wrong data")
    world.advance(job)
    assert world.env.live(job) == ()
    assert world.view(job).verdict is None
    view = world.until(job, ended)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.CANCELLED, Cause.STOPPED)
    assert view.verdict.detail.who == "alice"
    with pytest.raises(Finished):
        world.process.operator.ask_hold(job)


def test_a_job_that_is_stopped_before_it_starts_never_reaches_the_scheduler(world: World) -> None:
    job = world.submit()
    world.process.operator.ask_stop(job)
    world.until(job, ended)
    assert world.env.truths(job) == ()


def test_stop_does_not_wait_for_an_open_whose_outcome_is_unknown(world: World) -> None:
    job = world.submit()
    world.turn(job)
    world.env.delay_next_call(timedelta(seconds=40))
    world.turn(job)
    assert world.view(job).intents
    world.process.operator.ask_stop(job)
    world.turn(job)
    assert Verb.STOP in verbs(world, job)
    world.until(job, ended)
    world.clock.advance(timedelta(hours=1))
    assert world.env.live(job) == ()


def test_a_hold_of_a_pending_job_keeps_it_from_running_until_its_release(world: World) -> None:
    job = world.submit()
    world.until(job, opened)
    world.process.operator.ask_hold(job, "wait for the data")
    world.advance(job)
    assert world.env.runnable() == ()
    assert world.explain(job).cause is Cause.HELD
    with pytest.raises(Conflict):
        world.process.operator.ask_hold(job)
    world.process.operator.ask_release(job)
    world.advance(job)
    assert len(world.env.runnable()) == 1


def test_a_hold_that_was_asked_for_before_the_start_survives_the_open(world: World) -> None:
    job = world.submit()
    world.process.operator.ask_hold(job)
    world.until(job, opened)
    assert world.env.runnable() == ()
    assert verbs(world, job) == [Verb.START, Verb.HOLD, Verb.OPEN]


def test_a_hold_of_a_running_job_takes_effect_before_its_next_execution(world: World) -> None:
    job = world.submit(RESUBMIT)
    world.until(job, opened)
    world.env.run(job)
    world.advance(job)
    world.process.operator.ask_hold(job)
    world.advance(job)
    assert len(world.env.live(job)) == 1
    world.env.preempt(job)
    world.until(job, submission(2))
    assert world.env.runnable() == ()


def test_a_hold_with_a_time_ends_by_itself(world: World) -> None:
    job = world.submit()
    world.process.operator.ask_hold(job, until=world.clock.now() + timedelta(hours=1))
    world.until(job, opened)
    assert world.env.runnable() == ()
    world.until(job, lambda view: view.hold is None and not view.intents)
    world.advance(job)
    assert len(world.env.runnable()) == 1


def test_a_persons_release_of_everything_opens_none_of_our_gates(world: World) -> None:
    job = world.submit()
    world.turn(job)
    world.env.person_release(job)
    assert world.env.runnable() == ()
    world.until(job, opened)
    assert len(world.env.runnable()) == 1


def test_an_administrators_hold_is_never_lifted(world: World) -> None:
    job = world.submit()
    world.until(job, opened)
    world.env.admin_hold(job)
    for _ in range(3):
        world.advance(job)
        world.clock.advance(timedelta(minutes=1))
    assert world.explain(job).cause is Cause.ADMIN_HELD
    assert world.env.runnable() == ()
    assert Verb.RELEASE not in verbs(world, job)


def test_a_cancellation_by_an_administrator_is_told_from_a_stop(worlds: Worlds) -> None:
    world = worlds(capabilities={"AccountingHistory": {"value": "yes"}})
    job = world.submit()
    world.until(job, opened)
    world.env.run(job)
    world.env.cancel(job, who="root")
    view = world.until(job, ended)
    assert view.verdict is not None
    assert (view.verdict.cause, view.verdict.detail.by) == (Cause.CANCELLED, By.ADMINISTRATOR)


def test_a_policy_may_hold_the_next_submission_for_a_person(world: World) -> None:
    job = world.submit(Policy(rules=(Rule(when=(Cause.NON_ZERO_EXIT,), do=Action.HOLD),)))
    world.until(job, opened)
    world.env.run(job)
    world.env.finish(job, 3)
    world.until(job, submission(2))
    assert world.env.runnable() == ()
    world.process.operator.ask_release(job)
    world.advance(job)
    assert len(world.env.runnable()) == 1


def test_an_unmatched_cause_can_hold_instead_of_failing(world: World) -> None:
    job = world.submit(Policy(unmatched=Unmatched.HOLD))
    world.until(job, opened)
    world.env.run(job)
    world.env.finish(job, 1)
    world.until(job, submission(2))
    assert world.explain(job).cause is Cause.HELD


@pytest.mark.parametrize("forgets", ["submission", "open", "start"])
def test_what_a_crashed_controller_forgot_is_replaced_and_charged_to_nobody(world: World, forgets: str) -> None:
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
    world.until(job, lambda view: opened(view) and (forgets == "submission" or view.current != view.objects[1]))
    world.env.run(job)
    world.env.finish(job)
    view = world.until(job, ended)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED
    assert all(decided.budget is None for decided in decisions(world, job))


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


def test_a_driver_stops_where_it_was_asked_to(world: World) -> None:
    job = world.submit()
    views = run(world.process.driver.drive([job], until="opened", timeout=timedelta(0)))  # type: ignore[arg-type]
    assert job in views
