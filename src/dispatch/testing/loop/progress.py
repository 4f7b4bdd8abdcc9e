"""Does the program get on? A deadlock and a runaway are errors which name those that are to blame."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from dispatch.testing.loop import garbage
from dispatch.testing.loop.clock import SimulatedClock
from dispatch.testing.loop.errors import Deadlock, Runaway
from dispatch.testing.loop.peeking import callback_of, task_of
from dispatch.testing.loop.trace import name_of
from dispatch.testing.loop.waiting import who_waits

PATIENCE = 1_000_000
"""How many steps a program may take at one moment."""

_SAMPLE = 1_000  # the last of them, by which the busiest tasks are named
_BUSIEST = 5

Run = Callable[[asyncio.Handle], None]
Tasks = Callable[[], Sequence[asyncio.Task[Any]]]


class Progress:
    """Counts the steps of a loop at one moment, and judges its jumps."""

    def __init__(self, clock: SimulatedClock, *, patience: int, horizon: timedelta | None) -> None:
        self._clock = clock
        self._patience = patience
        self._horizon = math.inf if horizon is None else horizon.total_seconds()
        self._still = 0  # steps since time moved
        self._uncollected = 0  # steps since garbage was collected
        self._busy: Counter[str] = Counter()

    def runner(self, steps: int, run: Run, tasks: Tasks) -> Run:
        """Count the steps that come, and return what is to run them. Raises ``Runaway`` when there were too many."""
        self._still += steps
        self._uncollected += steps
        if self._uncollected > garbage.EVERY:
            self._uncollected = 0
            garbage.collect()
        if self._still <= self._patience - _SAMPLE:
            return run
        if self._still > self._patience and self._busy:
            raise self._runaway(tasks())

        def counted(handle: asyncio.Handle) -> None:
            task = task_of(handle)
            name = task.get_name() if task else name_of(callback_of(handle)) or "asyncio itself"
            self._busy[name] += 1
            run(handle)

        return counted

    def check_jump(self, when: float | None, tasks: Tasks) -> None:
        """Judge the jump to the next timer. Raises ``Deadlock`` where there is none, ``Runaway`` beyond the horizon."""
        if when is None or when == math.inf:
            raise Deadlock(
                f"Deadlock at {self._moment()}: nothing is ready and no timer is set.",
                todo="Nobody can wake these:",
                waiting=who_waits(tasks()),
            )
        if when > self._horizon:
            raise Runaway(
                f"The program goes on at {self._moment()}, and its next timer is beyond the horizon.",
                todo="Look for what never ends, or allow more time. These wait:",
                waiting=who_waits(tasks()),
            )
        self.rest()

    def rest(self) -> None:
        """Begin to count anew: time moves, or the loop stands still."""
        self._still = 0
        self._busy.clear()

    def _runaway(self, tasks: Sequence[asyncio.Task[Any]]) -> Runaway:
        busiest = tuple(self._busy.most_common(_BUSIEST))
        names = ", ".join(f"{name!r} ({steps})" for name, steps in busiest)
        return Runaway(
            f"More than {self._patience} steps at {self._moment()}; in the last of them the busiest were {names}.",
            todo="Look for a loop that waits for nothing but sleep(0). These are not done:",
            waiting=who_waits(tasks),
            busiest=busiest,
        )

    def _moment(self) -> str:
        try:
            return self._clock.now().isoformat()
        except OverflowError:  # beyond the year 9999
            return "the end of time"
