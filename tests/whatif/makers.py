"""Small makers of jobs, policies and conditions to simulate."""

from __future__ import annotations

from typing import Any

from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.policy import Backoff, Limits, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, Detail
from dispatch.whatif.conditions import Conditions, Program
from dispatch.whatif.playing import Run, play
from dispatch.whatif.simulating import plan_simulated
from dispatch.whatif.weather import Gap, Source, Spread

HOUR = 3_600_000
DAY = 24 * HOUR
AT_ONCE = Backoff(initial=Duration(), max=Duration(), jitter=0)


def span(text: str) -> Duration:
    return Duration.parse(text)


def fixed(text: str) -> Spread:
    return Spread(mean=span(text))


def rule(*when: Any, do: Action = Action.RESUBMIT, **fields: Any) -> Rule:
    values: dict[str, Any] = {"backoff": AT_ONCE, **fields}
    return Rule(when=when, do=do, **values)


def policy(*rules: Rule, **fields: Any) -> Policy:
    values: dict[str, Any] = {"limits": Limits(total=100_000), **fields}
    return Policy(rules=rules, **values)


AGAIN = policy(rule(Cause.PREEMPTED), rule(Cause.NODE_LOST), rule(Cause.NON_ZERO_EXIT))


def job(recovery: Policy | None = AGAIN, **fields: Any) -> Job:
    values: dict[str, Any] = {"nodes": 4, **fields}
    return Job(command=("train",), recovery=recovery, **values)


def every(*texts: str, cause: Cause = Cause.PREEMPTED, **fields: Any) -> Source:
    """A source that strikes after exactly these times of running, again and again."""
    return Source(cause=cause, gaps=tuple(Gap(ms=span(text).ms) for text in texts), **fields)


def once_in(text: str, cause: Cause = Cause.PREEMPTED, **fields: Any) -> Source:
    """A source that strikes at random."""
    return Source(cause=cause, mean=span(text), **fields)


def failing(text: str, code: int = 1) -> Source:
    return every(text, cause=Cause.NON_ZERO_EXIT, detail=Detail(exit_code=code))


def conditions(*sources: Source, **fields: Any) -> Conditions:
    """Conditions without costs: it saves all the time, starts at once, waits nowhere."""
    values: dict[str, Any] = {
        "program": Program(checkpoint_every=span("1s")),
        "node_timeout": Duration(),
    }
    values |= fields
    return Conditions(sources=sources, **values)


def played(
    recovery: Policy | None,
    *sources: Source,
    seed: int | None = None,
    nodes: int = 4,
    **fields: Any,
) -> Run:
    """Play a job of that policy; recorded gaps come in their order."""
    made = job(recovery, nodes=nodes)
    return play(made, plan_simulated(made), conditions(*sources, **fields), seed)


def starts(run: Run) -> list[int]:
    """When each execution started, in whole seconds."""
    return [one.started // 1000 for one in run.executions]


def causes(run: Run) -> list[str | None]:
    return [str(one.cause) if one.cause else None for one in run.executions]
