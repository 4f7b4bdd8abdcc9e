"""Records in memory, with the promises of SQLite under ``synchronous=FULL``, and nothing beyond them.

What ``create`` and ``append`` have returned survives a power cut. Hints (due times, claims, signs of life) are written
without a sync: a power cut may undo them. ``Records`` is the disk; a ``RecordsStore`` is one process's open handle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from msgspec.structs import replace

from dispatch.model.base import Instant
from dispatch.model.epoch import is_ulid
from dispatch.model.errors import Conflict, NewerSchema
from dispatch.model.journal import SCHEMA, Entry
from dispatch.sim.chance import Stream
from dispatch.spi.store import Heartbeat, Query, Summary, Turn
from dispatch.stores import shared


@dataclass(slots=True)
class Kept:
    """One job on the disk; ``hint`` is a due time that was written without a sync."""

    entries: list[Entry]
    summary: Summary
    due: Instant | None
    claim: tuple[str, Instant] | None = None
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class Backup:
    """The records as they were at one moment."""

    entries: dict[str, tuple[Entry, ...]] = field(default_factory=dict[str, tuple[Entry, ...]])
    summaries: dict[str, Summary] = field(default_factory=dict[str, Summary])


class Moment(Enum):
    """When a write fails: nothing is written, or all is, and its writer is told that it failed."""

    BEFORE = "is refused"
    AFTER = "is there, untold"


Written = Callable[[str, Sequence[Entry]], None]


class Records:
    """The disk that all processes of one site share."""

    def __init__(self, identity: str, place: str = "simulated records") -> None:
        self.id = identity
        self.place = place
        self.jobs: dict[str, Kept] = {}
        self.keys: dict[str, str] = {}
        self.nonces: dict[str, tuple[str, int]] = {}
        self.beats: dict[str, Heartbeat] = {}
        self.on_written: list[Written] = []
        """Told of every write that is on the disk, before its writer hears of it."""

    def write(self, job: str, entries: Sequence[Entry], summary: Summary) -> None:
        """Put entries on the disk, with their summary, all or nothing."""
        for entry in entries:
            known = self.nonces.get(entry.nonce)
            if known is not None and known != (job, entries[0].version):
                raise Conflict(f"The nonce {entry.nonce} was used before.")
        kept = self.jobs.get(job)
        if kept is None:
            kept = self.jobs[job] = Kept([], summary, summary.due)
            if summary.key is not None:
                self.keys[summary.key] = job
        kept.entries += entries
        kept.summary, kept.due = replace(summary, due=None), summary.due
        if summary.finished:
            kept.claim = None
        kept.schema = max(kept.schema, *(entry.schema for entry in entries))
        for entry in entries:
            self.nonces[entry.nonce] = (job, entries[0].version)
        for told in self.on_written:
            told(job, entries)

    def has(self, job: str, entries: Sequence[Entry]) -> bool:
        """Whether exactly these entries are there already: so is a write of unknown outcome settled."""
        there = self.jobs[job].entries
        first = entries[0].version - 1
        return [e.nonce for e in there[first : first + len(entries)]] == [e.nonce for e in entries]

    def cut_power(self, chance: Stream) -> None:
        """Lose what was never promised: each hint on its own goes back, or stays."""
        for kept in self.jobs.values():
            if kept.claim is not None and chance.happens(0.5):
                kept.claim = None
            if not kept.summary.finished and chance.happens(0.5):
                kept.due = kept.entries[-1].at
        self.beats.clear()

    def back_up(self) -> Backup:
        """Copy the records as they are."""
        return Backup(
            {job: tuple(kept.entries) for job, kept in self.jobs.items()},
            {job: replace(kept.summary, due=kept.due) for job, kept in self.jobs.items()},
        )

    def restore(self, backup: Backup) -> None:
        """Put an older copy in the place of the records."""
        self.jobs = {
            job: Kept(
                list(entries),
                backup.summaries[job],
                backup.summaries[job].due,
                schema=max(entry.schema for entry in entries),
            )
            for job, entries in backup.entries.items()
        }
        self.keys = {
            kept.summary.key: job for job, kept in self.jobs.items() if kept.summary.key is not None
        }
        self.beats.clear()


class RecordsStore:
    """One handle on the records; it implements ``dispatch.spi.store.Store``.

    ``point`` is told of each write before and after it, and of each read: where the process is dead it raises, and
    nothing is read or written. ``disk`` raises where a write fails, before or after it.
    """

    def __init__(
        self,
        records: Records,
        point: Callable[[str], None] = lambda _: None,
        disk: Callable[[str, Moment], None] = lambda _, __: None,
    ) -> None:
        self.records = records
        self.point = point
        self.disk = disk

    @property
    def id(self) -> str:
        """The identity of the records."""
        return self.records.id

    @property
    def place(self) -> str:
        """Where the records are said to be."""
        return self.records.place

    def _kept(self, job: str) -> Kept:
        try:
            return self.records.jobs[job]
        except KeyError:
            raise shared.not_found(job) from None

    # --- records

    def create(self, entry: Entry, summary: Summary) -> Summary:
        """Write the header of a new job; where its key is taken, give the summary of the job that has it."""
        shared.check(summary.id, 0, (entry,), summary)
        self.point("create")
        self.disk("create", Moment.BEFORE)
        records = self.records
        taken = records.keys.get(summary.key) if summary.key is not None else None
        job = taken or (summary.id if summary.id in records.jobs else None)
        if job is not None:
            if taken is None and not records.has(job, (entry,)):
                raise Conflict(f"There is a job {job} already.", todo="Submit again, for a new id.")
            return self._told(self._kept(job))
        records.write(summary.id, (entry,), summary)
        self.disk("create", Moment.AFTER)
        self.point("created")
        return summary

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        """Append on version ``expected``, all or nothing. ``False`` where another writer has been there first."""
        shared.check(job, expected, entries, summary)
        self.point("append")
        self.disk("append", Moment.BEFORE)
        kept = self._kept(job)
        self._refuse_newer(job, kept)
        if len(kept.entries) != expected:
            return self.records.has(job, entries)
        self.records.write(job, entries, summary)
        self.disk("append", Moment.AFTER)
        self.point("appended")
        return True

    def load(self, job: str, after: int = 0) -> tuple[Entry, ...]:
        """Read the events after that version, in order."""
        self.point("")
        kept = self._kept(job)
        self._refuse_newer(job, kept)
        return tuple(kept.entries[after:])

    def _refuse_newer(self, job: str, kept: Kept) -> None:
        if kept.schema > SCHEMA:
            raise NewerSchema(f"Job {job} was written by a newer dispatch.", todo="Upgrade.")

    # --- questions

    def _told(self, kept: Kept) -> Summary:
        return replace(kept.summary, due=kept.due)

    def summary(self, job: str) -> Summary:
        """The summary of one job."""
        self.point("")
        return self._told(self._kept(job))

    def versions(self, jobs: Sequence[str]) -> dict[str, int]:
        """The version of each of the jobs that are there."""
        self.point("")
        there = self.records.jobs
        return {job: len(there[job].entries) for job in jobs if job in there}

    def resolve(self, text: str) -> tuple[Summary, ...]:
        """Find jobs by id, key, id prefix or name; newest first."""
        self.point("")
        jobs = self.records.jobs
        if is_ulid(text.upper()) and text.upper() in jobs:
            return (self._told(jobs[text.upper()]),)
        if text in self.records.keys:
            return (self._told(jobs[self.records.keys[text]]),)
        low, high = shared.prefix_range(text)
        return self._newest(
            kept for job, kept in jobs.items() if kept.summary.name == text or low <= job < high
        )[: shared.MOST_MATCHES]

    def list(self, query: Query) -> tuple[Summary, ...]:
        """List jobs, newest first."""
        self.point("")
        found = (kept for kept in self.records.jobs.values() if _fits(kept.summary, query))
        return self._newest(found)[: max(query.limit, 0)]

    def _newest(self, found: Iterable[Kept]) -> tuple[Summary, ...]:
        told = map(self._told, found)
        return tuple(sorted(told, key=lambda one: (one.accepted_at, one.id), reverse=True))

    def due(self, now: Instant, limit: int) -> tuple[Summary, ...]:
        """List unfinished jobs whose due time has come, the longest due first."""
        self.point("")
        found = [
            (kept.due, job, kept)
            for job, kept in self.records.jobs.items()
            if kept.due is not None and kept.due <= now and not kept.summary.finished
        ]
        found.sort(key=lambda one: one[:2])
        return tuple(self._told(kept) for _, _, kept in found[: max(limit, 0)])

    # --- hints

    def reschedule(self, job: str, due: Instant | None) -> None:
        """Set when the job should be looked at next."""
        self.point("")
        self._kept(job).due = due

    def reschedule_all(self, turns: Sequence[Turn]) -> None:
        """Set when each should be looked at next, where its record is still at the version of its turn."""
        self.point("reschedule")
        self.disk("reschedule", Moment.BEFORE)
        for turn in turns:
            kept = self.records.jobs.get(turn.job)
            if kept is not None and turn.version in (None, len(kept.entries)):
                kept.due = turn.due

    def claim(
        self, jobs: Sequence[str], owner: str, until: Instant, now: Instant
    ) -> frozenset[str]:
        """Claim those of the jobs that nobody else has a live claim on, until then."""
        self.point("claim")
        self.disk("claim", Moment.BEFORE)
        mine: list[str] = []
        for job in jobs:
            kept = self.records.jobs.get(job)
            if kept is None:
                continue
            if kept.claim is None or kept.claim[0] == owner or kept.claim[1] <= now:
                kept.claim = (owner, until)
                mine.append(job)
        return frozenset(mine)

    def unclaim(self, owner: str) -> None:
        """Give up all claims of the owner."""
        self.point("")
        for kept in self.records.jobs.values():
            if kept.claim is not None and kept.claim[0] == owner:
                kept.claim = None

    def beat(self, heartbeat: Heartbeat) -> None:
        """Say that a supervisor is at work."""
        self.point("")
        self.records.beats[heartbeat.id] = heartbeat

    def unbeat(self, supervisor: str) -> None:
        """Say that it has stopped."""
        self.point("")
        self.records.beats.pop(supervisor, None)

    def heartbeats(self, since: Instant) -> tuple[Heartbeat, ...]:
        """The supervisors seen since then."""
        self.point("")
        return tuple(beat for beat in self.records.beats.values() if beat.seen >= since)

    def close(self) -> None:
        """Let go of nothing: the disk is everybody's."""


def _fits(summary: Summary, query: Query) -> bool:
    return (
        (query.finished is None or summary.finished is query.finished)
        and (not query.states or summary.state in query.states)
        and (not query.causes or summary.cause in query.causes)
        and all(
            wanted is None or wanted == found
            for wanted, found in (
                (query.cluster, summary.cluster),
                (query.user, summary.user),
                (query.name, summary.name),
            )
        )
        and query.labels.items() <= summary.labels.items()
        and (query.since is None or summary.accepted_at >= query.since)
        and (query.until is None or summary.accepted_at < query.until)
    )
