"""What a read can show of an object, as the tables of the protocol name it."""

from __future__ import annotations

from core.builders import DECLARED, ended, gated, held, queued, running
from dispatch.model.status import Observation

__all__ = ["DECLARED", "READS", "seen_as"]

READS: dict[str, Observation | None] = {
    "gated": gated(),
    "queued": queued(),
    "queued and held": held(),
    "running": running(),
    "ended, may run again": ended(final=False),
    "ended": ended(),
    "nothing": None,
}
"""Where it is held, it is by the hold that the write names."""


def seen_as(name: str) -> tuple[Observation, ...]:
    """The observations of such a read."""
    seen = READS[name]
    return () if seen is None else (seen,)
