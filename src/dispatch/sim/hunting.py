"""Run many seeds, on all cores, until a rule is broken."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, field

from dispatch.sim.options import Options, Outcome
from dispatch.sim.running import Mutant, run

CHUNK = 20
"""Seeds that a worker runs between two reports."""


@dataclass
class Tally:
    """What many seeds came to; ``broken`` is the first that broke a rule, by its number among those that were run."""

    seeds: int = 0
    steps: int = 0
    seconds: float = 0.0
    broken: Outcome | None = None
    rows: Counter[str] = field(default_factory=Counter[str])
    moves: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    excused: Counter[str] = field(default_factory=Counter[str])

    def add(self, outcome: Outcome) -> None:
        """Add one run."""
        self.seeds += 1
        self.steps += outcome.steps
        self.seconds += outcome.seconds
        self.rows.update(outcome.rows)
        self.moves.update(outcome.moves)
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
    words = fault.split(" ")
    return " ".join(words[2:] if words[1][:1].isdigit() else words[1:])


def run_some(seeds: range, options: Options, mutant: Mutant = nullcontext) -> Tally:
    """Run these seeds here, up to the first that breaks a rule."""
    tally = Tally()
    for seed in seeds:
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

    What other workers are about is finished. ``on_progress`` is told of the tally so far.
    """
    options, workers = options or Options(), workers or os.cpu_count() or 1
    tally = Tally()
    if workers == 1:
        for chunk in _chunks(seeds):
            tally.merge(run_some(chunk, options, mutant))
            on_progress(tally)
            if tally.broken is not None:
                break
        return tally
    # Not forked: that would copy a loop, or a lock, of the caller.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        chunks = _chunks(seeds)
        running: set[Future[Tally]] = {
            pool.submit(run_some, chunk, options, mutant)
            for chunk in itertools.islice(chunks, workers)
        }
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                tally.merge(one.result())
                on_progress(tally)
                if tally.broken is None and (more := next(chunks, None)) is not None:
                    running.add(pool.submit(run_some, more, options, mutant))
    return tally


def _chunks(seeds: range) -> Iterator[range]:
    return (seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK))
