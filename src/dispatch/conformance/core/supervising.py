"""Several supervisors, and dead ones: at most one copy of a job ever runs, and none is lost."""

from __future__ import annotations

from dispatch.conformance.core.bench import CoreBench
from dispatch.conformance.core.calling import objects
from dispatch.conformance.core.policies import policy
from dispatch.conformance.core.process import EveryClaim
from dispatch.conformance.core.suite import check
from dispatch.conformance.verdicts import CannotDo, expect, expect_same
from dispatch.model.journal import Verb
from dispatch.model.status import State
from dispatch.testing.faults import Die, LoseReply


@check()
async def two_supervisors_beside_each_other_make_one_object_at_a_time(on: CoreBench) -> None:
    """The intent is the lock: losing a claim costs a second look, never a second object (04)."""
    await on.another("host2", EveryClaim)
    jobs = [await on.submit(policy()) for _ in range(4)]
    for job in jobs:
        await on.scheduler.finish(await on.running(job), 3)
    for job in jobs:
        await on.scheduler.finish(await on.running(job, 2), 0)
        await on.ends_as(job, State.SUCCEEDED)
        expect_same(on.intents(job), [Verb.START, Verb.OPEN] * 2, "what was asked of the scheduler")


@check()
async def a_supervisor_that_dies_at_a_start_is_followed_by_another(on: CoreBench) -> None:
    """Between any two lines of it; what it has made is adopted, and not made again (04)."""
    await _die_at(on, "start")


@check()
async def a_supervisor_that_dies_at_an_open_is_followed_by_another(on: CoreBench) -> None:
    """Whether it landed or not, the job runs once (04; 12, O2)."""
    await _die_at(on, "open")


async def _die_at(on: CoreBench, verb: str) -> None:
    on.supervisor.kill()
    for moment in ("before", "during", "after"):
        dying = await on.another(f"the host that dies {moment}")
        dying.meet(f"call {verb}, {moment}", Die())
        job = await on.submit()
        await on.has_died(dying)
        heir = await on.another(f"the host after {moment}")
        await on.scheduler.finish(await on.running(job), 0)
        await on.ends_as(job, State.SUCCEEDED)
        expect_same(await objects(on, job), 1, f"the number of objects ({moment} the {verb})")
        heir.kill()


@check()
async def a_stop_that_a_dead_supervisor_began_is_ended_by_another(on: CoreBench) -> None:
    """A request is an event of the record, carried out by whoever runs (12, B7)."""
    job = await on.submit()
    await on.running(job)
    on.supervisor.meet("call stop, before", Die())
    on.ask.ask_stop(job)
    await on.has_died(on.supervisor)
    expect_same(on.view(job).verdict, None, "the verdict before the stop was made")
    await on.another("host2")
    view = await on.ended(job)
    expect_same(view.verdict and view.verdict.state, State.CANCELLED, "the state")


@check()
async def at_most_one_execution_lives_at_any_moment(on: CoreBench) -> None:
    """By the ground truth, with lost replies and a death between two supervisors (02, S1)."""
    if on.harness.overlaps("") is None:
        raise CannotDo("the harness knows no ground truth")
    for verb in ("start", "start many", "open", "open many"):
        on.supervisor.meet(f"call {verb}, during", LoseReply())
    on.supervisor.meet("call stop, after", Die())
    await on.another("host2", EveryClaim)
    jobs = [await on.submit(policy()) for _ in range(3)]
    for submission in (1, 2):
        for job in jobs:
            await on.scheduler.finish(await on.running(job, submission), 3)
    for job in jobs:
        await on.running(job, 3)
        on.ask.ask_stop(job)
    for job in jobs:
        view = await on.ended(job)
        expect(not on.harness.overlaps(job), f"{len(view.objects)} executions have overlapped")
