"""What is lost, or out of sight: absence is no end, and a second copy needs proof that the first is gone."""

from __future__ import annotations

from dispatch.conformance.core.bench import CoreBench
from dispatch.conformance.core.policies import policy, rule
from dispatch.conformance.core.suite import check
from dispatch.conformance.verdicts import CannotDo, expect, expect_same
from dispatch.model.answers import Capability
from dispatch.model.journal import Ceased, Proof
from dispatch.model.policy import Cessation
from dispatch.model.status import Cause, State
from dispatch.model.view import JobView

LOST = (Cause.NODE_LOST, Cause.UNKNOWN)


def going_on(view: JobView) -> bool:
    """Whether the newest execution runs, and nothing is said to be wrong with it."""
    seen = view.current and view.current.seen
    return bool(seen and seen.state is State.RUNNING and seen.cause is None)


async def lost(on: CoreBench, job: str, node: str) -> None:
    """Wait until the records tell of the node."""

    def told(view: JobView) -> bool:
        seen = view.objects[1].seen
        return bool(seen and (seen.cause in LOST or seen.state.ended) and node)

    await on.until(job, told, f"told to have lost {node}")


@check(claims=Capability.CESSATION)
async def a_lost_node_keeps_the_job_waiting_for_proof(on: CoreBench) -> None:
    """Its processes may live: no second copy without proof (02, S1; 12, E4)."""
    job = await on.submit(policy(rule(*LOST)))
    node = await on.scheduler.lose_node(await on.running(job))
    await lost(on, job, node)
    await on.quietly(job, lambda view: sorted(view.objects) == [1], "there is a second copy")
    expect_same(on.view(job).verdict, None, "the verdict")


@check(claims=Capability.CESSATION)
async def a_job_goes_on_once_its_lost_node_answers_again(on: CoreBench) -> None:
    """With what runs there still, or with the next submission once that is proven gone (12, E4)."""
    job = await on.submit(policy(rule(*LOST)))
    node = await on.scheduler.lose_node(await on.running(job))
    await lost(on, job, node)
    await on.passing(on.harness.timings.quiet)
    await on.scheduler.return_node(node)
    view = await on.until(job, going_on, "running again")
    await on.scheduler.finish(on.made(job, max(view.objects)), 0)
    await on.ends_as(job, State.SUCCEEDED)


@check()
async def a_wait_that_the_policy_declares_stands_for_the_proof(on: CoreBench) -> None:
    """And the record says that it was assumed (12, E4)."""
    wait = on.a_while
    cessation = Cessation(after=f"{int(wait.total_seconds())}s")
    job = await on.submit(policy(rule(*LOST), cessation=cessation))
    node = await on.scheduler.lose_node(await on.running(job))
    await lost(on, job, node)
    seen = on.view(job).objects[1].seen
    if seen is None or not seen.state.ended:
        raise CannotDo("here nothing ends by the loss of its node")
    on.may_overlap = True
    await on.passing(wait / 2)
    expect_same(sorted(on.view(job).objects), [1], "the submissions within the wait")
    await on.running(job, 2)
    proofs = [event.proof for event in on.events(job) if isinstance(event, Ceased)]
    expect_same(proofs, [Proof.ASSUMED_GONE], "what stands for the proof")


@check(claims=Capability.CESSATION)
async def a_success_on_a_lost_node_is_learnt_and_not_run_again(on: CoreBench) -> None:
    """A job that succeeded while nobody looked must not run again (12, E6)."""
    job = await on.submit(policy(rule(*LOST)))
    made = await on.running(job)
    node = await on.scheduler.lose_node(made)
    await lost(on, job, node)
    if (seen := on.view(job).objects[1].seen) and seen.state.ended:
        await on.until(job, lambda view: bool(view.decisions), "given up")
    await on.scheduler.finish(made, 0)
    # Before the node returns, which would end what it should not run.
    await on.passing(on.harness.timings.quiet)
    await on.scheduler.return_node(node)
    view = await on.ends_as(job, State.SUCCEEDED)
    expect_same(sorted(view.objects), [1], "the submissions")


@check()
async def a_cluster_that_is_away_ends_nothing(on: CoreBench) -> None:
    """Unavailable says nothing about the job (02, errors)."""
    job = await on.submit(policy(rule(*LOST)))
    made = await on.running(job)
    await on.scheduler.go_away()
    await on.passing(on.harness.timings.wait)
    await on.quietly(job, lambda view: not (view.verdict or view.decisions), "it was judged unseen")
    await on.scheduler.come_back()
    await on.scheduler.finish(made, 0)
    view = await on.ends_as(job, State.SUCCEEDED)
    expect_same(sorted(view.objects), [1], "the submissions")


@check()
async def a_controller_that_restarts_changes_nothing(on: CoreBench) -> None:
    """A new boot alone is no evidence of anything (12, R2)."""
    job = await on.submit(policy())
    made = await on.running(job)
    await on.scheduler.restart_controller()
    await on.quietly(job, lambda view: not view.decisions, "it was judged")
    await on.scheduler.finish(made, 0)
    view = await on.ends_as(job, State.SUCCEEDED)
    expect_same(sorted(view.objects), [1], "the submissions")


@check()
async def an_end_that_nobody_saw_is_learnt_later(on: CoreBench) -> None:
    """Whoever comes back reads before it writes (04)."""
    job = await on.submit(policy())
    made = await on.running(job)
    on.supervisor.kill()
    await on.scheduler.finish(made, 0)
    await on.passing(on.harness.timings.quiet)
    await on.another("host2")
    view = await on.ends_as(job, State.SUCCEEDED)
    expect(sorted(view.objects) == [1], "it has run again")
