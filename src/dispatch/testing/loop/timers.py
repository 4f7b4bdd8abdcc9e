"""The timers of a loop: earliest first, and in the order of their setting where they are due at once."""

from __future__ import annotations

import asyncio
import heapq

_FEW = 64


class Timers:
    """A heap of timers. Those that were cancelled are dropped late, but never more of them kept than of the others."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._set = 0
        self._sweep_at = _FEW

    def add(self, when: float, timer: asyncio.TimerHandle) -> None:
        """Set a timer."""
        self._set += 1
        heapq.heappush(self._heap, (when, self._set, timer))
        if len(self._heap) > self._sweep_at:
            self._heap = [entry for entry in self._heap if not entry[2].cancelled()]
            heapq.heapify(self._heap)
            self._sweep_at = max(_FEW, 2 * len(self._heap))

    def next(self) -> float | None:
        """Return when the next timer is due; ``None`` where none is set."""
        heap = self._heap
        while heap and heap[0][2].cancelled():
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: float) -> list[asyncio.TimerHandle]:
        """Take those that are due."""
        heap = self._heap
        found: list[asyncio.TimerHandle] = []
        while heap and heap[0][0] <= now:
            timer = heapq.heappop(heap)[2]
            if not timer.cancelled():
                found.append(timer)
        return found

    def clear(self) -> None:
        """Forget all of them."""
        self._heap.clear()

    def __bool__(self) -> bool:
        return bool(self._heap)

    def __repr__(self) -> str:
        return f"Timers({len(self._heap)} set)"
