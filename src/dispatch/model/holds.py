"""Begin times as gates and holds (12, O5 and B4).

An object is created with a begin time far in the future, its *base*. Base + 0 is the gate, base + I the hold of instance
I. The base is fixed when the start is intended, and is kept in the ref and in the object's own marks: the scheduler
moves the submit time at a requeue, but never the begin time.
"""

from __future__ import annotations

from datetime import datetime

HOLD_BASE_S = 315_576_000
"""How far in the future a base lies, in seconds: ten years of 365.25 days."""

MOST_INSTANCES = 86_400
"""Hold instances stay below this, so that a begin time is never taken for the base of another object's."""


def base_of(now: datetime) -> int:
    """The base of an object whose start is intended now, in Unix seconds."""
    return int(now.timestamp()) + HOLD_BASE_S
