"""Which file is where, and what its name says. A name of another shape is nobody's business and is passed over.

format                          the format and the identity of the store; made last
jobs/01KJ/<ULID>/0000000002     one append: the entries from version 2 on, and the summary after them
keys/ab/<hash>                  who has a key, with the whole header of that job
queue/<ULID>-<due>-<name>       every unfinished job; the due time is in the name, so that one listing tells all
done/2026-03-04/<accepted>-<ULID>-<name>    every finished job, with its summary
nonces/abc/<hash>               a second name of an append's file
claims/<owner>, supervisors/<id>            who is at work
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC
from typing import TYPE_CHECKING, NamedTuple, Self

from dispatch.stores.shared import micros

if TYPE_CHECKING:
    from pathlib import Path

    from dispatch.model.base import Instant
    from dispatch.spi.store import Summary

FORMAT = "format"
JOBS, KEYS, QUEUE, DONE = "jobs", "keys", "queue", "done"
NONCES, CLAIMS, SUPERVISORS = "nonces", "claims", "supervisors"
DIRECTORIES = (JOBS, KEYS, QUEUE, DONE, NONCES, CLAIMS, SUPERVISORS)

FRESH = ".new-"
"""How the name of a file begins that is still being written."""

SHARD = 4
"""The first letters of an id that its shard is named by: the jobs of some twelve days."""

_ID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_JOB = re.compile(_ID)
_VERSION = re.compile("[0-9]{10}")
_MARKER = re.compile(f"({_ID})-([0-9]{{18}}|never)-([0-9a-f]{{8}})")
_DONE = re.compile(f"([0-9]{{18}})-({_ID})-([0-9a-f]{{8}})")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def digest(text: str) -> str:
    """A text as a name of a file."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def name_digest(name: str) -> str:
    """A job's name, as the markers carry it: too short to be sure, so whoever finds it looks into the record."""
    return digest(name)[:8]


def is_job(name: str) -> bool:
    """Whether it is an id, and so the name of a job's directory."""
    return _JOB.fullmatch(name) is not None


def is_day(name: str) -> bool:
    """Whether it is the name of a shard of finished jobs."""
    return _DAY.fullmatch(name) is not None


def shard_of(root: Path, job: str) -> Path:
    """The directory of the directories of a job and its contemporaries."""
    return root / JOBS / job[:SHARD]


def job_directory(root: Path, job: str) -> Path:
    """The directory of a job's record."""
    return root / JOBS / job[:SHARD] / job


def version_name(version: int) -> str:
    """The name of the append that begins with a version."""
    return f"{version:010d}"


def versions_in(names: list[str]) -> list[int]:
    """The versions that appends begin with, in order."""
    return sorted(int(name) for name in names if _VERSION.fullmatch(name))


class Marker(NamedTuple):
    """The name under which an unfinished job stands in the queue; ``due`` in microseconds since 1970."""

    job: str
    due: int | None
    name: str

    @classmethod
    def of(cls, summary: Summary) -> Self:
        return cls(summary.id, due_micros(summary.due), name_digest(summary.name))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        found = _MARKER.fullmatch(text)
        if found is None:
            return None
        job, due, name = found.groups()
        return cls(job, None if due == "never" else int(due), name)

    def __str__(self) -> str:
        due = "never" if self.due is None else f"{self.due:018d}"
        return f"{self.job}-{due}-{self.name}"

    def is_later_than(self, due: int | None) -> bool:
        """Whether the job would be looked at later than is asked for."""
        return due is not None and (self.due is None or self.due > due)


def due_micros(due: Instant | None) -> int | None:
    """A due time as a marker has it."""
    return None if due is None else max(micros(due), 0)


class Done(NamedTuple):
    """The name under which a finished job is listed; ``accepted`` in microseconds since 1970."""

    accepted: int
    job: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        found = _DONE.fullmatch(text)
        return None if found is None else cls(int(found[1]), found[2], found[3])

    def __str__(self) -> str:
        return f"{self.accepted:018d}-{self.job}-{self.name}"


def done_path(root: Path, summary: Summary) -> Path:
    """Where a finished job is listed: by the day of its acceptance."""
    done = Done(max(micros(summary.accepted_at), 0), summary.id, name_digest(summary.name))
    return root / DONE / day_of(summary.accepted_at) / str(done)


def day_of(at: Instant) -> str:
    """The shard of the jobs that were accepted on a day, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d}"
