"""Time, injected: everything reads the time and sleeps through one clock."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """A clock of one host."""

    def now(self) -> datetime:
        """The time now, aware, in UTC."""
        ...

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until then; returns at once where that has passed."""
        ...
