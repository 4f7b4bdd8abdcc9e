"""What is ready, and which of it goes next."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from typing import Any, Protocol

from dispatch.testing.loop.mixing import child, mix
from dispatch.testing.loop.peeking import task_of
from dispatch.testing.loop.tasks import SimulatedTask

# Delays, in steps of others: the usual one is the seed's, and one in so many is long.
_USUAL = (2, 4, 8, 32)
_LONG = 256
_ONE_IN = 8


class Ready(Protocol):
    """The handles that are ready, in an order of its own."""

    def append(self, handle: asyncio.Handle, /) -> None:
        """Add one."""
        ...

    def popleft(self) -> asyncio.Handle:
        """Take the one that goes next."""
        ...

    def clear(self) -> None:
        """Forget all."""
        ...

    def __len__(self) -> int: ...


Fifo = deque[asyncio.Handle]
"""The standard loop's order: first in, first out."""


class Shuffled:
    """An order that a seed chooses, as if each task ran on a thread that may be slow.

    Each task that becomes ready is given a delay, of so many steps of others, and the earliest goes next. All plain
    callbacks share one line, since ``call_soon`` promises their order; so do the steps of one task. A delay is bounded, so
    that nobody starves: a task which spins until another has done something would else be a runaway. Now and then one is
    long: some mistakes show only if one task stands still while others take many steps, and no even choice among all that
    is ready ever does that.
    """

    def __init__(self, seed: int) -> None:
        self._identity = mix(seed)
        self._usual = _USUAL[seed % len(_USUAL)]
        self._draws = 0
        self._steps = 0
        self._count = 0
        self._arrivals = 0
        self._lines: dict[SimulatedTask[Any] | None, deque[asyncio.Handle]] = {}
        self._next: list[tuple[int, int, SimulatedTask[Any] | None]] = []

    def append(self, handle: asyncio.Handle, /) -> None:
        """Put it at the end of its owner's line."""
        task = task_of(handle)
        owner = task if isinstance(task, SimulatedTask) else None
        line = self._lines.get(owner)
        self._count += 1
        if line is None:
            self._lines[owner] = deque((handle,))
            self._enqueue(owner)
        else:
            line.append(handle)

    def popleft(self) -> asyncio.Handle:
        """Take the first of the line whose delay is over first."""
        _, _, owner = heapq.heappop(self._next)
        line = self._lines[owner]
        handle = line.popleft()
        self._count -= 1
        self._steps += owner is not None  # how many callbacks asyncio makes for itself varies
        if line:
            self._enqueue(owner)
        else:
            del self._lines[owner]
        return handle

    def clear(self) -> None:
        """Forget all that is ready."""
        self._lines.clear()
        self._next.clear()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"Shuffled({self._count} ready of {len(self._lines)} owners)"

    def _enqueue(self, owner: SimulatedTask[Any] | None) -> None:
        if owner is None:
            self._draws += 1
            drawn = child(self._identity, self._draws)
        else:
            owner.draws += 1
            drawn = child(owner.identity, -owner.draws)  # positive ones name its children
        self._arrivals += 1
        longest = self._usual if (drawn >> 32) % _ONE_IN else _LONG
        heapq.heappush(self._next, (self._steps + drawn % longest, self._arrivals, owner))
