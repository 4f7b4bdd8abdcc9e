"""Hosts, whose clocks differ by up to the declared skew."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta


class HostClock:
    """The clock of one host: ahead of the true time by ``offset``, which an adjustment may change."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, start: datetime, offset: timedelta = timedelta()
    ) -> None:
        self._time = loop.time
        self._start = start
        self._offset = offset
        self._at = -1.0
        self._shown = start

    @property
    def offset(self) -> timedelta:
        """How far it is ahead of the true time."""
        return self._offset

    @offset.setter
    def offset(self, offset: timedelta) -> None:
        self._offset, self._at = offset, -1.0

    def now(self) -> datetime:
        """What it shows."""
        at = self._time()
        if at != self._at:  # most looks are at one moment
            self._at = at
            self._shown = self._start + timedelta(seconds=at) + self._offset
        return self._shown

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until it shows ``moment``."""
        while (left := (moment - self.now()).total_seconds()) > 0:  # noqa: ASYNC110 - the clock may be set meanwhile
            await asyncio.sleep(left)
