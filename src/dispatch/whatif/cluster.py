"""The cluster of one run: which nodes are there, and what becomes of an execution on them."""

from __future__ import annotations

from typing import NamedTuple

from dispatch.model.job import Job
from dispatch.model.status import Cause, Detail, NodeReport
from dispatch.whatif.conditions import Conditions
from dispatch.whatif.progress import Spent, finishes_in, spend
from dispatch.whatif.weather import NEVER, Hazard, draw, draws

TOO_FEW = "its rules exclude so many nodes that too few are left; more spares, or a lower excludeNodes.max"


class Execution(NamedTuple):
    """One execution: when it was opened, when it ran, on how many nodes, what ended it, how its time was spent.

    Times are milliseconds since the job was accepted. ``cause`` is ``None`` where it finished, or runs on.
    """

    submission: int
    opened: int
    started: int
    ended: int
    nodes: int
    cause: str | None
    spent: Spent
    silent: int = 0
    """How long it hung on a lost node, before the scheduler ended it."""


class Fate(NamedTuple):
    """What becomes of an execution, as the scheduler will tell it."""

    execution: Execution
    names: tuple[str, ...]
    cause: Cause | None
    detail: Detail
    cut: bool = False
    """It goes on at the horizon, or never starts before it."""
    why: str = ""
    """Why it will never start."""


class _End(NamedTuple):
    ran: int
    cause: Cause | None
    detail: Detail = Detail()
    saved: bool = False
    hazard: Hazard | None = None


