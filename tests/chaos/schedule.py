"""The faults of a chaos run, as a schedule that the seed alone decides."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from dispatch.model.journal import Verb


class Kind(StrEnum):
    """A fault of a process."""

    KILL_SUPERVISOR = "supervisor killed"
    PAUSE_SUPERVISOR = "supervisor paused"
    KILL_SLURMD = "slurmd killed"
    PAUSE_SLURMD = "slurmd paused"
    KILL_CONTROLLER = "slurmctld killed"
    PAUSE_CONTROLLER = "slurmctld paused"


@dataclass(frozen=True)
class Fault:
    """One fault: when, in seconds from the begin; to which of several; for how long it stays dead or paused."""

    at: float
    kind: Kind
    target: int
    length: float


RATES: dict[Kind, tuple[float, float, float]] = {
    Kind.KILL_SUPERVISOR: (9, 0.2, 2),
    Kind.PAUSE_SUPERVISOR: (15, 1, 9),
    Kind.KILL_SLURMD: (20, 0.5, 4),
    Kind.PAUSE_SLURMD: (17, 1, 6),
    Kind.KILL_CONTROLLER: (50, 0, 2),
    Kind.PAUSE_CONTROLLER: (30, 2, 8),
}
"""Of each kind: one in so many seconds, and the least and the greatest length."""

AIMS = {Verb.START: 8, Verb.OPEN: 8, Verb.STOP: 4, Verb.HOLD: 4, Verb.RELEASE: 4}
"""How many processes are killed at 60 jobs while their call of that verb is under way."""


def make_schedule(seed: int, seconds: float, *, supervisors: int, nodes: int) -> tuple[Fault, ...]:
    """Choose the faults of so many seconds, in their order; each kind is spread over the whole time."""
    chance = random.Random(f"{seed} faults")
    faults: list[Fault] = []
    for kind, (interval, least, greatest) in RATES.items():
        count = max(1, round(seconds / interval))
        among = nodes if kind in (Kind.KILL_SLURMD, Kind.PAUSE_SLURMD) else supervisors
        for number in range(count):
            at = (number + chance.random()) * seconds / count
            faults.append(Fault(at, kind, chance.randrange(among), chance.uniform(least, greatest)))
    return tuple(sorted(faults, key=lambda fault: fault.at))


def make_aims(jobs: int) -> dict[Verb, int]:
    """How many calls of each verb are to be hit in a run of so many jobs."""
    return {verb: max(1, count * jobs // 60) for verb, count in AIMS.items()}
