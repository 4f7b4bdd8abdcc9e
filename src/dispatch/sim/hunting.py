"""Run many seeds, on all cores, until a rule is broken."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import partial

from dispatch.sim.options import Options, Outcome
from dispatch.sim.running import Mutant, run
from dispatch.sim.working import is_over, without_interrupts, working

CHUNK = 20
"""Seeds that a worker runs between two reports."""
AHEAD = 4
"""Chunks that are handed out for each worker: so far those of others may be ahead of a slow one."""


@dataclass
class Tally:
    """What many seeds came to; ``broken`` is the first that broke a rule, by its number among those that were run."""

    seeds: int = 0
    steps: int = 0
    seconds: float = 0.0
    broken: Outcome | None = None
    rows: Counter[str] = field(default_factory=Counter[str])
    moves: Counter[str] = field(default_factory=Counter[str])
    cases: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    excused: Counter[str] = field(default_factory=Counter[str])

    @property
    def reached(self) -> Counter[str]:
        """Rows, moves and cases of the fold, all by name; the last two only where they were asked for."""
        return self.rows + self.moves + self.cases

    def add(self, outcome: Outcome) -> None:
        """Add one run."""
        self.seeds += 1
        self.steps += outcome.steps
        self.seconds += outcome.seconds
        self.rows.update(outcome.rows)
        self.moves.update(outcome.moves)
        self.cases.update(outcome.cases)
        self.ends.update(outcome.ends)
        self.faults.update(map(kind_of, outcome.faults))
        self.excused.update(outcome.excused)
        if outcome.violation is not None and self.broken is None:
            self.broken = outcome

    def merge(self, other: Tally) -> None:
        """Add what another worker has counted."""
        self.seeds += other.seeds
        self.steps += other.steps
        self.seconds += other.seconds
        for mine, more in (
            (self.rows, other.rows),
            (self.moves, other.moves),
            (self.cases, other.cases),
            (self.ends, other.ends),
            (self.faults, other.faults),
            (self.excused, other.excused),
        ):
            mine.update(more)
        if other.broken and (self.broken is None or other.broken.seed < self.broken.seed):
            self.broken = other.broken


def kind_of(fault: str) -> str:
    """The kind of a fault, without whom it befell."""
    who, colon, what = fault.rpartition(": ")
    if colon:
        return f"{'just after: ' if who.startswith('after ') else ''}{what}"
    if not _SOMEBODY.match(fault):
        return fault
    words = fault.split(" ")
    return " ".join(words[2:] if words[1][:1].isdigit() else words[1:])


_SOMEBODY = re.compile("[a-z][0-9]")
"""A job, or a process: ``j1``, ``s2.1``."""


def run_some(seeds: range, options: Options, mutant: Mutant = nullcontext) -> Tally:
    """Run these seeds here, up to the first that breaks a rule."""
    tally = Tally()
    for seed in seeds:
        if is_over():
            break
        tally.add(run(seed, options, mutant))
        if tally.broken is not None:
            break
    return tally


def hunt(
    seeds: range,
    options: Options | None = None,
    *,
    mutant: Mutant = nullcontext,
    workers: int | None = None,
    on_progress: Callable[[Tally], object] = lambda _: None,
) -> Tally:
    """Run these seeds on all cores, up to the first that breaks a rule; ``mutant`` must be a function of a module.

    The tally is of the seeds up to that one, and the same however many ``workers`` there are. ``on_progress`` is told of
    the tally so far.
    """
    options, workers = options or Options(), workers or os.cpu_count() or 1
    tally = Tally()
    done = _here if workers == 1 else partial(_by_workers, workers)
    with closing(done(_chunks(seeds), options, mutant)) as some:
        for one in some:
            tally.merge(one)
            on_progress(tally)
            if tally.broken is not None:
                break
    return tally


def _here(chunks: Iterator[range], options: Options, mutant: Mutant) -> Generator[Tally]:
    for chunk in chunks:
        yield run_some(chunk, options, mutant)


def _by_workers(
    workers: int, chunks: Iterator[range], options: Options, mutant: Mutant
) -> Generator[Tally]:
    """Run chunks in processes, and give their tallies in the order of the seeds."""
    with working(workers) as pool:
        with without_interrupts():
            begun = deque(
                pool.submit(run_some, chunk, options, mutant)
                for chunk in itertools.islice(chunks, AHEAD * workers)
            )
        while begun:
            yield begun.popleft().result()
            if (more := next(chunks, None)) is not None:
                begun.append(pool.submit(run_some, more, options, mutant))


def _chunks(seeds: range) -> Iterator[range]:
    return (seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK))
