"""Hosts, whose clocks differ by up to the declared skew."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta


class HostClock:
    """The clock of one host: ahead of the true time by ``offset``, which an adjustment may change."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, start: datetime, offset: timedelta = timedelta()
    ) -> None:
        self._loop = loop
        self._start = start
        self.offset = offset

    def now(self) -> datetime:
        """What it shows."""
        return self._start + timedelta(seconds=self._loop.time()) + self.offset

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until it shows ``moment``."""
        while (left := (moment - self.now()).total_seconds()) > 0:  # noqa: ASYNC110 - the clock may be set meanwhile
            await asyncio.sleep(left)
