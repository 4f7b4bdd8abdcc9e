"""What both kinds of records have in common: times as numbers, bounds, what may follow what, how an id is abbreviated."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from dispatch.model.base import EARLIEST
from dispatch.model.errors import Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.model.journal import Entry
    from dispatch.spi.store import Summary

LONGEST_EVENT = 4 * 1024 * 1024
"""The most bytes that an event may have; a header with a large environment has some thousands."""

SHORTEST_PREFIX = 6
MOST_MATCHES = 1000
"""How many jobs of one name or prefix are returned at most."""

_PREFIX = re.compile(f"[0-7][0-9A-HJKMNP-TV-Z]{{{SHORTEST_PREFIX - 1},25}}")

_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """A moment as whole microseconds since 1970."""
    return (moment - EARLIEST) // _MICROSECOND


def moment(value: int) -> datetime:
    """The moment of so many microseconds since 1970."""
    return EARLIEST + value * _MICROSECOND


def prefix_range(text: str) -> tuple[str, str]:
    """The ids that begin with the text, as a half-open range; an empty one where it is too short or no part of an id."""
    upper = text.upper()
    return (upper, f"{upper}~") if _PREFIX.fullmatch(upper) else ("", "")


def check(job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> None:
    """Refuse entries that do not follow ``expected`` without a gap, or a summary that is not of them."""
    wanted = list(range(expected + 1, expected + 1 + len(entries)))
    if not entries or [entry.version for entry in entries] != wanted:
        found = [entry.version for entry in entries]
        raise Invalid(
            f"Job {job}: events of versions {found} cannot be appended on version {expected}."
        )
    if (summary.id, summary.version) != (job, wanted[-1]):
        raise Invalid(
            f"Job {job}: the summary is of job {summary.id} at version {summary.version}, not of version {wanted[-1]}."
        )


def not_found(job: str) -> NotFound:
    """The error for a job that is not there."""
    return NotFound(
        f"There is no job {job} in these records.", todo="List them with `dispatch status --all`."
    )
