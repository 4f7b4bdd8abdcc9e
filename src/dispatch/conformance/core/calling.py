"""Calls: what is refused, what is not answered, and what is never made twice."""

from __future__ import annotations

from dispatch.conformance.core.bench import CoreBench
from dispatch.conformance.core.policies import policy
from dispatch.conformance.core.suite import check
from dispatch.conformance.verdicts import expect, expect_same
from dispatch.model.journal import Intended, Settled, Verb
from dispatch.model.status import Cause, State
from dispatch.testing.faults import LoseReply


async def objects(on: CoreBench, job: str) -> int:
    """How many objects of the job there are."""
    return len(await on.backends.objects(job))


@check()
async def a_start_whose_reply_is_lost_makes_one_object(on: CoreBench) -> None:
    """The create is never repeated; it is found and adopted (02, protocol 4)."""
    job = await on.submit()
    await on.scheduler.drop_next_reply()
    await on.running(job)
    expect_same(await objects(on, job), 1, "the number of objects")


@check()
async def an_open_whose_reply_is_lost_is_read_back(on: CoreBench) -> None:
    """And is not made again, so that nothing runs twice (12, O2)."""
    on.supervisor.meet("call open, during", LoseReply())
    job = await on.submit()
    await on.running(job)
    expect_same(on.intents(job), [Verb.START, Verb.OPEN], "what was asked of the scheduler")


@check()
async def what_is_refused_for_now_is_tried_again(on: CoreBench) -> None:
    """Busy is no end, and charges nobody (02, errors; 12, B1)."""
    job = await on.submit()
    await on.scheduler.refuse_next_for_now()
    await on.scheduler.finish(await on.running(job), 0)
    view = await on.ends_as(job, State.SUCCEEDED)
    expect_same(sorted(view.objects), [1], "the submissions")
    expect_same(on.intents(job).count(Verb.START), 2, "the number of starts")


@check()
async def what_is_refused_for_good_ends_the_job(on: CoreBench) -> None:
    """Rejected, with the scheduler's words, and never tried again (02)."""
    job = await on.submit(policy(), on.harness.impossible_job())
    view = await on.ends_as(job, State.FAILED, Cause.REJECTED)
    expect(bool(view.verdict and view.verdict.detail.reason), "the scheduler's words are not told")
    expect_same(on.intents(job), [Verb.START], "what was asked of the scheduler")


@check()
async def each_call_is_intended_before_it_is_made_and_has_its_outcome(on: CoreBench) -> None:
    """The intent is the lock, and whoever reads the record knows what is under way (04; 02, S2)."""
    job = await on.submit()
    await on.scheduler.finish(await on.running(job), 0)
    await on.ended(job)
    events = on.events(job)
    intended = [event.intent.id for event in events if isinstance(event, Intended)]
    settled = [event.intent for event in events if isinstance(event, Settled)]
    expect_same(on.intents(job), [Verb.START, Verb.OPEN], "what was asked of the scheduler")
    expect_same(settled, intended, "the outcomes")
