"""What the runs of one policy come to: means over the seeds, and their spread."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.policy import NO_RECOVERY, Rule
from dispatch.whatif.tally import ON_NODES, POINTS, TIMES, CauseTally, Tally, Use, limits_of

HOUR = 3_600_000
DAY = 24 * HOUR


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
    growth: tuple[Figure, ...]
    """The work that was kept by the end of each of ``POINTS`` parts of the window of the conditions, in days."""


def summarize(job: Job, tallies: Sequence[Tally]) -> Summary:
    """Sum up the runs of one policy, of which there is one at least."""
    return Summary(
        seeds=len(tallies),
        ettr=figure(one.ratio for one in tallies),
        executions=figure(one.executions for one in tallies),
        hours={name: _mean(one.times[name] / HOUR for one in tallies) for name in TIMES},
        node_hours={name: _mean(one.on_nodes[name] / HOUR for one in tallies) for name in ON_NODES},
        causes=_causes(tallies),
        rules=_rules(job, tallies),
        budgets=_budgets(job, tallies),
        endings=_endings(tallies),
        growth=tuple(figure(one.growth[part] / DAY for one in tallies) for part in range(POINTS)),
    )


# --- figures


def figure(values: Iterable[float]) -> Figure:
    """Sum numbers up; there must be one at least."""
    ordered = sorted(values)
    return Figure(_mean(ordered), *(_quantile(ordered, share) for share in (0.1, 0.5, 0.9)))


def _mean(values: Iterable[float]) -> float:
    # Not the sum: what it rounds to is another number in other versions of Python.
    known = list(values)
    return math.fsum(known) / len(known)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


# --- rows


def _causes(tallies: Sequence[Tally]) -> tuple[CauseRow, ...]:
    names = dict.fromkeys(name for one in tallies for name in one.causes)
    rows = (_cause(name, [one.causes.get(name, CauseTally()) for one in tallies]) for name in names)
    return tuple(sorted(rows, key=lambda row: (-row.lost - row.hung - row.restart, row.cause)))


def _cause(name: str, found: Sequence[CauseTally]) -> CauseRow:
    return CauseRow(
        name,
        _mean(one.executions for one in found),
        *(_mean(one[place] / HOUR for one in found) for place in range(1, 5)),
    )


def _rules(job: Job, tallies: Sequence[Tally]) -> tuple[RuleRow, ...]:
    rules = (job.policy or NO_RECOVERY).rules
    return tuple(_rule(index, rule, tallies) for index, rule in enumerate(rules))


def _rule(index: int, rule: Rule, tallies: Sequence[Tally]) -> RuleRow:
    uses, used_up, day = _used([one.rules[index] for one in tallies])
    actions = sum((one.actions[index] for one in tallies), Counter[Action]())
    limit = "" if rule.limit is None else f"{rule.limit}"
    return RuleRow(
        rule=index + 1,
        causes=tuple(str(getattr(when, "cause", when)) for when in rule.when),
        action=str(actions.most_common(1)[0][0] if actions else _planned(rule)),
        limit=f"{limit} in {rule.within}" if rule.within else limit,
        uses=uses,
        used_up=used_up,
        day=day,
    )


def _planned(rule: Rule) -> Action:
    return rule.or_else if rule.or_else is not None else rule.do


def _budgets(job: Job, tallies: Sequence[Tally]) -> tuple[BudgetRow, ...]:
    return tuple(
        BudgetRow(name, limit, *_used([one.budgets[name] for one in tallies]))
        for name, (limit, _) in limits_of(job).items()
    )


def _used(uses: Sequence[Use]) -> tuple[Figure, int, Figure | None]:
    """How often, in how many seeds the limit was reached, and on which day."""
    reached = [use.reached for use in uses if use.reached is not None]
    day = figure(moment / DAY for moment in reached) if reached else None
    return figure(use.times for use in uses), len(reached), day


def _endings(tallies: Sequence[Tally]) -> tuple[EndingRow, ...]:
    groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for one in tallies:
        groups[one.outcome, one.why].append(one.ended)
    rows = (
        EndingRow(*key, len(ended), figure(one / DAY for one in ended))
        for key, ended in groups.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.seeds, row.outcome, row.why)))
