"""Stops: acknowledged when nothing of the job can start any more, from wherever the job stands."""

from __future__ import annotations

from dispatch.conformance.core.bench import CoreBench
from dispatch.conformance.core.holding import never_ran, shows_our_hold
from dispatch.conformance.core.policies import policy, rule
from dispatch.conformance.core.suite import check
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.answers import Capability
from dispatch.model.errors import Finished
from dispatch.model.policy import Backoff
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, State
from dispatch.spi.adapter import Holder
from dispatch.testing.faults import LoseReply


async def stopped(on: CoreBench, job: str) -> None:
    """Wait for the verdict of a stop, and demand that nothing of the job is left that could run (02, S9)."""
    await on.ends_as(job, State.CANCELLED, Cause.STOPPED)
    alive = [one for one in await on.backends.objects(job) if not one.state.ended]
    expect_same(alive, [], "what is left of the job")


@check()
async def a_stop_of_what_runs_ends_the_job(on: CoreBench) -> None:
    """And nothing of it starts again, whatever its rules say (02, S9)."""
    job = await on.submit(policy(rule(Cause.CANCELLED), rule()))
    await on.running(job)
    on.ask.ask_stop(job, "enough")
    await stopped(on, job)
    verdict = on.view(job).verdict
    expect_same(verdict and verdict.detail.reason, "enough", "why it ended")
    await on.quietly(job, lambda view: max(view.objects) == 1, "it has been started again")


@check()
async def a_stop_before_the_start_makes_nothing(on: CoreBench) -> None:
    """It forbids every later start (12, E2)."""
    job = await on.submit()
    on.ask.ask_stop(job)
    await stopped(on, job)
    expect_same(on.intents(job), [], "what was asked of the scheduler")


@check()
async def a_stop_of_what_waits_in_the_queue_lets_it_never_run(on: CoreBench) -> None:
    """Whatever its gate is (12, E2)."""
    job, _ = await on.queued()
    on.ask.ask_stop(job)
    await stopped(on, job)
    await on.scheduler.make_room()
    await on.quietly(job, never_ran, "it runs after its stop")


@check(needs=Holder, claims=Capability.HOLD)
async def a_stop_of_what_is_held_ends_it(on: CoreBench) -> None:
    """Nobody needs to release it first (02, S9)."""
    job, _ = await on.queued()
    on.ask.ask_hold(job)
    await on.until(job, shows_our_hold, "held in the queue")
    on.ask.ask_stop(job)
    await stopped(on, job)


@check()
async def a_stop_while_it_backs_off_does_not_wait_for_that(on: CoreBench) -> None:
    """Nothing runs that would have to end first (12, E1)."""
    hours = Backoff(initial=Duration(hours=9), max=Duration(hours=9), jitter=0)
    job = await on.submit(policy(rule(backoff=hours)))
    await on.scheduler.finish(await on.running(job), 3)
    await on.until(job, lambda view: bool(view.decisions), "decided about")
    on.ask.ask_stop(job)
    view = await on.ends_as(job, State.CANCELLED, Cause.STOPPED)
    expect_same(sorted(view.objects), [1], "the submissions")


@check()
async def a_stop_whose_reply_is_lost_is_a_stop(on: CoreBench) -> None:
    """It is read back (02, protocol 4 and 7)."""
    job = await on.submit()
    await on.running(job)
    on.supervisor.meet("call stop, during", LoseReply())
    on.ask.ask_stop(job)
    await stopped(on, job)


@check()
async def a_success_that_came_before_the_stop_stays_one(on: CoreBench) -> None:
    """A stop is no reason to say what is not true (02, S8)."""
    job = await on.submit()
    await on.scheduler.finish(await on.running(job), 0)
    on.ask.ask_stop(job)
    await on.ends_as(job, State.SUCCEEDED)


@check()
async def a_stop_while_the_cluster_is_away_is_made_once_it_is_back(on: CoreBench) -> None:
    """It is recorded at once, and forgotten by nobody (12, E2)."""
    job = await on.submit()
    await on.running(job)
    await on.scheduler.go_away()
    on.ask.ask_stop(job)
    await on.quietly(
        job, lambda view: view.verdict is None, "it has ended, and nobody could see it"
    )
    await on.scheduler.come_back()
    await stopped(on, job)


@check()
async def nothing_more_may_be_asked_of_what_has_ended(on: CoreBench) -> None:
    """The verdict is final (02, S6)."""
    job = await on.submit()
    await on.scheduler.finish(await on.running(job), 0)
    await on.ended(job)
    for ask in (on.ask.ask_stop, on.ask.ask_hold, on.ask.ask_release):
        with refused(Finished):
            ask(job)
    expect(on.view(job).stop is None, "a stop was recorded all the same")
