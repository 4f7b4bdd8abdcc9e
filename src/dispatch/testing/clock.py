"""A clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)
"""Where a manual clock begins, unless it is told otherwise."""


class ManualClock:
    """A clock for tests: time passes only by ``advance``. It implements ``dispatch.spi.clock.Clock``."""

    def __init__(self, now: datetime = START) -> None:
        if now.tzinfo is None:
            raise ValueError("a moment is aware; give the clock a datetime with a time zone")
        self._now = now.astimezone(UTC)
        self._order = itertools.count()
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """The moment at which it stands."""
        return self._now

    def advance(self, duration: timedelta) -> datetime:
        """Move on by ``duration`` and wake, in order, whoever slept until then; return the new moment."""
        return self.advance_to(self._now + duration)

    def advance_to(self, moment: datetime) -> datetime:
        """Move on to ``moment``; ``ValueError`` where that lies in the past."""
        if moment < self._now:
            raise ValueError(f"a clock does not go back, from {self._now} to {moment}")
        self._now = moment.astimezone(UTC)
        while self._sleepers and self._sleepers[0][0] <= self._now:
            sleeper = heapq.heappop(self._sleepers)[2]
            if not sleeper.done():
                sleeper.set_result(None)
        return self._now

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until the clock has been moved to ``moment`` or beyond."""
        if moment > self._now:
            woken = asyncio.get_running_loop().create_future()
            heapq.heappush(self._sleepers, (moment, next(self._order), woken))
            await woken

    @property
    def next_alarm(self) -> datetime | None:
        """The earliest moment that anybody sleeps until."""
        return min((at for at, _, sleeper in self._sleepers if not sleeper.done()), default=None)

    def __repr__(self) -> str:
        return f"ManualClock({self._now.isoformat()}, {len(self._sleepers)} asleep)"
