"""Simulate one policy and report on it: its runs, what they come to, and how often it should save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from dispatch.model.codec import to_builtins
from dispatch.model.job import Job
from dispatch.model.quantity import Duration
from dispatch.whatif.advice import Advice, advise
from dispatch.whatif.conditions import Conditions
from dispatch.whatif.measures import Summary, figure, summarize
from dispatch.whatif.playing import Run
from dispatch.whatif.simulating import Progress, simulate, tallies
from dispatch.whatif.tally import Tally

MOST_ADVISED = 10
"""Seeds that are played again with the advised interval; the same ones are compared."""


class Advised(NamedTuple):
    """The advice, and the mean ratio of the same seeds with the interval as it is and with Daly's."""

    advice: Advice
    ratio_now: float
    ratio_daly: float


class Report(NamedTuple):
    """All that is known of one simulated policy."""

    name: str
    job: Job
    conditions: Conditions
    summary: Summary
    tallies: tuple[Tally, ...]
    advised: Advised | None


def report(
    name: str,
    job: Job,
    conditions: Conditions,
    seeds: Sequence[int | None],
    *,
    processes: int = 1,
    on_progress: Progress | None = None,
) -> Report:
    """Simulate the job over these seeds, and sum it up. Raises ``Refused`` where the job has no plan."""
    found = tallies(job, conditions, seeds, processes=processes, on_progress=on_progress)
    advised = _advised(job, conditions, found, processes)
    return Report(name, job, conditions, summarize(job, found), tuple(found), advised)


def _advised(
    job: Job, conditions: Conditions, found: Sequence[Tally], processes: int
) -> Advised | None:
    advice = advise(conditions, job)
    if advice is None:
        return None
    some = found[:MOST_ADVISED]
    program = replace(conditions.program, checkpoint_every=Duration.of_ms(advice.daly))
    other = replace(conditions, program=program)
    again = tallies(job, other, [one.seed for one in some], processes=processes)
    now, then = (figure(one.ratio for one in played).mean for played in (some, again))
    return Advised(advice, now, then)


def typical(one: Report) -> list[Run]:
    """Play a bad run, the middle one and a good one again, to look at each; fewer where there are fewer."""
    ordered = sorted(one.tallies, key=lambda tallied: tallied.ratio)
    last = len(ordered) - 1
    places = dict.fromkeys(round(last * share) for share in (0.1, 0.5, 0.9))
    return simulate(one.job, one.conditions, [ordered[place].seed for place in places])


def document(one: Report) -> dict[str, Any]:
    """Write a report as plain data, without the runs: shares from 0 to 1, hours, node-hours, days since submission."""
    summary = one.summary
    return {
        "name": one.name,
        "job": {"name": one.job.name, "nodes": one.job.nodes},
        "conditions": _conditions(one.conditions),
        "seeds": summary.seeds,
        "effectiveTrainingTimeRatio": summary.ettr._asdict(),
        "executions": summary.executions._asdict(),
        "hours": summary.hours,
        "nodeHours": summary.node_hours,
        "causes": [
            {
                "cause": row.cause,
                "executions": row.executions,
                "lostNodeHours": row.lost,
                "hungNodeHours": row.hung,
                "restartNodeHours": row.restart,
                "waitedHours": row.waited,
            }
            for row in summary.causes
        ],
        "rules": [
            {
                "rule": row.rule,
                "causes": list(row.causes),
                "action": row.action,
                "limit": row.limit or None,
                "uses": row.uses._asdict(),
                "usedUpInSeeds": row.used_up,
                "usedUpOnDay": row.day._asdict() if row.day else None,
            }
            for row in summary.rules
        ],
        "budgets": [
            {
                "budget": row.name,
                "limit": row.limit,
                "charged": row.charged._asdict(),
                "usedUpInSeeds": row.used_up,
                "usedUpOnDay": row.day._asdict() if row.day else None,
            }
            for row in summary.budgets
        ],
        "endings": [
            {"outcome": row.outcome, "why": row.why, "seeds": row.seeds, "day": row.day._asdict()}
            for row in summary.endings
        ],
        "advice": _advice(one.advised),
    }


def _conditions(conditions: Conditions) -> dict[str, Any]:
    """The conditions, with each recorded gap left out: a history may have thousands."""
    plain: dict[str, Any] = to_builtins(conditions)
    sources = [
        {
            **{name: value for name, value in source.items() if name != "gaps"},
            "recorded": len(one.gaps),
        }
        for one, source in zip(conditions.sources, plain.get("sources", ()), strict=True)
    ]
    return {**plain, "sources": sources, "horizon": str(conditions.horizon)}


def _advice(advised: Advised | None) -> dict[str, Any] | None:
    if advised is None:
        return None
    advice = advised.advice
    return {
        "meanTimeBetweenLosses": str(Duration.of_ms(advice.mtbf)),
        "youngInterval": str(Duration.of_ms(advice.young)),
        "dalyInterval": str(Duration.of_ms(advice.daly)),
        "ratioNow": advised.ratio_now,
        "ratioAtDaly": advised.ratio_daly,
    }
