"""Recovery is data: what a policy says is done, never sooner, never more often, and never on what it rules out."""

from __future__ import annotations

from datetime import datetime, timedelta

from dispatch.conformance.core.bench import CoreBench, last_that_ran
from dispatch.conformance.core.policies import FAILED, policy, rule
from dispatch.conformance.core.suite import check
from dispatch.conformance.verdicts import CannotDo, expect, expect_same
from dispatch.model.answers import Action, Capability
from dispatch.model.journal import Intended, Verb
from dispatch.model.policy import (
    Backoff,
    CrashLoop,
    ExcludeNodes,
    Limits,
    Raise,
    RaiseMemory,
    Raises,
    Which,
)
from dispatch.model.quantity import Duration, Size, TimeLimit
from dispatch.model.status import Cause, State
from dispatch.spi.adapter import Holder


@check()
async def a_failure_that_a_rule_matches_is_tried_again(on: CoreBench) -> None:
    """As the next submission, whose epoch is higher (01, promise 5; 02, S5)."""
    job = await on.submit(policy())
    await on.scheduler.finish(await on.running(job), 3)
    await on.scheduler.finish(await on.running(job, 2), 0)
    view = await on.ends_as(job, State.SUCCEEDED)
    expect_same(sorted(view.objects), [1, 2], "the submissions")


@check()
async def a_preempted_execution_is_tried_again(on: CoreBench) -> None:
    """By its own rule, where the scheduler does not run it again by itself (01, promise 5)."""
    job = await on.submit(policy(rule(Cause.PREEMPTED)))
    await on.preempt(await on.running(job))
    await on.running(job, 2)


@check()
async def a_launch_that_failed_is_tried_again(on: CoreBench) -> None:
    """No program of it has run, and the infrastructure is charged (02)."""
    job, made = await on.queued(policy(rule(Cause.LAUNCH_FAILED)))
    await on.scheduler.make_room()
    await on.scheduler.fail_launch(made)
    await on.running(job, 2)


@check()
async def after_a_kill_for_memory_a_rule_gives_more(on: CoreBench) -> None:
    """Raised to a share of what it was, up to a maximum (02)."""
    more = Raises(memory=RaiseMemory(percent=150, max=Size.parse("1G")))
    job = await on.submit(policy(rule(Cause.OUT_OF_MEMORY, raise_=more)), memory=Size.parse("100M"))
    await on.scheduler.out_of_memory(await on.running(job))
    await on.running(job, 2)
    changes = on.view(job).decisions[-1][1].changes
    expect_same(changes and changes.memory, Size.parse("150M"), "the memory of the next execution")


@check()
async def after_the_time_limit_a_rule_gives_longer(on: CoreBench) -> None:
    """Raised as the memory is (02)."""
    longer = Raises(time_limit=Raise(percent=200, max=TimeLimit(hours=10)))
    job = await on.submit(
        policy(rule(Cause.TIMEOUT, raise_=longer)), time_limit=TimeLimit(minutes=10)
    )
    await on.scheduler.time_out(await on.running(job))
    await on.running(job, 2)
    changes = on.view(job).decisions[-1][1].changes
    expect_same(changes and changes.time_limit, TimeLimit(minutes=20), "the next time limit")


@check()
async def the_limit_of_a_rule_is_never_exceeded(on: CoreBench) -> None:
    """It counts what is tried again (02, S4)."""
    job = await on.submit(policy(rule(limit=1)))
    await on.scheduler.finish(await on.running(job), 3)
    await on.scheduler.finish(await on.running(job, 2), 3)
    view = await on.ends_as(job, State.FAILED, FAILED)
    expect_same(sorted(view.objects), [1, 2], "the submissions")


@check()
async def the_budget_of_the_whole_job_is_never_exceeded(on: CoreBench) -> None:
    """Whatever its rules allow (02, S4)."""
    job = await on.submit(policy(limits=Limits(total=1)))
    await on.scheduler.finish(await on.running(job), 3)
    await on.scheduler.finish(await on.running(job, 2), 3)
    view = await on.ends_as(job, State.FAILED, FAILED)
    expect_same(sorted(view.objects), [1, 2], "the submissions")


