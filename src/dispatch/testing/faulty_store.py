"""A store of a process that can die at each of its writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from dispatch.model.base import Instant
from dispatch.model.errors import DispatchError
from dispatch.model.journal import AnyEvent, Entry, Intended, Settled
from dispatch.spi.store import (
    Added,
    Addition,
    Creation,
    Heartbeat,
    Query,
    Store,
    Summary,
    Turn,
    append_all,
    create_all,
)
from dispatch.testing.points import Points

T = TypeVar("T")


class FaultyStore:
    """A store whose writes are points; it implements ``dispatch.spi.store.Store`` and ``MultiAppender``.

    A write is atomic, so it has no point within; only many appends together are not, and of those half are there at theirs.
    Reads are no points: dying at one is dying at the point before it.
    """

    def __init__(self, store: Store, points: Points) -> None:
        self.inner = store
        self.points = points

    @property
    def id(self) -> str:
        """The identity of the store within."""
        return self.inner.id

    @property
    def place(self) -> str:
        """The place of the store within."""
        return self.inner.place

    def _write(self, name: str, write: Callable[[], T]) -> T:
        self.points.reach(f"{name}, before")
        written = write()
        self.points.reach(f"{name}, after")
        return written

    # --- writes

    def create(self, entry: Entry, summary: Summary) -> Summary:
        """Write the header of a new job, between two points."""
        return self._write("create", lambda: self.inner.create(entry, summary))

    def create_all(self, creations: Sequence[Creation]) -> Sequence[Summary | DispatchError]:
        """Write the headers of new jobs, with the points of many appends."""
        if len(creations) < 2:
            return [self.create(one.entry, one.summary) for one in creations]
        half = len(creations) // 2
        self.points.reach(f"create {len(creations)} jobs, before")
        first = create_all(self.inner, creations[:half])
        self.points.reach(f"create {len(creations)} jobs, within")
        second = create_all(self.inner, creations[half:])
        self.points.reach(f"create {len(creations)} jobs, after")
        return [*first, *second]

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        """Append, between two points."""
        return self._write(
            f"append {_names(entries)}", lambda: self.inner.append(job, expected, entries, summary)
        )

    def append_all(self, additions: Sequence[Addition]) -> Sequence[Added]:
        """Append to many jobs, between two points, with one more where half of it is done."""
        if len(additions) < 2:
            return [
                self.append(one.job, one.expected, one.entries, one.summary) for one in additions
            ]
        name = f"append to {len(additions)} jobs {_names_of(additions)}"
        half = len(additions) // 2
        self.points.reach(f"{name}, before")
        first = append_all(self.inner, additions[:half])
        self.points.reach(f"{name}, within")
        second = append_all(self.inner, additions[half:])
        self.points.reach(f"{name}, after")
        return [*first, *second]

    def reschedule(self, job: str, due: Instant | None) -> None:
        """Set when the job should be looked at next, between two points."""
        self._write("reschedule", lambda: self.inner.reschedule(job, due))

    def reschedule_all(self, turns: Sequence[Turn]) -> None:
        """Set when each of many jobs should be looked at next, between two points."""
        self._write("reschedule", lambda: self.inner.reschedule_all(turns))

    def claim(
        self, jobs: Sequence[str], owner: str, until: Instant, now: Instant
    ) -> frozenset[str]:
        """Claim jobs, between two points."""
        return self._write("claim", lambda: self.inner.claim(jobs, owner, until, now))

    def unclaim(self, owner: str) -> None:
        """Give up all claims, between two points."""
        self._write("unclaim", lambda: self.inner.unclaim(owner))

    def beat(self, heartbeat: Heartbeat) -> None:
        """Say that a supervisor is at work, between two points."""
        self._write("beat", lambda: self.inner.beat(heartbeat))

    def unbeat(self, supervisor: str) -> None:
        """Say that it has stopped, between two points."""
        self._write("unbeat", lambda: self.inner.unbeat(supervisor))

    # --- reads

    def load(self, job: str, after: int = 0) -> tuple[Entry, ...]:
        """Read the events after that version."""
        self.points.alive()
        return self.inner.load(job, after)

    def summary(self, job: str) -> Summary:
        """The summary of one job."""
        self.points.alive()
        return self.inner.summary(job)

    def versions(self, jobs: Sequence[str]) -> dict[str, int]:
        """The versions of many jobs."""
        self.points.alive()
        return self.inner.versions(jobs)

    def resolve(self, text: str) -> tuple[Summary, ...]:
        """Find jobs by id, key or name."""
        self.points.alive()
        return self.inner.resolve(text)

    def list(self, query: Query) -> tuple[Summary, ...]:
        """List jobs."""
        self.points.alive()
        return self.inner.list(query)

    def due(self, now: Instant, limit: int) -> tuple[Summary, ...]:
        """List unfinished jobs whose due time has come."""
        self.points.alive()
        return self.inner.due(now, limit)

    def heartbeats(self, since: Instant) -> tuple[Heartbeat, ...]:
        """The supervisors seen since then."""
        self.points.alive()
        return self.inner.heartbeats(since)

    def close(self) -> None:
        """Let go of everything."""
        self.points.alive()
        self.inner.close()

    def __repr__(self) -> str:
        return f"FaultyStore({self.inner!r}, {self.points!r})"


def _names(entries: Sequence[Entry]) -> str:
    return " + ".join(name_of(entry.event) for entry in entries)


def _names_of(additions: Sequence[Addition]) -> str:
    return " | ".join(dict.fromkeys(_names(one.entries) for one in additions))


def name_of(event: AnyEvent) -> str:
    """The name of an event among the points: its kind, and what it is about where that tells two apart."""
    match event:
        case Intended(intent=intent):
            return f"Intended {intent.verb}"
        case Settled(outcome=outcome):
            return f"Settled {outcome}"
        case _:
            return type(event).__name__
