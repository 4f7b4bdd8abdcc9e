"""Play a job over many seeds, on as many processors as there are. What comes out depends on the seeds alone."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial

from dispatch.core.planning import make_plan
from dispatch.model.answers import Action, Answer, Answers, Capability, Feature, Tristate
from dispatch.model.job import Job
from dispatch.model.plan import Plan
from dispatch.whatif.conditions import Conditions
from dispatch.whatif.playing import Run, play

_YES = Answer(value=Tristate.YES, reason="a simulated cluster can do all that dispatch can")

ANSWERS = Answers(
    capabilities=dict.fromkeys(Capability, _YES),
    rules=dict.fromkeys(Action, _YES),
    features=dict.fromkeys(Feature, _YES),
)
"""A cluster that honours everything: whether yours does is what ``dispatch plan`` tells."""

WORTH_PROCESSES = 1.0
"""Seconds of work left, above which other processes are worth their start."""


def plan_simulated(job: Job) -> Plan:
    """Plan the job as for a cluster that can do all that dispatch can. Raises ``Refused`` with every reason."""
    return make_plan(job, ANSWERS)


def simulate(
    job: Job,
    conditions: Conditions,
    seeds: Sequence[int | None],
    *,
    processes: int = 1,
    on_long: Callable[[], None] | None = None,
) -> list[Run]:
    """Play the job once for each seed, and return the runs in their order.

    A seed of ``None`` plays a recorded history in its own order. ``on_long`` is called once, if more than a second of work
    is left. Raises ``Refused`` where the job has no plan.
    """
    game = partial(play, job, plan_simulated(job), conditions)
    runs: list[Run] = []
    began = time.perf_counter()
    for done, seed in enumerate(seeds, 1):
        runs.append(game(seed))
        left = (time.perf_counter() - began) / done * (len(seeds) - done)
        if left <= WORTH_PROCESSES:
            continue
        if on_long is not None:
            on_long()
            on_long = None
        if processes > 1:
            return [*runs, *_in_processes(game, seeds[done:], processes)]
    return runs


def _in_processes(game: partial[Run], seeds: Sequence[int | None], processes: int) -> Sequence[Run]:
    # Not forked: the calling program may have threads, whose locks a child would inherit.
    context = multiprocessing.get_context("spawn")
    workers = min(processes, len(seeds))
    chunk = max(len(seeds) // (workers * 8), 1)
    # Not a pool of concurrent.futures, which at Ctrl-C would wait for what its processes are at.
    with context.Pool(workers, initializer=_leave_to_parent) as pool:
        return pool.map(game, seeds, chunksize=chunk)


def _leave_to_parent() -> None:
    """Ctrl-C reaches every process of the terminal; only the first one answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
