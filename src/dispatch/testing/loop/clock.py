"""The clock of a host whose time a simulated loop makes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta


class SimulatedClock:
    """A clock that reads a loop's virtual time. It implements ``dispatch.spi.clock.Clock``.

    ``start`` is the moment at which the loop's ``time()`` is 0. A host whose clock runs ahead by ``offset`` has a clock of
    its own.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, start: datetime, *, offset: timedelta = timedelta()
    ) -> None:
        if start.tzinfo is None:
            raise ValueError("a moment is aware; give the clock a datetime with a time zone")
        self._loop = loop
        self._zero = start.astimezone(UTC) + offset

    def now(self) -> datetime:
        """The moment that it shows, to the microsecond."""
        return self._zero + timedelta(seconds=self._loop.time())

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until it shows ``moment``; returns at once where that has passed."""
        if moment > self.now():
            woken: asyncio.Future[None] = self._loop.create_future()
            timer = self._loop.call_at((moment - self._zero).total_seconds(), _wake, woken)
            try:
                await woken
            finally:
                timer.cancel()

    def ahead(self, offset: timedelta) -> SimulatedClock:
        """Make the clock of a host that is ahead of this one by ``offset`` (negative: behind)."""
        return SimulatedClock(self._loop, self._zero, offset=offset)

    def __repr__(self) -> str:
        return f"SimulatedClock({self.now().isoformat()})"


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
