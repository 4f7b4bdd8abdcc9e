"""What will happen, and when: the world's own future, worked out when somebody looks."""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime


class Agenda:
    """Moments with what happens at each, in order of time and then of entry. It starts no timer."""

    def __init__(self) -> None:
        self._order = itertools.count()
        self._entries: list[tuple[datetime, int, Callable[[], None]]] = []

    def enter(self, at: datetime, action: Callable[[], None]) -> None:
        """Let ``action`` happen at ``at``."""
        heapq.heappush(self._entries, (at, next(self._order), action))

    def next(self) -> datetime | None:
        """The moment of the first entry."""
        return self._entries[0][0] if self._entries else None

    def take(self, now: datetime) -> tuple[datetime, Callable[[], None]] | None:
        """Take out the first entry that is due."""
        if not self._entries or self._entries[0][0] > now:
            return None
        at, _, action = heapq.heappop(self._entries)
        return at, action
