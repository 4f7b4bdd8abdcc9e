"""Ends: each accepted job reaches one, with its cause, and it is written once."""

from __future__ import annotations

from dispatch.conformance.core.bench import CoreBench
from dispatch.conformance.core.policies import policy, rule
from dispatch.conformance.core.suite import check
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.answers import Action, Capability
from dispatch.model.errors import Conflict
from dispatch.model.journal import Ended
from dispatch.model.policy import Trigger, Unmatched
from dispatch.model.status import Cause, State


@check()
async def an_accepted_job_runs_and_its_end_is_its_verdict(on: CoreBench) -> None:
    """Every accepted job reaches an end (01, promise 2)."""
    job = await on.submit()
    await on.scheduler.finish(await on.running(job), 0)
    view = await on.ends_as(job, State.SUCCEEDED)
    expect(bool(view.verdict and view.verdict.evidence), "there is no evidence for it")


@check()
async def a_failure_that_no_rule_matches_ends_the_job_with_its_cause(on: CoreBench) -> None:
    """An outcome is never collapsed into failed (01, promise 3)."""
    job = await on.submit(policy(rule(Cause.PREEMPTED)))
    await on.scheduler.finish(await on.running(job), 3)
    view = await on.ends_as(job, State.FAILED, Cause.NON_ZERO_EXIT)
    expect_same(view.verdict and view.verdict.detail.exit_code, 3, "the exit code")


@check(claims=Capability.HOLD)
async def a_failure_that_no_rule_matches_is_held_where_the_policy_says_so(on: CoreBench) -> None:
    """``unmatched: hold`` keeps the job for a person, whose release runs it again (02)."""
    job = await on.submit(policy(rule(Cause.PREEMPTED), unmatched=Unmatched.HOLD))
    await on.scheduler.finish(await on.running(job), 3)
    await on.held(job)
    on.ask.ask_release(job)
    await on.running(job, 2)


@check()
async def the_first_rule_that_matches_decides(on: CoreBench) -> None:
    """Rules are tried in their order, and a trigger that names a code matches that code alone (02)."""
    this_code = rule(
        Trigger(cause=Cause.NON_ZERO_EXIT, exit_code=(3,)), do=Action.FAIL, backoff=None
    )
    job = await on.submit(policy(this_code, rule()))
    await on.scheduler.finish(await on.running(job), 4)
    await on.scheduler.finish(await on.running(job, 2), 3)
    view = await on.ends_as(job, State.FAILED, Cause.NON_ZERO_EXIT)
    expect_same(sorted(view.objects), [1, 2], "the submissions")


@check()
async def a_final_verdict_is_written_once_and_nothing_follows_it(on: CoreBench) -> None:
    """It never changes (02, S6)."""
    job = await on.submit()
    await on.scheduler.finish(await on.running(job), 3)
    await on.ended(job)
    length = len(on.events(job))
    await on.passing(on.harness.timings.quiet)
    events = on.events(job)
    expect_same(len(events), length, "the length of the record, a while after its end,")
    expect_same(sum(isinstance(event, Ended) for event in events), 1, "the number of ends")


@check()
async def the_same_key_and_spec_give_the_same_job_and_another_spec_is_a_conflict(
    on: CoreBench,
) -> None:
    """A submission whose reply was lost is simply made again (02, protocol 9)."""
    spec = on.harness.job()
    first = await on.submit(job=spec, key="nightly")
    again = await on.submit(job=spec, key="nightly")
    expect_same(again, first, "the job of the same key")
    with refused(Conflict):
        await on.submit(job=spec, key="nightly", command=("another",))


@check()
async def what_an_administrator_cancels_is_no_stop_of_ours(on: CoreBench) -> None:
    """Who ended it belongs to the cause, and nobody had asked dispatch for it (01, promise 3)."""
    job = await on.submit()
    await on.scheduler.cancel_as_administrator(await on.running(job))
    view = await on.ended(job)
    expect(
        view.verdict is not None and view.verdict.cause in (Cause.CANCELLED, Cause.UNKNOWN),
        f"the cause is {view.verdict and view.verdict.cause}",
    )