@check()
async def the_program_and_the_infrastructure_have_budgets_of_their_own(on: CoreBench) -> None:
    """A failure of the program is not paid for by the infrastructure, or the other way round (02)."""
    job = await on.submit(policy(limits=Limits(program=1, infrastructure=0)))
    await on.scheduler.finish(await on.running(job), 3)
    await on.scheduler.finish(await on.running(job, 2), 3)
    view = await on.ends_as(job, State.FAILED, FAILED)
    expect_same(sorted(view.objects), [1, 2], "the submissions")


@check()
async def a_limit_within_a_window_is_free_again_once_that_has_passed(on: CoreBench) -> None:
    """The window slides (02)."""
    window = Duration.of_ms(int(on.a_while.total_seconds() * 1000))
    job = await on.submit(policy(rule(limit=1, within=window)))
    await on.scheduler.finish(await on.running(job), 3)
    second = await on.running(job, 2)
    await on.passing(window)
    await on.scheduler.finish(second, 3)
    await on.scheduler.finish(await on.running(job, 3), 3)
    await on.ends_as(job, State.FAILED, FAILED)


@check()
async def no_execution_starts_before_its_backoff_is_over(on: CoreBench) -> None:
    """And the backoff doubles with each use (02, S4; 12, B1)."""
    first = timedelta(seconds=30)
    wait = Backoff(initial=Duration(seconds=30), max=Duration(minutes=10), jitter=0)
    job = await on.submit(policy(rule(backoff=wait)))
    for submission, shortest in ((1, first), (2, 2 * first)):
        made = await on.running(job, submission)
        failed_at = on.harness.now()
        await on.scheduler.finish(made, 3)
        await on.running(job, submission + 1)
        waited = _start_of(on, job, submission + 1) - failed_at
        expect(waited >= shortest, f"submission {submission + 1} was started after {waited}")


def _start_of(on: CoreBench, job: str, submission: int) -> datetime:
    return next(
        entry.at
        for entry in on.person.ledger.history(job)
        if isinstance(entry.event, Intended)
        and (entry.event.intent.verb, entry.event.intent.submission) == (Verb.START, submission)
    )


@check()
async def nodes_that_a_rule_excludes_are_not_used_again(on: CoreBench) -> None:
    """A bad node does not fail the same job twice (01, promise 5)."""
    job = await on.submit(policy(rule(exclude_nodes=ExcludeNodes(which=Which.ALL))))
    made = await on.running(job)
    bad = (await on.backends.see(made)).nodes
    if not bad:
        raise CannotDo("the adapter does not tell the nodes of what runs")
    await on.scheduler.finish(made, 3)
    good = (await on.backends.see(await on.running(job, 2))).nodes
    expect(not set(bad) & set(good), f"it runs on {', '.join(good)} after {', '.join(bad)}")


@check(needs=Holder, claims=Capability.HOLD)
async def executions_that_are_all_too_short_are_braked(on: CoreBench) -> None:
    """A crash loop is held for a person, whatever its budgets (02)."""
    brake = CrashLoop(executions=2, shorter_than=Duration(hours=1))
    job = await on.submit(policy(crash_loop=brake))
    await on.scheduler.finish(await on.running(job), 3)
    await on.scheduler.finish(await on.running(job, 2), 3)
    view = await on.held(job)
    expect_same(last_that_ran(view), 2, "the last submission that ran")


@check(needs=Holder, claims=Capability.HOLD)
async def a_rule_that_holds_waits_for_a_person(on: CoreBench) -> None:
    """His release runs it again (02)."""
    job = await on.submit(policy(rule(do=Action.HOLD, backoff=None)))
    await on.scheduler.finish(await on.running(job), 3)
    await on.held(job)
    on.ask.ask_release(job)
    await on.running(job, 2)
