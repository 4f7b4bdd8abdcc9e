"""The rules of the protocol, through the real operator and engine on the harness's backend."""

from __future__ import annotations

from dispatch.conformance.checks import Suite
from dispatch.conformance.core.bench import CoreBench, retrying
from dispatch.conformance.scheduler import Made
from dispatch.conformance.verdicts import CannotDo, expect, expect_same, refused
from dispatch.model.errors import Conflict, Finished
from dispatch.model.status import Cause, State

CORE: Suite[CoreBench] = Suite("core")
check = CORE.check


async def preempt(on: CoreBench, made: Made) -> None:
    """Let the scheduler end it by a preemption; one that runs it again by itself leaves the policy nothing to do."""
    await on.scheduler.preempt(made)
    if (await on.backends.see(made)).state is State.PENDING:
        raise CannotDo("the scheduler itself runs again what it has preempted")


@check()
async def an_accepted_job_runs_and_its_end_is_its_verdict(on: CoreBench) -> None:
    """Every accepted job reaches an end (01, promise 2)."""
    job = await on.submit()
    await on.scheduler.finish(await on.running(job), 0)
    verdict = (await on.ended(job)).verdict
    expect_same(verdict and verdict.state, State.SUCCEEDED, "the verdict")


@check()
async def a_failure_that_no_rule_matches_ends_the_job_with_its_cause(on: CoreBench) -> None:
    """An outcome is never collapsed into failed (01, promise 3)."""
    job = await on.submit()
    await on.scheduler.finish(await on.running(job), 3)
    verdict = (await on.ended(job)).verdict
    expect_same(verdict and verdict.cause, Cause.NON_ZERO_EXIT, "the cause")


@check()
async def the_same_key_and_spec_give_the_same_job_and_another_spec_is_a_conflict(
    on: CoreBench,
) -> None:
    """A submission whose reply was lost is simply made again (02, protocol 9)."""
    command = on.harness.job().command
    first = await on.submit(key="nightly", command=command)
    again = await on.submit(key="nightly", command=command)
    expect_same(again, first, "the job of the same key")
    with refused(Conflict):
        await on.submit(key="nightly", command=("another",))


@check()
async def a_preempted_execution_is_tried_again_with_a_higher_epoch(on: CoreBench) -> None:
    """Recovery is data, and epochs rise (01, promise 5; 02, S5)."""
    job = await on.submit(retrying(2))
    await preempt(on, await on.running(job))
    second = await on.running(job, 2)
    await on.scheduler.finish(second, 0)
    view = await on.ended(job)
    expect_same(sorted(view.objects), [1, 2], "the submissions")
    expect_same(view.verdict and view.verdict.state, State.SUCCEEDED, "the verdict")


@check()
async def a_budget_is_never_exceeded(on: CoreBench) -> None:
    """The limit counts what is tried again (02, S4)."""
    job = await on.submit(retrying(1))
    await preempt(on, await on.running(job))
    await preempt(on, await on.running(job, 2))
    view = await on.ended(job)
    expect_same(sorted(view.objects), [1, 2], "the submissions")
    expect_same(view.verdict and view.verdict.cause, Cause.PREEMPTED, "the cause")


@check()
async def a_stop_ends_the_job_and_nothing_of_it_starts_again(on: CoreBench) -> None:
    """After an acknowledged stop nothing starts (02, S9), and nobody may ask anything more of the job."""
    job = await on.submit(retrying(5))
    await on.running(job)
    on.process.operator.ask_stop(job)
    view = await on.ended(job)
    expect_same(view.verdict and view.verdict.cause, Cause.STOPPED, "the cause")
    with refused(Finished):
        on.process.operator.ask_hold(job)
    alive = [one for one in await on.backends.objects(job) if not one.state.ended]
    expect_same(alive, [], "what is left of the job")


@check()
async def a_job_that_is_held_at_once_runs_after_its_release_alone(on: CoreBench) -> None:
    """Requests are carried out in their order (12, B7)."""
    job = await on.submit()
    on.process.operator.ask_hold(job)
    for _ in range(5):
        await on.advance(job)
    seen = await on.backends.objects(job)
    expect(all(one.state is State.PENDING for one in seen), "it runs while it is held")
    on.process.operator.ask_release(job)
    await on.running(job)


@check()
async def a_start_whose_reply_is_lost_makes_one_object(on: CoreBench) -> None:
    """The create is never repeated; it is found and adopted (02, protocol 4)."""
    job = await on.submit()
    await on.scheduler.drop_next_reply()
    await on.running(job)
    expect_same(len(await on.backends.objects(job)), 1, "the number of objects")


@check()
async def two_processes_that_supervise_one_job_make_one_object(on: CoreBench) -> None:
    """The intent is the lock (04)."""
    job = await on.submit()
    other = await on.another("host2")
    await on.until(job, lambda view: bool(view.objects.get(1)), "started", other)
    await on.running(job)
    expect_same(len(await on.backends.objects(job)), 1, "the number of objects")


@check()
async def a_lost_node_keeps_the_job_waiting_for_proof(on: CoreBench) -> None:
    """Its processes may live: no second copy without proof (02, S1; 12, E4)."""
    job = await on.submit(retrying(1))
    made = await on.running(job)
    await on.scheduler.lose_node(made)
    for _ in range(20):
        await on.advance(job)
    view = on.view(job)
    expect_same(sorted(view.objects), [1], "the submissions")


@check()
async def a_cluster_that_is_away_ends_nothing(on: CoreBench) -> None:
    """Unavailable says nothing about the job (02, errors)."""
    job = await on.submit()
    made = await on.running(job)
    await on.scheduler.go_away()
    for _ in range(5):
        await on.advance(job)
    expect_same(on.view(job).verdict, None, "the verdict while nobody can see the cluster")
    await on.scheduler.come_back()
    await on.scheduler.finish(made, 0)
    verdict = (await on.ended(job)).verdict
    expect_same(verdict and verdict.state, State.SUCCEEDED, "the verdict")
