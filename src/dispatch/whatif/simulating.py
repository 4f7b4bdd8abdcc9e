"""Play a job over many seeds, on as many processors as there are. What comes out depends on the seeds alone."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from dispatch.core.planning import make_plan
from dispatch.model.answers import Action, Answer, Answers, Capability, Feature, Tristate
from dispatch.model.job import Job
from dispatch.model.plan import Plan
from dispatch.whatif.conditions import Conditions
from dispatch.whatif.playing import Run, play
from dispatch.whatif.tally import Tally, tally

_YES = Answer(value=Tristate.YES, reason="a simulated cluster can do all that dispatch can")

ANSWERS = Answers(
    capabilities=dict.fromkeys(Capability, _YES),
    rules=dict.fromkeys(Action, _YES),
    features=dict.fromkeys(Feature, _YES),
)
"""A cluster that honours everything: whether yours does is what ``dispatch plan`` tells."""

PATIENCE = 1.0
"""Seconds of work left, above which progress is told and other processes are worth their start."""
MOST_AT_ONCE = 16
"""Seeds that a process is handed at once: few enough that its progress is seen."""

T = TypeVar("T")
Progress = Callable[[int, float], None]


def plan_simulated(job: Job) -> Plan:
    """Plan the job as for a cluster that can do all that dispatch can. Raises ``Refused`` with every reason."""
    return make_plan(job, ANSWERS)


def simulate(
    job: Job,
    conditions: Conditions,
    seeds: Sequence[int | None],
    *,
    processes: int = 1,
    patience: float = PATIENCE,
) -> list[Run]:
    """Play the job once for each seed, and return the runs in their order; thousands of them fill the memory.

    A seed of ``None`` plays a recorded history in its own order. Raises ``Refused`` where the job has no plan.
    """
    game = partial(play, job, plan_simulated(job), conditions)
    return _over_seeds(game, seeds, processes, patience, None)


def tallies(
    job: Job,
    conditions: Conditions,
    seeds: Sequence[int | None],
    *,
    processes: int = 1,
    patience: float = PATIENCE,
    on_progress: Progress | None = None,
) -> list[Tally]:
    """Play the job once for each seed, and return what each run came to, in their order.

    ``on_progress`` is told how many seeds are done, and about how many seconds are left; never, where all is done within
    ``patience``. Otherwise as ``simulate``.
    """
    game = partial(_tally, job, plan_simulated(job), conditions)
    return _over_seeds(game, seeds, processes, patience, on_progress)


def _tally(job: Job, plan: Plan, conditions: Conditions, seed: int | None) -> Tally:
    return tally(job, conditions, play(job, plan, conditions, seed))


def _over_seeds(
    game: Callable[[int | None], T],
    seeds: Sequence[int | None],
    processes: int,
    patience: float,
    on_progress: Progress | None,
) -> list[T]:
    found: list[T] = []
    began = time.perf_counter()
    tell = on_progress or _tell_nobody
    for done, seed in enumerate(seeds, 1):
        found.append(game(seed))
        each = (time.perf_counter() - began) / done
        left = each * (len(seeds) - done)
        if left <= patience:
            continue
        workers = min(processes, len(seeds) - done)
        tell(done, left / workers)
        if workers > 1:
            for one in _in_processes(game, seeds[done:], workers):
                found.append(one)
                tell(len(found), each * (len(seeds) - len(found)) / workers)
            break
    return found


def _tell_nobody(done: int, left: float) -> None:
    """Nobody wants to know."""


def _in_processes(
    game: Callable[[int | None], T], seeds: Sequence[int | None], workers: int
) -> Iterator[T]:
    # Not forked: the calling program may have threads, whose locks a child would inherit.
    context = multiprocessing.get_context("spawn")
    chunk = min(max(len(seeds) // (workers * 8), 1), MOST_AT_ONCE)
    # Not a pool of concurrent.futures, which at Ctrl-C would wait for what its processes are at.
    with context.Pool(workers, initializer=_leave_to_parent) as pool:
        yield from pool.imap(game, seeds, chunksize=chunk)


def _leave_to_parent() -> None:
    """Ctrl-C reaches every process of the terminal; only the first one answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
