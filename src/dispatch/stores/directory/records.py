"""The records of jobs: one directory each, one file an append, and the link that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dispatch.model.errors import CorruptRecord, NotFound
from dispatch.stores.directory import documents, layout
from dispatch.stores.shared import not_found

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dispatch.model.journal import Entry
    from dispatch.spi.store import Summary
    from dispatch.stores.directory.documents import Append
    from dispatch.stores.directory.files import Files

MOST_KEPT = 20_000


class Head(NamedTuple):
    """What the last append of a job says."""

    first: int
    last: int
    schema: int
    summary: Summary

    @classmethod
    def of(cls, append: Append) -> Head:
        return cls(append.first, append.last, append.schema, documents.summary_of(append))


class Records:
    """Reads and links the appends. It keeps the heads it has seen: a file that was once a head never changes."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._heads: dict[str, Head] = {}

    def path(self, job: str, version: int) -> Path:
        """The file of the append that begins with a version."""
        return layout.job_directory(self._files.root, job) / layout.version_name(version)

    # ------------------------------------------------------------------ reading

    def head(self, job: str, *, sweep: bool = False) -> Head:
        """The newest append that can be seen. Raises ``NotFound``; a job without a header is not there."""
        if not layout.is_job(job):
            raise not_found(job)
        directory = layout.job_directory(self._files.root, job)
        names = self._files.names(directory)
        if sweep:
            self._files.sweep(directory, names)
        versions = layout.versions_in(names)
        if not versions:
            raise not_found(job)
        known = self._heads.get(job)
        if known is None or known.first != versions[-1]:
            known = Head.of(self._append(job, versions[-1]))
            self._keep(job, known)
        return known

    def find(self, job: str) -> Head | None:
        """The newest append, or nothing where there is no such job."""
        try:
            return self.head(job)
        except NotFound:
            return None

    def head_at(self, job: str, expected: int) -> Head:
        """An append to build on: the one that ends at ``expected`` where it is known, else the newest.

        An append ends for ever where it once ended, so an old one is as good: the link tells whether it is the newest. But
        it must still be there: a directory that was restored from a backup meanwhile would get a gap.
        """
        known = self._heads.get(job)
        if known is not None and known.last == expected:
            if self._files.exists(self.path(job, known.first)):
                return known
            del self._heads[job]
        return self.head(job, sweep=True)

    def load(self, job: str, after: int) -> tuple[Entry, ...]:
        """The events after a version. Raises ``NotFound``, ``CorruptRecord``, ``NewerSchema``."""
        if not layout.is_job(job):
            raise not_found(job)
        versions = layout.versions_in(
            self._files.names(layout.job_directory(self._files.root, job))
        )
        if not versions:
            raise not_found(job)
        known = self._heads.get(job)
        if known is not None and known.first == versions[-1] and 1 <= known.last <= after:
            documents.check_schema(job, known.schema)
            return ()
        begin = max((version for version in versions if version <= after + 1), default=1)
        appends = self._chain(job, begin, versions[-1])
        # The last one tells of them all, and before any is decoded: a newer one's words may be unknown here.
        documents.check_schema(job, appends[-1].schema)
        self._keep(job, Head.of(appends[-1]))
        return tuple(
            entry
            for append in appends
            for entry in documents.entries_of(append)
            if entry.version > after
        )

    def _chain(self, job: str, begin: int, top: int) -> list[Append]:
        """Read the appends from one to the last, each of which says where the next one begins.

        By name, not by the listing: a directory that changes while it is listed may leave a name out.
        """
        appends: list[Append] = []
        version = begin
        while version <= top:
            append = self._append(job, version)
            appends.append(append)
            version = append.last + 1
        if appends[-1].first != top:
            raise documents.corrupt(job, top, f"event {top} stands in the append before, too")
        return appends

    def _append(self, job: str, version: int) -> Append:
        data = self._files.read(self.path(job, version))
        if data is None:
            raise CorruptRecord(
                f"Job {job} has events after version {version}, and version {version} is missing.",
                todo="Nothing acts on this job any more; the others go on. Restore the records from a backup.",
            )
        return documents.parse(job, version, data)

    def landed(self, job: str, expected: int, entries: Sequence[Entry]) -> bool:
        """Whether exactly these entries are there already, by their nonces; if so they are on the disk, too."""
        path = self.path(job, expected + 1)
        data = self._files.read(path)
        if data is None:
            return False
        append = documents.parse(job, expected + 1, data)
        documents.check_schema(job, append.schema)
        there = [(entry.version, entry.nonce) for entry in documents.entries_of(append)]
        if there != [(entry.version, entry.nonce) for entry in entries]:
            return False
        # Its writer may have died between the link and this.
        self._files.disk.sync_directory(path.parent)
        return True

    # ------------------------------------------------------------------ writing

    def publish(self, append: Append, data: bytes) -> bool:
        """Link an append to its name; ``False`` where another writer has been there first."""
        made = self._files.publish(self.path(append.job, append.first), data)
        self.note(append, made=made)
        return made

    def note(self, append: Append, *, made: bool) -> None:
        """Remember that an append was linked to its name, or that another writer was there first."""
        if made:
            self._keep(append.job, Head.of(append))
        else:
            self._heads.pop(append.job, None)

    def make_directory(self, job: str) -> Path:
        """Make the directory of a job, which is none before it has a header."""
        directory = layout.job_directory(self._files.root, job)
        self._files.make_directory(directory.parent)
        self._files.make_directory(directory)
        return directory

    def _keep(self, job: str, head: Head) -> None:
        if len(self._heads) >= MOST_KEPT:
            self._heads.clear()
        self._heads[job] = head
