"""What one run came to, in a few numbers: a hundred thousand of them stay small, where their runs would fill the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.policy import NO_RECOVERY, Budget, Rule
from dispatch.whatif.conditions import Conditions
from dispatch.whatif.playing import Run

WAITS = {
    "await the next look": "noticing",
    "await save window": "noticing",
    "await cessation": "proof",
    "await due": "backoff",
    "held": "held",
}
"""The rows of the decision table that wait, in the words of the report."""

TIMES: tuple[str, ...] = (
    "useful", "lost", "checkpointing", "restarting", "hanging",
    "queued", "noticing", "proof", "backoff", "held", "waiting", "over",
)  # fmt: skip
"""What the time of a run is spent on; the parts add up to it."""

ON_NODES: tuple[str, ...] = TIMES[:5]
"""The parts in which the job has its nodes."""

POINTS = 60
"""Into so many equal parts the window of the conditions is cut, to tell how the work grew."""


class Use(NamedTuple):
    """How often a rule was used, or a budget charged, and when its limit was reached: milliseconds, or ``None``."""

    times: int
    reached: int | None


class CauseTally(NamedTuple):
    """The executions that one cause ended; node-milliseconds, and ``waited`` in milliseconds."""

    executions: int = 0
    lost: int = 0
    hung: int = 0
    restart: int = 0
    waited: int = 0


class Tally(NamedTuple):
    """One run. Times are in milliseconds, ``on_nodes`` in node-milliseconds.

    ``growth`` has the work that was kept by the end of each of ``POINTS`` parts of the window, in milliseconds on as
    many nodes as the job began with. ``actions`` has how often each rule did what.
    """

    seed: int | None
    outcome: str
    why: str
    ended: int
    ratio: float
    executions: int
    times: dict[str, int]
    on_nodes: dict[str, int]
    causes: dict[str, CauseTally]
    rules: tuple[Use, ...]
    actions: tuple[Counter[Action], ...]
    budgets: dict[str, Use]
    growth: tuple[int, ...]


def tally(job: Job, conditions: Conditions, run: Run) -> Tally:
    """Count a run."""
    policy, horizon = job.policy or NO_RECOVERY, conditions.horizon.ms
    return Tally(
        seed=run.seed,
        outcome=run.outcome,
        why=run.why,
        ended=run.ended,
        ratio=ratio(run, horizon),
        executions=len(run.executions),
        times=times_of(run, horizon),
        on_nodes=_on_nodes(run),
        causes=_causes(run),
        rules=tuple(_rule(index, rule, run) for index, rule in enumerate(policy.rules)),
        actions=tuple(_actions(index, run) for index in range(len(policy.rules))),
        budgets=_budgets(job, run),
        growth=_growth(run, conditions.window.ms),
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


def _on_nodes(run: Run) -> dict[str, int]:
    totals = dict.fromkeys(ON_NODES, 0)
    for one in run.executions:
        for name, ms in zip(ON_NODES, (*one.spent, one.silent), strict=True):
            totals[name] += ms * one.nodes
    return totals


def _causes(run: Run) -> dict[str, CauseTally]:
    found: dict[str, CauseTally] = {}
    for one, after in zip(run.executions, (*run.executions[1:], None), strict=True):
        if one.cause is None:
            continue
        so_far = found.get(str(one.cause), CauseTally())
        found[str(one.cause)] = CauseTally(
            so_far.executions + 1,
            so_far.lost + one.spent.lost * one.nodes,
            so_far.hung + one.silent * one.nodes,
            so_far.restart + (after.spent.restart * after.nodes if after else 0),
            so_far.waited + (after.started - one.ended if after else 0),
        )
    return found


def _growth(run: Run, window: int) -> tuple[int, ...]:
    """Spread what an execution kept evenly over its time: what is drawn is weeks, in which a checkpoint is nothing."""
    executions = iter(run.executions)
    one, kept = next(executions, None), 0
    points: list[int] = []
    for part in range(1, POINTS + 1):
        moment = window * part // POINTS
        while one is not None and one.ended <= moment:
            kept += one.spent.kept * one.nodes
            one = next(executions, None)
        begun = 0
        if one is not None and one.started < moment:
            share = one.spent.kept * (moment - one.started) // (one.ended - one.started)
            begun = share * one.nodes
        points.append((kept + begun) // run.base)
    return tuple(points)


# --- rules and budgets: read off the decisions that the core has recorded, nothing is decided again


def _rule(index: int, rule: Rule, run: Run) -> Use:
    moments = [one.at for one in run.decisions if one.decided.rule == index]
    within = rule.within.ms if rule.within else None
    return Use(len(moments), _reached(moments, rule.limit, within))


def _actions(index: int, run: Run) -> Counter[Action]:
    return Counter(one.decided.action for one in run.decisions if one.decided.rule == index)


def _reached(moments: Sequence[int], limit: int | None, within: int | None = None) -> int | None:
    """When so many uses had come together, in the window where there is one."""
    if not limit:
        return None
    for first, last in zip(moments, moments[limit - 1 :], strict=False):
        if within is None or last - first < within:
            return last
    return None


def limits_of(job: Job) -> dict[str, tuple[int, frozenset[Budget]]]:
    """The budgets of the whole job that are limited: the limit, and what is charged to it."""
    limits = (job.policy or NO_RECOVERY).limits
    found = {"total": (limits.total, frozenset(Budget))}
    for kind, limit in (
        (Budget.INFRASTRUCTURE, limits.infrastructure),
        (Budget.PROGRAM, limits.program),
    ):
        if limit is not None:
            found[str(kind)] = (limit, frozenset({kind}))
    return found


def _budgets(job: Job, run: Run) -> dict[str, Use]:
    found: dict[str, Use] = {}
    for name, (limit, kinds) in limits_of(job).items():
        moments = [one.at for one in run.decisions if one.decided.budget in kinds]
        found[name] = Use(len(moments), _reached(moments, limit))
    return found
