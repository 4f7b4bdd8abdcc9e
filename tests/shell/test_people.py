"""What people ask for: stops, holds and releases, through dispatch and behind its back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from dispatch.model.answers import Action
from dispatch.model.errors import Conflict, Finished
from dispatch.model.journal import Verb
from dispatch.model.policy import Policy, Rule, Unmatched
from dispatch.model.status import By, Cause, State
from shell.world import RESUBMIT, World, ended, opened, submission


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
    assert Verb.STOP in world.verbs(job)
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
        world.process.operator.ask_hold(job, "another reason")
    version = world.view(job).version
    assert world.process.operator.ask_hold(job, "wait for the data").version == version
    world.process.operator.ask_release(job)
    world.advance(job)
    assert len(world.env.runnable()) == 1


def test_a_hold_that_was_asked_for_before_the_start_survives_the_open(world: World) -> None:
    job = world.submit()
    world.process.operator.ask_hold(job)
    world.until(job, opened)
    assert world.env.runnable() == ()
    assert world.verbs(job) == [Verb.START, Verb.HOLD, Verb.OPEN]


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
    assert Verb.RELEASE not in world.verbs(job)


def test_a_cancellation_by_an_administrator_is_told_from_a_stop(
    worlds: Callable[..., World],
) -> None:
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
