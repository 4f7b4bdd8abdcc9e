"""What is ready, and which of it goes next."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from typing import Any, Protocol

from dispatch.testing.loop.mixing import child, mix
from dispatch.testing.loop.peeking import task_of
from dispatch.testing.loop.tasks import SimulatedTask

_PATIENCES = (2, 8, 32, 256)


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
    that nobody starves: a task which spins until another has done something would else be a runaway. How slow they can be
    is part of the seed: some orders appear only if one task stands still while others take many steps.
    """

    def __init__(self, seed: int) -> None:
        self._identity = mix(seed)
        self._patience = _PATIENCES[seed % len(_PATIENCES)]
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
        heapq.heappush(self._next, (self._steps + drawn % self._patience, self._arrivals, owner))
