"""What shall go wrong with the next calls."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from dispatch.model.errors import DispatchError


@dataclass(frozen=True, slots=True)
class DropReply:
    """The call has its effect, and its caller never hears of it."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The call has its effect later; its caller gives up before."""

    by: timedelta


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The call has its effect now, and once more later; its caller gets the first reply."""

    by: timedelta


@dataclass(frozen=True, slots=True)
class Cut:
    """Only the first steps of the call are carried out, and its caller never hears of it."""

    steps: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """The call is refused with this error, and does nothing."""

    error: DispatchError


Fault = DropReply | Delay | Duplicate | Cut | Refuse


@dataclass(slots=True)
class Faults:
    """Faults of the next writes, first come first served, and whether the cluster can be reached at all."""

    writes: deque[Fault] = field(default_factory=deque["Fault"])
    reads: deque[DispatchError] = field(default_factory=deque["DispatchError"])
    away: bool = False
    away_until: datetime | None = None

    def next_write(self) -> Fault | None:
        """Take the fault of this write."""
        return self.writes.popleft() if self.writes else None

    def is_away(self, now: datetime) -> bool:
        """Whether nobody can reach the cluster, although it is well."""
        return self.away or (self.away_until is not None and now < self.away_until)
