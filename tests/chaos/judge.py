"""The judge of a chaos run: values in, findings out. What counts is what tasks wrote and what the test did.

The record is the accused: nothing that it says is taken for true, but that it says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from chaos.fates import ENDS, PROGRAM_LIMIT, Fate
from dispatch.model.journal import Verb
from dispatch.model.status import Cause, State

FORGETS = 8.0
"""Seconds within which a controller that dies may forget what it acknowledged."""

TOGETHER = 2_000
"""Milliseconds by which the deadlines of writes that are made together differ at most."""

LATE = 3.0
"""Seconds by which a deed may come after a program's own end and still be what the scheduler saw first."""


class Sort(StrEnum):
    """What is wrong."""

    OVERLAP = "overlap"
    LOST = "lost"
    ORPHAN = "orphan"
    WRONG_CAUSE = "wrong proven cause"
    WRONG_END = "wrong end"
    TWO_JOBS = "two jobs of one key"
    RAN_HELD = "started while held"
    RAN_STOPPED = "started after its stop"
    OVER_BUDGET = "over its budget"


@dataclass(frozen=True)
class Finding:
    """One thing that must not be."""

    sort: Sort
    job: str
    what: str


class Deed(StrEnum):
    """What the test did to jobs, nodes and the controller."""

    PREEMPTED = "preempted"
    NODE_KILLED = "node killed"
    CANCELLED = "scancel by its owner"
    STOPPED = "dispatch stop"
    HELD = "dispatch hold"
    USER_HELD = "scontrol hold"
    SLURMD_KILLED = "slurmd killed"
    SLURMD_PAUSED = "slurmd paused"
    CONTROLLER_KILLED = "slurmctld killed"
    CONTROLLER_PAUSED = "slurmctld paused"


@dataclass(frozen=True)
class Done:
    """A deed: from when to when, to which job or node. A hold ends when its release is asked for."""

    deed: Deed
    since: float
    until: float
    key: str = ""
    node: str = ""


@dataclass(frozen=True)
class Told:
    """A line that a task wrote: start, end or overlap; or ``over``, the end that its job script wrote."""

    what: str
    epoch: int
    rank: int
    node: str
    number: str
    at: float
    word: str

    @property
    def submission(self) -> int:
        """The submission that its epoch belongs to."""
        return self.epoch // 1_000_000


@dataclass(frozen=True)
class Execution:
    """An execution as the record has it: its cause, and when it was decided on."""

    submission: int
    state: State
    cause: Cause | None
    proven: bool
    decided: float
    ended: float | None
    nodes: tuple[str, ...] = ()
    resubmitted: bool = False


@dataclass(frozen=True)
class Call:
    """A write as the record has it; ``deadline`` in milliseconds, by which its process noted it too."""

    verb: Verb
    deadline: int
    at: float
    settled: float | None


@dataclass(frozen=True)
class Record:
    """What a job's record says in the end."""

    job: str
    key: str
    accepted: float
    verdict: tuple[State, Cause | None] | None
    executions: tuple[Execution, ...] = ()
    calls: tuple[Call, ...] = ()
    numbers: frozenset[str] = frozenset()
    pending: tuple[int, Cause | None] | None = None
    """The submission that was last seen to wait, and why it does."""


@dataclass(frozen=True)
class Living:
    """An object that lives in the queue in the end."""

    number: str
    job: str
    state: str


@dataclass(frozen=True)
class Killed:
    """A process of ours that was killed; what it was calling, if it was: the verb, the deadline and the job."""

    at: float
    role: str
    verb: Verb | None = None
    deadline: int = 0
    job: str = ""


@dataclass(frozen=True)
class Evidence:
    """Everything that a run leaves."""

    fates: dict[str, Fate]
    printed: tuple[tuple[str, str], ...]
    """Key and job of every submission that was confirmed, as ``submit`` printed them."""
    records: tuple[Record, ...]
    told: dict[str, tuple[Told, ...]] = field(default_factory=dict[str, tuple[Told, ...]])
    done: tuple[Done, ...] = ()
    living: tuple[Living, ...] = ()
    killed: tuple[Killed, ...] = ()


@dataclass(frozen=True)
class Truth:
    """What an execution may rightly be called, and by what that was brought about first."""

    row: str
    admitted: frozenset[tuple[State, Cause | None]]


