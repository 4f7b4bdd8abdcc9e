"""What the runs of one policy come to: means over the seeds, and their spread."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.policy import NO_RECOVERY, Budget, Rule
from dispatch.whatif.playing import Run

HOUR = 3_600_000
DAY = 24 * HOUR

WAITS = {
    "await the next look": "noticing",
    "await save window": "noticing",
    "await cessation": "proof",
    "await due": "backoff",
    "held": "held",
}
"""The rows of the decision table that wait, in the words of the report."""

TIMES = (
    "useful", "lost", "checkpointing", "restarting", "hanging",
    "queued", "noticing", "proof", "backoff", "held", "waiting", "over",
)  # fmt: skip
"""What the time of a run is spent on; the parts add up to it."""

ON_NODES = TIMES[:5]
"""The parts in which the job has its nodes."""


class Figure(NamedTuple):
    """A number over all seeds: its mean, and what it is below in one tenth, half and nine tenths of them."""

    mean: float
    p10: float
    p50: float
    p90: float


class CauseRow(NamedTuple):
    """What ended executions, how often in the mean, and what each such end cost.

    Node-hours: of work that was lost, of hanging until the scheduler noticed, and of the restart after it; hours: from
    the end to the next start.
    """

    cause: str
    executions: float
    lost: float
    hung: float
    restart: float
    waited: float


class RuleRow(NamedTuple):
    """What one rule did: how often it was used, in how many seeds its limit was reached, and on which day."""

    rule: int
    causes: tuple[str, ...]
    action: str
    limit: str
    uses: Figure
    used_up: int
    day: Figure | None


class BudgetRow(NamedTuple):
    """One budget of the whole job: how much of it was charged, in how many seeds it was used up, and on which day."""

    name: str
    limit: int
    charged: Figure
    used_up: int
    day: Figure | None


class EndingRow(NamedTuple):
    """How runs ended: how many seeds, on which day, and the core's own words for it."""

    outcome: str
    why: str
    seeds: int
    day: Figure


class Summary(NamedTuple):
    """All that is told of one policy."""

    seeds: int
    ettr: Figure
    executions: Figure
    hours: dict[str, float]
    node_hours: dict[str, float]
    causes: tuple[CauseRow, ...]
    rules: tuple[RuleRow, ...]
    budgets: tuple[BudgetRow, ...]
    endings: tuple[EndingRow, ...]


def summarize(job: Job, horizon: int, runs: Sequence[Run]) -> Summary:
    """Sum up the runs of one policy. ``horizon`` is in milliseconds."""
    times = [times_of(run, horizon) for run in runs]
    return Summary(
        seeds=len(runs),
        ettr=figure(ratio(run, horizon) for run in runs),
        executions=figure(len(run.executions) for run in runs),
        hours={name: _mean(time[name] / HOUR for time in times) for name in TIMES},
        node_hours=_node_hours(runs),
        causes=_causes(runs),
        rules=_rules(job, runs),
        budgets=_budgets(job, runs),
        endings=_endings(runs),
    )


def ratio(run: Run, horizon: int) -> float:
    """The effective training time ratio of a run: kept work by the time that it took.

    Work is counted in time at the number of nodes that the job began with. A job that was given up, or waits for a
    person, is counted to the horizon: what it could have done is lost.
    """
    kept = sum(one.spent.kept * one.nodes for one in run.executions) / run.base
    elapsed = run.ended if run.outcome == "finished" else horizon
    return kept / elapsed if elapsed else 0.0


def times_of(run: Run, horizon: int) -> dict[str, int]:
    """Split the time of a run, in milliseconds; it ends where it finished, else at the horizon."""
    times = Counter[str]()
    for one in run.executions:
        times["useful"] += one.spent.kept
        times["lost"] += one.spent.lost
        times["checkpointing"] += one.spent.checkpoint
        times["restarting"] += one.spent.restart
        times["hanging"] += one.silent
        times["queued"] += one.started - one.opened
    for row, waited in run.waits.items():
        times[WAITS.get(row, "waiting")] += waited
    if run.outcome != "finished":
        rest = horizon - run.ended
        times[{"held": "held", "waiting": "waiting"}.get(run.outcome, "over")] += rest
    return {name: times[name] for name in TIMES}


# --- figures