class Cluster:
    """Nodes, queue and failures of one run."""

    def __init__(self, conditions: Conditions, seed: int | None, job: Job) -> None:
        rules = job.policy.rules if job.policy else ()
        largest = max(job.nodes, *(rule.with_.nodes or 0 for rule in rules if rule.with_), 0)
        self._base = job.nodes
        # So many nodes are named as a rule can exclude; a lost one is named by its cause. Nothing is decided on the others,
        # which all answer, and to list thousands with each execution would take nearly all of the time.
        self._told = max(
            (rule.exclude_nodes.max for rule in rules if rule.exclude_nodes), default=1
        )
        spares = largest if conditions.spares is None else conditions.spares
        self._conditions = conditions
        self._pool = tuple(f"n{number}" for number in range(1, largest + spares + 1))
        self._away: dict[str, int] = {}
        self._reports: dict[tuple[str, ...], tuple[NodeReport, ...]] = {}
        self._hazards = {one.name: Hazard(one, seed) for one in conditions.sources}
        self._at_work: dict[str | None, tuple[Hazard, ...]] = {}
        self._horizon = conditions.horizon.ms
        self._queue = draws(seed, "queue")
        self._repair = draws(seed, "repair")
        self._victim = draws(seed, "victim")
        self._work_left = conditions.work.ms if conditions.work else NEVER

    def returns(self, names: tuple[str, ...]) -> int:
        """When the last of these nodes answers again."""
        return max((self._away.get(name, 0) for name in names), default=0)

    def reports(self, names: tuple[str, ...], now: int) -> tuple[NodeReport, ...]:
        """Say of each of these nodes whether it answers."""
        if names not in self._reports:
            self._reports = {names: tuple(NodeReport(name=name, responding=True) for name in names)}
        all_answer = self._reports[names]
        away = {name for name, back in self._away.items() if back > now}
        if away.isdisjoint(names):
            return all_answer
        return tuple(
            NodeReport(name=one.name, responding=False) if one.name in away else one
            for one in all_answer
        )

    def execute(self, job: Job, excluded: tuple[str, ...], submission: int, opened: int) -> Fate:
        """Let an opened object wait, run and end."""
        self._forget_repaired(opened)
        horizon = self._horizon
        ready = opened + draw(self._conditions.wait_in(job.partition), self._queue)
        started, names = self._place(job.nodes, frozenset(excluded), ready)
        if started >= horizon:
            waiting = Execution(submission, opened, horizon, horizon, job.nodes, None, Spent())
            why = TOO_FEW if started >= NEVER else ""
            return Fate(waiting, (), None, Detail(), cut=True, why=why)
        end = self._end(job)
        if cut := started + end.ran > horizon:
            end = _End(horizon - started, None, saved=True)
        self._pass(job, end)
        spent = spend(self._conditions.program, end.ran, saved_at_end=end.saved)
        if self._conditions.work is not None:
            self._work_left -= spent.kept * job.nodes // self._base
        ended, silent, detail = started + end.ran, 0, end.detail
        if end.cause is Cause.NODE_LOST:
            silent, detail = self._lose(names, ended)
        ended = min(ended + silent, horizon)
        execution = Execution(
            submission, opened, started, ended, job.nodes, end.cause, spent, ended - started - end.ran
        )  # fmt: skip
        return Fate(execution, names[: self._told], end.cause, detail, cut=cut)

    def _place(
        self, count: int, excluded: frozenset[str], ready: int
    ) -> tuple[int, tuple[str, ...]]:
        """Find the first moment at which so many nodes are there, and which."""
        away = {name: back for name, back in self._away.items() if back > ready}
        kept_off = away.keys() | excluded
        if len(self._pool) - len(kept_off) >= count:
            # The first of them, and no more: a pool may have thousands, of which few are kept off.
            first = self._pool[: count + len(kept_off)]
            here = [name for name in first if name not in kept_off] if kept_off else first
            return ready, tuple(here[:count])
        allowed = [name for name in self._pool if name not in excluded]
        if len(allowed) < count:
            return NEVER, ()
        here = [name for name in allowed if name not in away]
        late = sorted((away[name], name) for name in allowed if name in away)[: count - len(here)]
        return late[-1][0], (*here, *(name for _, name in late))

    def _forget_repaired(self, now: int) -> None:
        """Drop nodes that answer again: nobody asks for an earlier moment, and in years there would be thousands."""
        if self._away:
            self._away = {name: back for name, back in self._away.items() if back > now}

    def _end(self, job: Job) -> _End:
        """Find what ends the execution first; what is equally soon goes in this order."""
        program = self._conditions.program
        # On more nodes it is faster by as much: nothing better is known of it.
        left = -(-self._work_left * self._base // job.nodes)
        ends = [_End(finishes_in(program, left), None, saved=True)]
        for hazard in self._hazards_in(job.partition):
            source = hazard.source
            saved = source.cause is Cause.PREEMPTED and program.saves_when_preempted
            ran = hazard.strikes_in(job.nodes)
            ends.append(_End(ran, source.cause, source.detail, saved, hazard))
        if job.time_limit is not None:
            ends += _limits(job, program.exit_on_signal, job.time_limit.ms)
        return min(ends, key=lambda end: end.ran)

    def _hazards_in(self, partition: str | None) -> tuple[Hazard, ...]:
        if partition not in self._at_work:
            sources = self._conditions.sources_in(partition)
            self._at_work[partition] = tuple(self._hazards[one.name] for one in sources)
        return self._at_work[partition]

    def _pass(self, job: Job, end: _End) -> None:
        for hazard in self._hazards_in(job.partition):
            if hazard is end.hazard:
                hazard.strike()
            else:
                hazard.pass_by(end.ran, job.nodes)

    def _lose(self, names: tuple[str, ...], at: int) -> tuple[int, Detail]:
        """Lose one of the nodes; it is silent until the scheduler gives it up, or it is back before that."""
        lost = names[int(self._victim.random() * len(names))]
        repair = draw(self._conditions.repair, self._repair)
        self._away[lost] = at + repair
        silent = min(repair, self._conditions.node_timeout.ms)
        return silent, Detail(nodes=(lost,))


def _limits(job: Job, exit_on_signal: int | None, limit: int) -> list[_End]:
    """The ends by the time limit: the program's own at the signal before it, where it heeds that, and the scheduler's."""
    ends = [_End(limit, Cause.TIMEOUT)]
    if exit_on_signal is not None and job.signal_before is not None:
        ran = max(limit - job.signal_before.lead.ms, 1)
        own = Detail(exit_code=exit_on_signal)
        ends.insert(0, _End(ran, Cause.NON_ZERO_EXIT, own, saved=True))
    return ends
