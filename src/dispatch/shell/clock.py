"""The clock of this host."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime


class SystemClock:
    """The system's own time, implementing ``dispatch.spi.clock.Clock``."""

    def now(self) -> datetime:
        """The time now, in UTC."""
        return datetime.now(UTC)

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until then; at once where that has passed."""
        await asyncio.sleep(max(0.0, (moment - self.now()).total_seconds()))
