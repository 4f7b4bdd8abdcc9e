"""What a record store implements. All of it is synchronous and short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dispatch.model.base import Instant, Value
from dispatch.model.errors import DispatchError, Invalid
from dispatch.model.journal import Entry
from dispatch.model.status import Cause, State


class Summary(Value):
    """What a store keeps beside a record, so that jobs can be listed without folding them.

    It is worked out by the fold and written in the same transaction as the events that it sums up. ``due`` is when the
    job should be looked at next; ``None`` once it has ended and nothing is left to do.
    """

    id: str
    version: int
    name: str
    cluster: str
    user: str
    state: State
    accepted_at: Instant
    updated_at: Instant
    key: str | None = None
    spec_hash: str = ""
    cause: Cause | None = None
    submission: int = 0
    labels: dict[str, str] = {}
    finished: bool = False
    due: Instant | None = None
    why: str = ""
    """One line on what it waits for, or how it ended."""


class Query(Value):
    """Which jobs to list; every field narrows. ``limit`` counts jobs, newest first."""

    finished: bool | None = None
    states: tuple[State, ...] = ()
    causes: tuple[Cause, ...] = ()
    cluster: str | None = None
    user: str | None = None
    name: str | None = None
    labels: dict[str, str] = {}
    since: Instant | None = None
    until: Instant | None = None
    limit: int = 1000


class Addition(Value):
    """One append among many: what ``Store.append`` is asked for."""

    job: str
    expected: int
    entries: tuple[Entry, ...]
    summary: Summary


Added = bool | DispatchError
"""What became of one append among many: what ``Store.append`` returns, or the error that it raises."""


class Creation(Value):
    """One new job among many: what ``Store.create`` is asked for."""

    entry: Entry
    summary: Summary


class Turn(Value):
    """When a job should be looked at next.

    Where ``version`` is given, it was decided on that version of the record, and says nothing of a later one.
    """

    job: str
    due: Instant | None
    version: int | None = None


AWAY = " is away since "
"""Stands in each line of a heartbeat that tells of a cluster's absence, and in no other."""


class Heartbeat(Value):
    """A supervisor that is at work on this store."""

    id: str
    host: str
    pid: int
    version: str
    seen: Instant
    clusters: tuple[str, ...] = ()
    """One line on each cluster that it cannot reach: what is known of its jobs is as old as that; and one on each that
    has objects of these records whose jobs they do not know (12, T1)."""


class Store(Protocol):
    """The durable records of all jobs.

    Every method may raise ``StoreError`` with what to do about it (no permission, full disk, network file system) and
    ``NewerSchema``. What has been returned from ``create`` and ``append`` survives a power cut.
    """

    @property
    def id(self) -> str:
        """The identity of this store, a ULID, made when it was; every object carries it."""
        ...

    @property
    def place(self) -> str:
        """Where the records are, for people."""
        ...

    def create(self, entry: Entry, summary: Summary) -> Summary:
        """Write the header of a new job.

        Where ``summary.key`` is taken, nothing is written and the summary of the job that has it is returned; the caller
        compares the spec hashes.
        """
        ...

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        """Append on version ``expected``, all or nothing. ``False`` where another writer has been there first."""
        ...

    def load(self, job: str, after: int = 0) -> tuple[Entry, ...]:
        """Read the events after that version, in order. Raises ``NotFound``, ``CorruptRecord``, ``NewerSchema``."""
        ...

    def summary(self, job: str) -> Summary:
        """The summary of one job. Raises ``NotFound``."""
        ...

    def versions(self, jobs: Sequence[str]) -> dict[str, int]:
        """The version of each of the jobs, by one question; those that are not there or cannot be read are left out."""
        ...

    def resolve(self, text: str) -> tuple[Summary, ...]:
        """Find jobs by id, unique id prefix (6 characters or more), key or name; newest first, empty when none."""
        ...

    def list(self, query: Query) -> tuple[Summary, ...]:
        """List jobs, newest first."""
        ...

    def due(self, now: Instant, limit: int) -> tuple[Summary, ...]:
        """List unfinished jobs whose due time has come, the longest due first; finished ones cost nothing."""
        ...

    def reschedule(self, job: str, due: Instant | None) -> None:
        """Set when the job should be looked at next. A hint, not an event."""
        ...

    def reschedule_all(self, turns: Sequence[Turn]) -> None:
        """Set when each of many jobs should be looked at next, by compare-and-set.

        One whose record is not at the version of its turn keeps the time that whoever moved it has set; one that is not
        there is passed over.
        """
        ...

    def claim(
        self, jobs: Sequence[str], owner: str, until: Instant, now: Instant
    ) -> frozenset[str]:
        """Claim those of the jobs that nobody else has a live claim on, until then; returns the claimed ones."""
        ...

    def unclaim(self, owner: str) -> None:
        """Give up all claims of the owner."""
        ...

    def beat(self, heartbeat: Heartbeat) -> None:
        """Say that a supervisor is at work."""
        ...

    def unbeat(self, supervisor: str) -> None:
        """Say that it has stopped."""
        ...

    def heartbeats(self, since: Instant) -> tuple[Heartbeat, ...]:
        """The supervisors seen since then."""
        ...

    def close(self) -> None:
        """Let go of everything; a second close does nothing."""
        ...


@runtime_checkable
class MultiAppender(Protocol):
    """A store that can make many appends at the price of few."""

    def append_all(self, additions: Sequence[Addition]) -> Sequence[Added]:
        """Append to many jobs, each as ``Store.append`` does it alone: a compare-and-set and all or nothing of its own.

        The answers are in the order of what was asked for; a refusal or an error of one never stops the others. When it
        returns, each that is ``True`` survives a power cut. What is raised is true of all, as of one append that raises it: of
        each it may be unknown whether it is there. No job comes twice (``Invalid``).
        """
        ...


@runtime_checkable
class MultiCreator(Protocol):
    """A store that can make many jobs at the price of few."""

    def create_all(self, creations: Sequence[Creation]) -> Sequence[Summary | DispatchError]:
        """Write the headers of new jobs, each as ``Store.create`` does it alone, in their order.

        The answers are what ``create`` returns, or the error that it raises; that of one never stops the others. When it returns,
        each that was made survives a power cut. What is raised is true of all: of each it may be unknown whether it is there.
        """
        ...


def create_all(store: Store, creations: Sequence[Creation]) -> Sequence[Summary | DispatchError]:
    """Make many jobs: together where the store can, else one after the other, with the same answers."""
    if isinstance(store, MultiCreator):
        return store.create_all(creations)
    return [_created(store, one) for one in creations]


def _created(store: Store, one: Creation) -> Summary | DispatchError:
    try:
        return store.create(one.entry, one.summary)
    except DispatchError as error:
        return error


def append_all(store: Store, additions: Sequence[Addition]) -> Sequence[Added]:
    """Append to many jobs: together where the store can, else one after the other, with the same answers.

    Raises what ``MultiAppender.append_all`` raises.
    """
    if isinstance(store, MultiAppender):
        return store.append_all(additions)
    check_distinct(additions)
    return [_added(store, one) for one in additions]


def check_distinct(additions: Sequence[Addition]) -> None:
    """Refuse many appends of which two are to one job: whether the second holds would hang on the first. Raises ``Invalid``."""
    seen: set[str] = set()
    for one in additions:
        if one.job in seen:
            raise Invalid(f"Job {one.job} is appended to twice at once; nothing was written.")
        seen.add(one.job)


def _added(store: Store, one: Addition) -> Added:
    try:
        return store.append(one.job, one.expected, one.entries, one.summary)
    except DispatchError as error:
        return error