_DEEDS: dict[Deed, tuple[tuple[State, Cause], ...]] = {
    Deed.PREEMPTED: ((State.FAILED, Cause.PREEMPTED),),
    Deed.NODE_KILLED: ((State.FAILED, Cause.NODE_LOST),),
    Deed.CANCELLED: ((State.CANCELLED, Cause.CANCELLED),),
    Deed.STOPPED: ((State.CANCELLED, Cause.STOPPED),),
    Deed.SLURMD_KILLED: ((State.FAILED, Cause.NODE_LOST), (State.FAILED, Cause.LAUNCH_FAILED)),
    Deed.SLURMD_PAUSED: ((State.FAILED, Cause.NODE_LOST), (State.FAILED, Cause.LAUNCH_FAILED)),
}
_DECISIVE = frozenset({Deed.PREEMPTED, Deed.NODE_KILLED, Deed.CANCELLED, Deed.STOPPED})
_OWN = {"3": (State.FAILED, Cause.NON_ZERO_EXIT), "SEGV": (State.FAILED, Cause.SIGNALLED)}
_SILENCING = frozenset({Deed.CONTROLLER_KILLED, Deed.CONTROLLER_PAUSED})
_FORGETTING = frozenset({Cause.FORGOTTEN, Cause.FENCED})


def truth_of(execution: Execution, record: Record, evidence: Evidence) -> Truth:
    """Say what an execution may be called: by its own end, and by what was done to it while it lived."""
    lines = [
        line
        for line in evidence.told.get(record.key, ())
        if line.submission == execution.submission
    ]
    starts = [line for line in lines if line.what == "start"]
    nodes = {line.node for line in starts} | set(execution.nodes)
    begin = min((line.at for line in starts), default=record.accepted)
    found = list(_own_ends(evidence.fates[record.key], starts, lines))
    # Until its script has ended too, an execution lives, and can be lost.
    over = any(line.what == "over" for line in lines)
    stop = min((at for at, _, _ in found if over), default=execution.decided) + LATE
    hits: list[tuple[float, str, tuple[State, Cause | None]]] = []
    for done in _hitting(evidence.done, record.key, nodes, begin, stop):
        hits += [(done.since, done.deed.value, cause) for cause in _DEEDS.get(done.deed, ())]
    found += [hit for hit in hits if Deed(hit[1]) in _DECISIVE]
    if evidence.fates[record.key] is Fate.SLOW and execution.decided - begin >= 55:
        found.append((begin + 60, "time limit", ENDS[Fate.SLOW]))
    rest = [hit for hit in hits if Deed(hit[1]) not in _DECISIVE]
    rest += [
        (done.since, done.deed.value, (execution.state, cause))
        for done in evidence.done
        for cause in sorted(_FORGETTING)
        if done.deed is Deed.CONTROLLER_KILLED
        and record.accepted <= done.since <= execution.decided
    ]
    rest += [
        # Without a controller srun gets no step, so that the command of which no start is told never was.
        (done.since, done.deed.value, (State.FAILED, Cause.LAUNCH_FAILED))
        for done in evidence.done
        if done.deed in _SILENCING and not starts
        and record.accepted <= done.until and done.since <= execution.decided
    ]  # fmt: skip
    first = min(found, default=None) or max(rest, default=(0.0, "nothing", (State.UNKNOWN, None)))
    admitted = frozenset(cause for _, _, cause in [*found, *rest])
    return Truth(first[1], admitted)


def _own_ends(
    fate: Fate, starts: Sequence[Told], lines: Sequence[Told]
) -> Iterator[tuple[float, str, tuple[State, Cause | None]]]:
    """The ends that the program came to by itself; a success is one of every rank."""
    if fate is Fate.UNSATISFIABLE:
        yield 0.0, fate.value, ENDS[fate]
    ends = [line for line in lines if line.what == "end"]
    for line in ends:
        if line.word in _OWN:
            word = "exit 3" if line.word == "3" else "SIGSEGV"
            yield line.at, word, _OWN[line.word]
    good = {line.rank for line in ends if line.word == "0"}
    wanted = {0, 1} if fate is Fate.PAIR else {line.rank for line in starts}
    if wanted and good >= wanted:
        yield max(line.at for line in ends), "exit 0", (State.SUCCEEDED, None)


def _hitting(
    done: Sequence[Done], key: str, nodes: set[str], begin: float, stop: float
) -> Iterator[Done]:
    for one in done:
        aimed = one.key == key or (one.node in nodes if one.node else False)
        # A node that died just before is where a launch fails.
        if aimed and one.since <= stop and one.until >= begin - LATE:
            yield one


def judge(evidence: Evidence) -> tuple[Finding, ...]:
    """Find everything that must not be."""
    return tuple(
        finding
        for part in (_overlaps, _losses, _orphans, _causes, _ends, _held_and_stopped, _budgets)
        for finding in part(evidence)
    )


def _overlaps(evidence: Evidence) -> Iterator[Finding]:
    for key, lines in evidence.told.items():
        for line in lines:
            if line.what == "overlap":
                what = f"epoch {line.epoch} rank {line.rank} on {line.node} as Slurm job {line.number} began beside another"
                yield Finding(Sort.OVERLAP, key, what)


