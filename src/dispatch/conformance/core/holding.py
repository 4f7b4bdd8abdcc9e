"""Holds: no further execution before the release, and nobody's hold but ours is lifted."""

from __future__ import annotations

from datetime import timedelta

from dispatch.conformance.core.bench import CoreBench, last_that_ran
from dispatch.conformance.core.policies import policy, rule
from dispatch.conformance.core.suite import check
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.answers import Action, Capability, Tristate
from dispatch.model.errors import Conflict, Refused
from dispatch.model.status import Cause, State
from dispatch.model.view import JobView
from dispatch.spi.adapter import Holder


def never_ran(view: JobView) -> bool:
    """Whether no execution of the job was ever seen."""
    return last_that_ran(view) == 0


@check(needs=Holder, claims=Capability.HOLD)
async def a_job_that_is_held_before_it_starts_runs_after_its_release_alone(on: CoreBench) -> None:
    """Requests are carried out in their order (12, B7)."""
    job = await on.submit()
    on.ask.ask_hold(job)
    await on.quietly(job, never_ran, "it runs while it is held")
    on.ask.ask_release(job)
    await on.running(job)


@check(needs=Holder, claims=Capability.HOLD)
async def a_job_that_is_held_in_the_queue_runs_after_its_release_alone(on: CoreBench) -> None:
    """The hold is placed on what is open already (02, protocol 5)."""
    job, _ = await on.queued()
    on.ask.ask_hold(job)
    await on.until(job, shows_our_hold, "held in the queue")
    await on.scheduler.make_room()
    await on.quietly(job, never_ran, "it runs while it is held")
    on.ask.ask_release(job)
    await on.running(job)


def shows_our_hold(view: JobView) -> bool:
    """Whether the scheduler shows our hold on the first object."""
    seen = view.objects[1].seen
    return bool(seen and seen.hold and seen.hold.instance is not None)


@check(needs=Holder, claims=Capability.HOLD)
async def a_hold_lets_what_runs_end_and_keeps_the_next_from_starting(on: CoreBench) -> None:
    """On a running object it means no further execution (12, B6)."""
    job = await on.submit(policy())
    made = await on.running(job)
    on.ask.ask_hold(job)
    await on.passing(on.harness.timings.poll)
    expect_same((await on.backends.see(made)).state, State.RUNNING, "the state of what ran")
    await on.scheduler.finish(made, 3)
    await on.until(job, lambda view: bool(view.decisions), "decided about")
    await on.quietly(
        job, lambda view: last_that_ran(view) == 1, "the next execution runs while it is held"
    )
    on.ask.ask_release(job)
    await on.running(job, 2)


@check(needs=Holder, claims=Capability.HOLD)
async def a_hold_with_a_time_ends_by_itself(on: CoreBench) -> None:
    """Not before (02, protocol 5)."""
    job = await on.submit()
    until = on.harness.now() + on.harness.timings.quiet + on.harness.timings.wait / 4
    on.ask.ask_hold(job, until=until)
    await on.quietly(job, never_ran, "it runs while it is held")
    made = await on.running(job)
    started = (await on.backends.see(made)).started
    # Schedulers cut their times to the second.
    early = started is not None and started + timedelta(seconds=1) <= until
    expect(not early, f"it ran at {started}, and was held until {until}")


@check()
async def a_request_that_contradicts_another_is_a_conflict(on: CoreBench) -> None:
    """The same hold again is the first; another one, and a release of none, are refused (02, protocol 5)."""
    job = await on.submit()
    with refused(Conflict):
        on.ask.ask_release(job)
    first = on.ask.ask_hold(job, "look at the data").version
    expect_same(on.ask.ask_hold(job, "look at the data").version, first, "the record's version")
    with refused(Conflict):
        on.ask.ask_hold(job, "something else")


@check(needs=Holder, claims=Capability.HOLD)
async def an_administrators_hold_is_lifted_by_nobody_else(on: CoreBench) -> None:
    """Neither by our release nor by our open (02, S3)."""
    job, made = await on.queued()
    await on.scheduler.hold_as_administrator(made)
    on.ask.ask_hold(job)
    await on.until(job, shows_our_hold, "held by us too")
    on.ask.ask_release(job)
    await on.scheduler.make_room()
    await on.quietly(job, never_ran, "it runs though an administrator holds it")
    expect_same(sorted(on.view(job).objects), [1], "the submissions")
    expect_same((await on.backends.see(made)).cause, Cause.ADMIN_HELD, "what it waits for")


@check()
async def a_policy_that_the_cluster_cannot_carry_out_is_refused_with_its_reason(
    on: CoreBench,
) -> None:
    """Where holds are not proven, a rule that holds is refused when the job is submitted (02)."""
    await on.move_the_person_to_a_cluster_without(Capability.HOLD, Tristate.NO)
    with refused(Refused, naming="old"):
        await on.submit(policy(rule(do=Action.HOLD, backoff=None)))
    await on.submit(policy())
