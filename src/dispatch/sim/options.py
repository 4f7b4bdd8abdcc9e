"""What a simulation is asked for, and what it answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from dispatch.adapters.memory import ShapeName
from dispatch.sim.climate import MIXED, Climate
from dispatch.sim.scenario import Scenario, Strike


@dataclass(frozen=True)
class Options:
    """How large the world is, and how long it is disturbed.

    ``only``: of the faults that the seed draws, those of these names alone happen; ``None`` means all of them. ``stop_at``
    ends the run after so many steps. ``patience`` is the bound of liveness: so long after the last fault, in virtual
    time, every job has come to rest.
    """

    shape: ShapeName = ShapeName.SLURM
    supervisors: int = 2
    jobs: int = 3
    absent: frozenset[str] = frozenset()
    """Labels of jobs (``j1``, ``j2``) that nobody submits, though the world has room for them."""
    faults: bool = True
    only: frozenset[str] | None = None
    stop_at: int | None = None
    trace: bool = False
    coverage: bool = False
    """Count the moves of objects and the cases of the fold too, which takes another fold of every record."""
    storm: timedelta = timedelta(minutes=40)
    patience: timedelta = timedelta(hours=3)
    climate: Climate = MIXED
    scenario: Scenario | None = None
    """A life of one job in which nothing is drawn; ``strikes`` are what befalls it."""
    strikes: tuple[Strike, ...] = ()


@dataclass(frozen=True)
class Violation:
    """A rule that was broken: which (``S1`` to ``S9``, ``T4``, ``liveness``, ``fault``), how, at which step and moment."""

    rule: str
    what: str
    step: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.rule} at step {self.step}, {self.seconds:.3f} s: {self.what}"


@dataclass(frozen=True)
class Line:
    """One step of a trace: its number, virtual seconds since the start, who did it, and what."""

    step: int
    seconds: float
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.step:>5} {self.seconds:>10.3f}  {self.who:<12} {self.what}"


@dataclass(frozen=True)
class Outcome:
    """What a run came to. ``faults`` are the names of those that happened, in their order.

    ``excused`` are overlaps that only a policy's own assumption, a person's word or the scheduler itself has made: they
    are counted apart (02, S1). ``rows`` counts the answers of each row of the decision table, ``moves`` the moves of
    objects by move and phase, ``cases`` what the fold made of events.
    """

    seed: int
    violation: Violation | None
    steps: int
    seconds: float
    faults: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    rows: Counter[str] = field(default_factory=Counter[str])
    moves: Counter[str] = field(default_factory=Counter[str])
    cases: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    trace: tuple[Line, ...] = ()
    dump: str = ""


def reached_by(outcome: Outcome) -> Counter[str]:
    """How often a run reached each row, move and case of the fold; the last two only where they were asked for."""
    return outcome.rows + outcome.moves + outcome.cases
