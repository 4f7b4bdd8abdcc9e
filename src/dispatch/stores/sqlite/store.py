"""The embedded record store."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.spi.store import check_distinct
from dispatch.stores import shared
from dispatch.stores.shared import micros
from dispatch.stores.sqlite import identity, journal, queries, upkeep
from dispatch.stores.sqlite.database import Database
from dispatch.stores.sqlite.rows import (
    EVENT,
    entry_of,
    heartbeat_of,
    heartbeat_row,
    summary_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.model.base import Instant
    from dispatch.model.errors import DispatchError
    from dispatch.model.journal import Entry
    from dispatch.spi.store import Added, Addition, Creation, Heartbeat, Query, Summary, Turn

PATIENCE = 10.0
"""Seconds to wait for other writers. They hold the lock for milliseconds; longer means that one hangs."""

_FORGOTTEN_AFTER = timedelta(days=30)
"""Heartbeats older than this are removed, so that supervisors that were killed do not pile up."""


class SqliteStore:
    """A record store in one SQLite file on a local disk; it implements ``dispatch.spi.store.Store``.

    Called inline: a durable append takes about as long as the disk takes to sync. It belongs to the thread and the process
    that opened it. Any number of processes of one host may have the same file open.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        with database.read("read the identity") as raw:
            self._id, self._host = identity.read(raw)

    @classmethod
    def open(
        cls, path: Path, *, now: Instant, read_only: bool = False, patience: float = PATIENCE
    ) -> SqliteStore:
        """Open the records at ``path``, and make them, private to this account, where there are none.

        ``now`` only dates the identity of a new store. ``patience`` is in seconds. With ``read_only`` nothing is made and
        nothing is locked: records that are not there read as empty, with an empty ``id``, until opened again; every write
        raises ``ReadOnly``. Raises ``StoreError`` (a network file system, no permission, a full disk, not our file,
        somebody else's) and ``NewerSchema``.
        """
        path = Path(path).absolute()
        if read_only:
            return cls(Database.open_read_only(path, patience=patience))
        database = Database.open(path, patience=patience)
        try:
            with database.read("read the identity") as raw:
                found, _ = identity.read(raw)
            if not found:
                with database.write("make the identity") as raw:
                    identity.ensure(raw, now)
            return cls(database)
        except BaseException:
            database.close()
            raise

    def __repr__(self) -> str:
        return f"SqliteStore({self.place!r}, id={self._id!r})"

    @property
    def id(self) -> str:
        """The identity of the store, a ULID; empty where records opened for reading are not there."""
        return self._id

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self._db.path)

    @property
    def present(self) -> bool:
        """Whether there are records; ``False`` only where they were opened for reading and were not there."""
        return self._db.present

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know about the place of the records."""
        here = identity.this_host()
        moved = (
            f"The records {self.place} were made on another machine, or this one was set up anew. If the first ones are still"
            " in use, each of the two takes the other's jobs in the cluster for its own: use one of them only."
        )
        mismatch = bool(here and self._host and here != self._host)
        return tuple(filter(None, (self._db.warning, moved if mismatch else "")))

    def settle_here(self) -> None:
        """Make this machine the home of the records, after a move that was meant; the warning ends."""
        with self._db.write("set the host") as raw:
            raw.execute("UPDATE meta SET value = ? WHERE name = 'host_id'", (identity.this_host(),))
        self._host = identity.this_host()

    # ------------------------------------------------------------------ records

    def create(self, entry: Entry, summary: Summary) -> Summary:
        """Write the header of a new job; where ``summary.key`` is taken, return the summary of the job that has it.

        The same create a second time (same job and nonce) returns the job as it stands: so is one of unknown outcome
        settled. Raises ``Conflict`` where another writer has used the id.
        """
        shared.check(summary.id, 0, (entry,), summary)
        with self._db.write(f"create job {summary.id}") as raw:
            return journal.create(raw, entry, summary)

    def create_all(self, creations: Sequence[Creation]) -> tuple[Summary | DispatchError, ...]:
        """Write the headers of new jobs by one transaction; see ``dispatch.spi.store.MultiCreator``."""
        if not creations:
            return ()
        with self._db.write(f"create {len(creations)} jobs") as raw:
            return tuple(journal.make(raw, one) for one in creations)

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        """Append on version ``expected``, all or nothing. ``False`` where another writer has been there first.

        The same append a second time (same versions and nonces) is ``True`` and writes nothing: so is one of unknown
        outcome settled.
        """
        shared.check(job, expected, entries, summary)
        with self._db.write(f"append to job {job}") as raw:
            return journal.append(raw, job, expected, entries, summary)

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        """Append to many jobs by one transaction, which is synced once; see ``dispatch.spi.store.MultiAppender``."""
        check_distinct(additions)
        if not additions:
            return ()
        with self._db.write(f"append to {len(additions)} jobs") as raw:
            return tuple(journal.add(raw, one) for one in additions)

    def load(self, job: str, after: int = 0) -> tuple[Entry, ...]:
        """Read the events after that version, in order. Raises ``NotFound``, ``CorruptRecord``, ``NewerSchema``."""
        with self._db.read(f"load job {job}") as raw:
            version, _ = journal.head(raw, job)
            rows = raw.execute(
                f"SELECT {EVENT} FROM events WHERE job = ? AND version > ? ORDER BY version",  # noqa: S608
                (job, after),
            ).fetchall()
        journal.check_contiguous(job, [row[0] for row in rows], after, version)
        return tuple(entry_of(job, row) for row in rows)

    def has_nonce(self, nonce: str) -> bool:
        """Whether an append with this nonce has landed."""
        with self._db.read("look for a nonce") as raw:
            return (
                raw.execute("SELECT 1 FROM nonces WHERE nonce = ?", (nonce,)).fetchone() is not None
            )

    # ------------------------------------------------------------------ questions

    def summary(self, job: str) -> Summary:
        """The summary of one job. Raises ``NotFound``."""
        with self._db.read(f"read job {job}") as raw:
            row = raw.execute(queries.BY_ID, (job,)).fetchone()
        if row is None:
            raise shared.not_found(job)
        return summary_of(row)

    def versions(self, jobs: Sequence[str]) -> dict[str, int]:
        """The version of each of the jobs; those that are not there are left out."""
        with self._db.read("read the versions of jobs") as raw:
            return dict(raw.execute(queries.VERSIONS, (json.dumps(jobs),)).fetchall())

    def resolve(self, text: str) -> tuple[Summary, ...]:
        """Find jobs by id, key, id prefix (6 characters or more) or name; newest first, empty when none.

        A whole id, in any case, means that job alone, and a key the job that has it; otherwise several results mean that
        the text is ambiguous.
        """
        low, high = shared.prefix_range(text)
        with self._db.read("look for a job") as raw:
            for statement, value in ((queries.BY_ID, text.upper()), (queries.BY_KEY, text)):
                if (row := raw.execute(statement, (value,)).fetchone()) is not None:
                    return (summary_of(row),)
            rows = raw.execute(
                queries.BY_NAME_OR_PREFIX, {"text": text, "low": low, "high": high}
            ).fetchall()
        return tuple(map(summary_of, rows))

    def list(self, query: Query) -> tuple[Summary, ...]:
        """List jobs, newest first; ``since`` is inclusive, ``until`` is not, both by the time of acceptance."""
        with self._db.read("list the jobs") as raw:
            return tuple(map(summary_of, raw.execute(*queries.listing(query)).fetchall()))

    def due(self, now: Instant, limit: int) -> tuple[Summary, ...]:
        """List unfinished jobs whose due time has come, the longest due first; finished ones cost nothing."""
        with self._db.read("list what is due") as raw:
            return tuple(
                map(summary_of, raw.execute(queries.DUE, (micros(now), max(limit, 0))).fetchall())
            )

    # ------------------------------------------------------------------ hints: no sync, a power cut may undo them

    def reschedule(self, job: str, due: Instant | None) -> None:
        """Set when the job should be looked at next. A hint, not an event. Raises ``NotFound``."""
        with self._db.write(f"reschedule job {job}", durable=False) as raw:
            at = None if due is None else micros(due)
            if raw.execute("UPDATE jobs SET due = ? WHERE id = ?", (at, job)).rowcount == 0:
                raise shared.not_found(job)

    def reschedule_all(self, turns: Sequence[Turn]) -> None:
        """Set when each of many jobs should be looked at next, where its record is still at the version of its turn."""
        if not turns:
            return
        with self._db.write("reschedule jobs", durable=False) as raw:
            raw.executemany(
                queries.RESCHEDULE,
                [
                    (None if turn.due is None else micros(turn.due), turn.job, turn.version)
                    for turn in turns
                ],
            )

    def claim(
        self, jobs: Sequence[str], owner: str, until: Instant, now: Instant
    ) -> frozenset[str]:
        """Claim those of the jobs that nobody else has a live claim on, until then; returns the claimed ones."""
        if not jobs:
            return frozenset()
        bound = {"owner": owner, "until": micros(until), "now": micros(now)}
        with self._db.write("claim jobs", durable=False) as raw:
            return frozenset(
                job
                for job in jobs
                if raw.execute(queries.CLAIM, {**bound, "job": job}).rowcount == 1
            )

    def unclaim(self, owner: str) -> None:
        """Give up all claims of the owner."""
        with self._db.write("give up claims", durable=False) as raw:
            raw.execute("DELETE FROM claims WHERE owner = ?", (owner,))

    def beat(self, heartbeat: Heartbeat) -> None:
        """Say that a supervisor is at work; those not seen for a month are forgotten."""
        with self._db.write("write a heartbeat", durable=False) as raw:
            raw.execute(
                "INSERT OR REPLACE INTO heartbeats VALUES (?, ?, ?, ?, ?, ?)",
                heartbeat_row(heartbeat),
            )
            raw.execute(
                "DELETE FROM heartbeats WHERE seen < ?",
                (micros(heartbeat.seen - _FORGOTTEN_AFTER),),
            )

    def unbeat(self, supervisor: str) -> None:
        """Say that it has stopped."""
        with self._db.write("end a heartbeat", durable=False) as raw:
            raw.execute("DELETE FROM heartbeats WHERE id = ?", (supervisor,))

    def heartbeats(self, since: Instant) -> tuple[Heartbeat, ...]:
        """The supervisors seen since then, that moment included."""
        with self._db.read("read the heartbeats") as raw:
            rows = raw.execute(
                "SELECT id, host, pid, version, seen, clusters FROM heartbeats WHERE seen >= ? ORDER BY seen DESC, id",
                (micros(since),),
            ).fetchall()
        return tuple(map(heartbeat_of, rows))

    # ------------------------------------------------------------------ upkeep

    def backup(self, target: Path) -> None:
        """Copy the records as they are now, while others go on writing. Raises ``StoreError`` where ``target`` exists."""
        upkeep.backup(self._db, Path(target).absolute())

    def verify(self) -> tuple[str, ...]:
        """Check the whole file: SQLite's structures, and that every record has all its versions. Returns what is wrong."""
        with self._db.read("verify") as raw:
            return upkeep.verify(raw)

    def close(self) -> None:
        """Let go of everything; a second close does nothing."""
        self._db.close()
