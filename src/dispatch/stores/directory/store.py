"""The directory store."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.model.errors import Conflict, CorruptRecord, Invalid, NotFound, ReadOnly, StoreError
from dispatch.spi.store import check_distinct
from dispatch.stores import shared
from dispatch.stores.directory import documents, layout, making, upkeep
from dispatch.stores.directory.appending import Appending
from dispatch.stores.directory.disk import Disk
from dispatch.stores.directory.faults import explaining, vanished
from dispatch.stores.directory.files import Files
from dispatch.stores.directory.parts import Parts
from dispatch.stores.directory.questions import Questions

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from dispatch.model.base import Instant
    from dispatch.model.journal import Entry
    from dispatch.spi.store import Added, Addition, Heartbeat, Query, Summary, Turn
    from dispatch.stores.directory.records import Head


class DirectoryStore:
    """A record store in a directory that several hosts may have mounted; it implements ``dispatch.spi.store.Store``.

    Nothing in it is locked: an append is a file that is linked to its name, and the file system lets one writer have the
    name. A host's cache may show what was true seconds ago. Then an append fails, and the next look is a fresh one.
    """

    def __init__(
        self, files: Files, found: making.Format | None, *, read_only: bool, made: bool
    ) -> None:
        self._files = files
        self._id = "" if found is None else found.id
        self._read_only = read_only
        self._closed = False
        self._made = made
        self._identity = self._root_identity() if found is not None else None
        parts = Parts(files)
        self._records = parts.records
        self._queue = parts.queue
        self._keys = parts.keys
        self._nonces = parts.nonces
        self._finished = parts.finished
        self._appending = Appending(files, parts)
        self._accepting = parts.accepting
        self._work = parts.work
        self._scheduling = parts.scheduling
        self._questions = Questions(parts, read_only=read_only)

    @classmethod
    def open(
        cls, path: Path, *, now: Instant, read_only: bool = False, disk: Disk | None = None
    ) -> DirectoryStore:
        """Open the records in the directory ``path``, and make it, private to this account, where there is none.

        ``now`` only dates the identity of a new store. With ``read_only`` nothing is made: records that are not there read
        as empty, with an empty ``id``, until opened again; every write raises ``ReadOnly``. Raises ``StoreError`` (a file
        system without hard links, no permission, a full disk, not our directory, somebody else's) and ``NewerSchema``.
        """
        files = Files(Path(path).absolute(), Disk() if disk is None else disk)
        with explaining("open", files.root):
            if read_only:
                found = making.read_format(files)
                if found is not None:
                    making.check_private(files.root)
                return cls(files, found, read_only=True, made=False)
            format_, made = making.prepare(files, now)
            store = cls(files, format_, read_only=False, made=made)
            if not making.has_queue(files):
                upkeep.rebuild_queue(files, store._records)
            return store

    def __repr__(self) -> str:
        return f"DirectoryStore({self.place!r}, id={self._id!r})"

    @property
    def id(self) -> str:
        """The identity of the store, a ULID; empty where records opened for reading are not there."""
        return self._id

    @property
    def place(self) -> str:
        """The path of the directory."""
        return str(self._files.root)

    @property
    def present(self) -> bool:
        """Whether there are records; ``False`` only where they were opened for reading and were not there."""
        return self._identity is not None

    @property
    def made(self) -> bool:
        """Whether this opening has made them."""
        return self._made

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know about the place of the records."""
        if not self._made:
            return ()
        return (
            f"New records are kept as files in the directory {self.place}: so every host that sees it can use them.",
        )

    # ------------------------------------------------------------------ records

    def create(self, entry: Entry, summary: Summary) -> Summary:
        """Write the header of a new job; where ``summary.key`` is taken, return the summary of the job that has it.

        The same create a second time (same job and nonce) returns the job as it stands: so is one of unknown outcome
        settled. Raises ``Conflict`` where another writer has used the id.
        """
        shared.check(summary.id, 0, (entry,), summary)
        if not layout.is_job(summary.id):
            raise Invalid(f"{summary.id!r} is no id of a job: a ULID in upper case.")
        data = documents.compose(summary.id, (entry,), summary, entry.schema)
        with self._writing(f"create job {summary.id}"):
            known = self._known(entry, summary)
            if known is None and self._nonces.used((entry,)):
                # A key goes before a nonce, and may have been taken since.
                known = self._known(entry, summary)
                if known is None:
                    self._appending.refuse_used(summary.id, 0, (entry,))
            if known is None and not self._accepting.accept(summary, data):
                known = self._known(entry, summary)
                if known is None:
                    raise StoreError(
                        f"Job {summary.id} was not made: another writer was there, and cannot be seen.",
                        todo="Submit again.",
                    )
            if known is not None:
                return self._questions.summary_at(known)
            self._appending.after(summary, (entry,))
        return summary

    def _known(self, entry: Entry, summary: Summary) -> Head | None:
        """The job that has the key, or this very job where it is there already."""
        if summary.key is not None and (holder := self._keys.holder(summary.key)) is not None:
            return self._accepting.finish(*holder)
        found = self._records.find(summary.id)
        if found is not None and not self._records.landed(summary.id, 0, (entry,)):
            raise Conflict(
                f"There is a job {summary.id} already.", todo="Submit again, for a new id."
            )
        return found

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        """Append on version ``expected``, all or nothing. ``False`` where another writer has been there first.

        The same append a second time (same versions and nonces) is ``True`` and writes nothing: so is one of unknown
        outcome settled.
        """
        shared.check(job, expected, entries, summary)
        with self._writing(f"append to job {job}"):
            return self._appending.append(job, expected, entries, summary)

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        """Append to many jobs, in steps that all take together; see ``dispatch.spi.store.MultiAppender``."""
        check_distinct(additions)
        with self._writing(f"append to {len(additions)} jobs"):
            return self._appending.append_all(additions)

    def load(self, job: str, after: int = 0) -> tuple[Entry, ...]:
        """Read the events after that version, in order. Raises ``NotFound``, ``CorruptRecord``, ``NewerSchema``."""
        with self._reading(f"load job {job}"):
            return self._records.load(job, after)

    def has_nonce(self, nonce: str) -> bool:
        """Whether an append with this nonce is known to have landed."""
        with self._reading("look for a nonce"):
            return self._nonces.has(nonce)

    # ------------------------------------------------------------------ questions

    def summary(self, job: str) -> Summary:
        """The summary of one job. Raises ``NotFound``, ``CorruptRecord``."""
        with self._reading(f"read job {job}"):
            return self._questions.summary_at(self._records.head(job))

    def versions(self, jobs: Sequence[str]) -> dict[str, int]:
        """The version of each of the jobs; those that are not there or cannot be read are left out."""
        with self._reading("read the versions of jobs"):
            return self._questions.versions(jobs)

    def resolve(self, text: str) -> tuple[Summary, ...]:
        """Find jobs by id, key, id prefix (6 characters or more) or name; newest first, empty when none.

        A whole id, in any case, means that job alone, and a key the job that has it; otherwise several results mean that
        the text is ambiguous.
        """
        with self._reading("look for a job"):
            return self._questions.resolve(text)

    def list(self, query: Query) -> tuple[Summary, ...]:
        """List jobs, newest first; ``since`` is inclusive, ``until`` is not, both by the time of acceptance."""
        with self._reading("list the jobs"):
            return self._questions.list(query)

    def due(self, now: Instant, limit: int) -> tuple[Summary, ...]:
        """List unfinished jobs whose due time has come, the longest due first; finished ones cost nothing."""
        with self._reading("list what is due"):
            return self._questions.due(now, limit)

    # ------------------------------------------------------------------ hints: no sync, a power cut may undo them

    def reschedule(self, job: str, due: Instant | None) -> None:
        """Set when the job should be looked at next. A hint, not an event. Raises ``NotFound``."""
        with self._writing(f"reschedule job {job}"):
            self._scheduling.put_off(job, due)

    def reschedule_all(self, turns: Sequence[Turn]) -> None:
        """Set when each of many jobs should be looked at next, where its record is still at the version of its turn."""
        with self._writing("reschedule jobs"):
            for turn in turns:
                with suppress(NotFound, CorruptRecord):
                    self._scheduling.put_off_at(turn)

    def claim(
        self, jobs: Sequence[str], owner: str, until: Instant, now: Instant
    ) -> frozenset[str]:
        """Claim those of the jobs that nobody else has a live claim on, until then; returns the claimed ones."""
        if not jobs:
            return frozenset()
        with self._writing("claim jobs"):
            queued = self._queue.scan()
            there = [job for job in jobs if job in queued or self._records.find(job) is not None]
            return self._work.claim(there, owner, until, now) if there else frozenset()

    def unclaim(self, owner: str) -> None:
        """Give up all claims of the owner."""
        with self._writing("give up claims"):
            self._work.unclaim(owner)

    def beat(self, heartbeat: Heartbeat) -> None:
        """Say that a supervisor is at work; those not seen for a month are forgotten."""
        with self._writing("write a heartbeat"):
            self._work.beat(heartbeat)

    def unbeat(self, supervisor: str) -> None:
        """Say that it has stopped."""
        with self._writing("end a heartbeat"):
            self._work.unbeat(supervisor)

    def heartbeats(self, since: Instant) -> tuple[Heartbeat, ...]:
        """The supervisors seen since then, that moment included."""
        with self._reading("read the heartbeats"):
            return self._work.heartbeats(since)

    # ------------------------------------------------------------------ upkeep

    def verify(self) -> tuple[str, ...]:
        """Check every record, and that every job stands in a list. Returns what is wrong."""
        with self._reading("verify"):
            return (
                tuple(upkeep.verify(self._files, self._records, self._queue, self._finished))
                if self.present
                else ()
            )

    def close(self) -> None:
        """Let go of everything; a second close does nothing."""
        self._closed = True

    # ------------------------------------------------------------------ what is checked around each call

    @contextmanager
    def _writing(self, doing: str) -> Generator[None]:
        self._check_open(doing)
        if self._read_only:
            raise ReadOnly(
                f"Cannot {doing}: the records {self.place} were opened for reading only.",
                todo="Open them for writing.",
            )
        with explaining(doing, self._files.root):
            yield

    @contextmanager
    def _reading(self, doing: str) -> Generator[None]:
        self._check_open(doing)
        with explaining(doing, self._files.root):
            yield

    def _check_open(self, doing: str) -> None:
        if self._closed:
            raise StoreError(
                f"Cannot {doing}: the records {self.place} are closed.", todo="Open them again."
            )
        if self._identity is not None and self._root_identity() != self._identity:
            raise vanished(self._files.root)

    def _root_identity(self) -> tuple[int, int] | None:
        try:
            found = self._files.root.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