def figure(values: Iterable[float]) -> Figure:
    """Sum numbers up; there must be one at least."""
    ordered = sorted(values)
    return Figure(_mean(ordered), *(_quantile(ordered, share) for share in (0.1, 0.5, 0.9)))


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _days(moments: Sequence[int]) -> Figure | None:
    return figure(moment / DAY for moment in moments) if moments else None


# --- causes


def _node_hours(runs: Sequence[Run]) -> dict[str, float]:
    totals = Counter[str]()
    for run in runs:
        for one in run.executions:
            spent = (*one.spent, one.silent)
            for name, ms in zip(ON_NODES, spent, strict=True):
                totals[name] += ms * one.nodes
    return {name: totals[name] / HOUR / len(runs) for name in ON_NODES}


def _causes(runs: Sequence[Run]) -> tuple[CauseRow, ...]:
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * 5)
    for run in runs:
        for one, after in zip(run.executions, (*run.executions[1:], None), strict=True):
            if one.cause is None:
                continue
            row = sums[str(one.cause)]
            row[0] += 1
            row[1] += one.spent.lost * one.nodes / HOUR
            row[2] += one.silent * one.nodes / HOUR
            if after is not None:
                row[3] += after.spent.restart * after.nodes / HOUR
                row[4] += (after.started - one.ended) / HOUR
    rows = (CauseRow(cause, *(one / len(runs) for one in row)) for cause, row in sums.items())
    return tuple(sorted(rows, key=lambda row: (-row.lost - row.hung - row.restart, row.cause)))


# --- rules and budgets: read off the decisions that the core has recorded, nothing is decided again


def _rules(job: Job, runs: Sequence[Run]) -> tuple[RuleRow, ...]:
    rules = (job.policy or NO_RECOVERY).rules
    return tuple(_rule(index, rule, runs) for index, rule in enumerate(rules))


def _rule(index: int, rule: Rule, runs: Sequence[Run]) -> RuleRow:
    uses = [[one.at for one in run.decisions if one.decided.rule == index] for run in runs]
    within = rule.within.ms if rule.within else None
    reached = [
        moment
        for moments in uses
        if rule.limit and (moment := _reached(moments, rule.limit, within)) is not None
    ]
    actions = Counter(
        str(one.decided.action)
        for run in runs
        for one in run.decisions
        if one.decided.rule == index
    )
    limit = "" if rule.limit is None else f"{rule.limit}"
    return RuleRow(
        rule=index + 1,
        causes=tuple(str(getattr(when, "cause", when)) for when in rule.when),
        action=actions.most_common(1)[0][0] if actions else str(_planned(rule)),
        limit=f"{limit} in {rule.within}" if rule.within else limit,
        uses=figure(len(moments) for moments in uses),
        used_up=len(reached),
        day=_days(reached),
    )


def _planned(rule: Rule) -> Action:
    return rule.or_else if rule.or_else is not None else rule.do


def _reached(moments: Sequence[int], limit: int, within: int | None) -> int | None:
    """When so many uses had come together, in the window where there is one."""
    for first, last in zip(moments, moments[limit - 1 :], strict=False):
        if within is None or last - first < within:
            return last
    return None


def _budgets(job: Job, runs: Sequence[Run]) -> tuple[BudgetRow, ...]:
    limits = (job.policy or NO_RECOVERY).limits
    rows = [_budget("total", limits.total, runs, frozenset(Budget))]
    for kind, limit in (
        (Budget.INFRASTRUCTURE, limits.infrastructure),
        (Budget.PROGRAM, limits.program),
    ):
        if limit is not None:
            rows.append(_budget(kind, limit, runs, frozenset({kind})))
    return tuple(rows)


def _budget(name: str, limit: int, runs: Sequence[Run], kinds: frozenset[Budget]) -> BudgetRow:
    charged = [[one.at for one in run.decisions if one.decided.budget in kinds] for run in runs]
    reached = [moments[limit - 1] for moments in charged if 0 < limit <= len(moments)]
    return BudgetRow(
        str(name), limit, figure(len(moments) for moments in charged), len(reached), _days(reached)
    )


def _endings(runs: Sequence[Run]) -> tuple[EndingRow, ...]:
    groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for run in runs:
        groups[run.outcome, run.why].append(run.ended)
    rows = (
        EndingRow(*key, len(ended), figure(one / DAY for one in ended))
        for key, ended in groups.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.seeds, row.outcome, row.why)))