def _losses(evidence: Evidence) -> Iterator[Finding]:
    ids = {record.job for record in evidence.records}
    by_key: dict[str, set[str]] = {}
    for record in evidence.records:
        by_key.setdefault(record.key, set()).add(record.job)
        if record.verdict is None:
            yield Finding(Sort.LOST, record.key, f"{record.job} has no verdict")
    for key, job in evidence.printed:
        if job not in ids:
            yield Finding(Sort.LOST, key, f"submit printed {job}, and no record has it")
        by_key.setdefault(key, set()).add(job)
    for key in evidence.fates:
        jobs = by_key.get(key, set())
        if not jobs:
            yield Finding(Sort.LOST, key, "submitted, and no record has its key")
        if len(jobs) > 1:
            yield Finding(Sort.TWO_JOBS, key, " and ".join(sorted(jobs)))


def _orphans(evidence: Evidence) -> Iterator[Finding]:
    known = {record.job: record for record in evidence.records}
    for one in evidence.living:
        record = known.get(one.job)
        if record is None or record.verdict is not None or one.number not in record.numbers:
            yield Finding(Sort.ORPHAN, one.job, f"Slurm job {one.number} is {one.state}")


def _causes(evidence: Evidence) -> Iterator[Finding]:
    for record in evidence.records:
        for execution in record.executions:
            truth = truth_of(execution, record, evidence)
            called = (execution.state, execution.cause)
            unsure = execution.cause is Cause.UNKNOWN or not execution.proven
            if not unsure and called not in truth.admitted:
                what = f"{record.job} N={execution.submission} is recorded as {_name(called)}, and was: {truth.row}"
                yield Finding(Sort.WRONG_CAUSE, record.key, what)


def _ends(evidence: Evidence) -> Iterator[Finding]:
    struck = {done.key for done in evidence.done if done.key}
    for record in evidence.records:
        fate = evidence.fates.get(record.key)
        if fate is None or record.verdict is None:
            continue
        allowed = {ENDS[fate]}
        if fate in (Fate.CANCELLED, Fate.STOPPED):
            # What was lost to something else, or was never struck, goes on to its own end.
            others = [one for one in record.executions if (one.state, one.cause) != ENDS[fate]]
            if others or record.key not in struck:
                allowed |= {ENDS[Fate.SUCCEEDS], *((one.state, one.cause) for one in others)}
        if record.verdict not in allowed:
            what = f"{record.job} ended {_name(record.verdict)}; its fate: {fate.value}"
            yield Finding(Sort.WRONG_END, record.key, what)


def _held_and_stopped(evidence: Evidence) -> Iterator[Finding]:
    crashes = [one.since for one in evidence.done if one.deed is Deed.CONTROLLER_KILLED]
    for done in evidence.done:
        starts = [line for line in evidence.told.get(done.key, ()) if line.what == "start"]
        # A hold that was placed just before it died, a controller may forget, and start the job.
        forgot = any(done.since - LATE < at < done.since + FORGETS for at in crashes)
        if done.deed in (Deed.HELD, Deed.USER_HELD) and not forgot:
            for line in starts:
                if done.since < line.at < done.until:
                    yield Finding(Sort.RAN_HELD, done.key, f"epoch {line.epoch}")
        elif done.deed is Deed.STOPPED:
            for line in starts:
                if line.at > done.until:
                    yield Finding(Sort.RAN_STOPPED, done.key, f"epoch {line.epoch}")


def _budgets(evidence: Evidence) -> Iterator[Finding]:
    for record in evidence.records:
        again = [
            one for one in record.executions if one.resubmitted and one.cause is Cause.NON_ZERO_EXIT
        ]
        if len(again) > PROGRAM_LIMIT:
            yield Finding(Sort.OVER_BUDGET, record.key, f"resubmitted {len(again)} times")


def _name(called: tuple[State, Cause | None]) -> str:
    return called[1].value if called[1] else called[0].value


def inside_an_intent(evidence: Evidence) -> dict[Verb, int]:
    """How many processes were killed while the record had their own call as begun and not ended, by verb."""
    counts = dict.fromkeys(Verb, 0)
    calls = [(record.job, call) for record in evidence.records for call in record.calls]
    for one in evidence.killed:
        for job, call in calls:
            # Writes that are made together have one deadline, the intents of each their own a moment apart.
            own = (job, call.verb) == (one.job, one.verb)
            if own and abs(call.deadline - one.deadline) <= TOGETHER:
                counts[call.verb] += _is_open(call, one.at)
    return counts


def _is_open(call: Call, at: float) -> bool:
    return call.at <= at and (call.settled is None or call.settled > at)
