"""The jobs of a simulation: random ones, with random policies."""

from __future__ import annotations

from msgspec.structs import replace

from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.policy import (
    Backoff,
    Budget,
    Cessation,
    Changes,
    CrashLoop,
    ExcludeNodes,
    Limits,
    Policy,
    Raise,
    RaiseMemory,
    Raises,
    Rule,
    Trigger,
    Unmatched,
)
from dispatch.model.quantity import Duration, Size, TimeLimit
from dispatch.model.status import By, Cause
from dispatch.sim.chance import Stream

INFRASTRUCTURE = (
    Cause.PREEMPTED, Cause.NODE_LOST, Cause.LAUNCH_FAILED, Cause.EVICTED, Cause.UNKNOWN, Cause.REQUEUED,
)  # fmt: skip
PROGRAM = (Cause.NON_ZERO_EXIT, Cause.SIGNALLED, Cause.OUT_OF_MEMORY, Cause.TIMEOUT)


def random_job(draw: Stream, extras: Stream, label: str, assumed: str = "") -> Job:
    """Draw a job; ``assumed``: the wait that its policy accepts in place of proof of cessation.

    What few policies say is drawn from ``extras``, apart, so that it moves nothing of the others.
    """
    job = Job(
        command=("train",),
        name=label,
        key=label,
        cluster="c",
        nodes=draw.weighed(((1, 3.0), (2, 2.0))),
        recovery=random_policy(draw, assumed) if draw.happens(0.9) else None,
    )
    if not isinstance(job.recovery, Policy) or not extras.happens(0.3):
        return job
    return replace(
        job,
        memory=Size.parse("4G"),
        time_limit=TimeLimit.parse("30m"),
        recovery=_enriched(job.recovery, extras),
    )


def _enriched(policy: Policy, draw: Stream) -> Policy:
    """Let a policy say more: rules for one suspicion, exit code or signal, raised limits, changes, charges, restarts in place."""
    first, *rest = policy.rules
    if draw.happens(0.3):
        first = replace(first, do=Action.RESTART, or_else=Action.RESUBMIT)
    if draw.happens(0.3):
        first = replace(first, budget=draw.pick(tuple(Budget)))
    special = draw.pick(SPECIAL)
    return replace(policy, rules=(special, first, *rest))


SPECIAL: tuple[Rule, ...] = (
    Rule(
        when=(Trigger(cause=Cause.SIGNALLED, suspected=Cause.OUT_OF_MEMORY), Cause.OUT_OF_MEMORY),
        do=Action.RESUBMIT,
        limit=2,
        raise_=Raises(memory=RaiseMemory(percent=200, max=Size.parse("12G"))),
    ),
    Rule(
        when=(Cause.TIMEOUT,),
        do=Action.RESUBMIT,
        limit=2,
        raise_=Raises(time_limit=Raise(percent=150, max=TimeLimit.parse("2h"))),
    ),
    Rule(when=(Trigger(cause=Cause.NON_ZERO_EXIT, exit_code=(137,)),), do=Action.HOLD),
    Rule(when=(Trigger(cause=Cause.SIGNALLED, signal=("SEGV",)),), do=Action.FAIL),
    Rule(
        when=(Trigger(cause=Cause.CANCELLED, by=By.ADMINISTRATOR), Cause.PREEMPTED),
        do=Action.RESUBMIT,
        limit=1,
        with_=Changes(partition="other", env={"MODE": "careful"}),
    ),
)
"""Rules that stand before the others of a policy."""


def random_policy(draw: Stream, assumed: str = "") -> Policy:
    """Draw a policy."""
    rules = [_rule(draw, INFRASTRUCTURE, Action.RESUBMIT, draw.whole(1, 4))]
    if draw.happens(0.6):
        do = draw.weighed(((Action.RESUBMIT, 3.0), (Action.HOLD, 1.0), (Action.FAIL, 0.5)))
        rules.append(_rule(draw, PROGRAM, do, draw.whole(0, 3)))
    if draw.happens(0.3):
        rules.append(_rule(draw, (Cause.CANCELLED,), Action.RESUBMIT, 1))
    brake = CrashLoop(executions=2, shorter_than=Duration(seconds=60))
    return Policy(
        rules=tuple(rules),
        unmatched=draw.weighed(((Unmatched.FAIL, 3.0), (Unmatched.HOLD, 1.0))),
        limits=Limits(
            total=draw.whole(1, 6),
            infrastructure=draw.whole(1, 4) if draw.happens(0.3) else None,
            program=draw.whole(0, 2) if draw.happens(0.3) else None,
        ),
        crash_loop=brake if draw.happens(0.15) else None,
        cessation=Cessation(after=assumed)
        if assumed
        else draw.weighed(
            (
                (Cessation(), 6.0),
                (Cessation(after="90s"), 1.0),
                (Cessation(hold_after=Duration(minutes=3)), 1.0),
            )
        ),
    )


def _rule(draw: Stream, causes: tuple[Cause, ...], do: Action, limit: int) -> Rule:
    initial = Duration(seconds=draw.whole(0, 60))
    limited, windowed = draw.happens(0.8), draw.happens(0.1)
    return Rule(
        when=causes,
        do=do,
        limit=limit if limited else None,
        within=Duration(minutes=10) if limited and windowed else None,
        backoff=Backoff(initial=initial, max=Duration(minutes=2), jitter=draw.whole(0, 50)),
        exclude_nodes=ExcludeNodes(for_=Duration(minutes=10), max=1) if draw.happens(0.3) else None,
    )
