"""Appends: one alone, and many in steps that all take together.

One fsync writes down what others have begun on the same file system. So of many each step is taken by all before the next:
written, synced, linked, and their directories synced. For each the order is that of one alone: its bytes are on the disk before
it has its name, and its name before it is acknowledged.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from dispatch.model.errors import Conflict, DispatchError, NotFound
from dispatch.stores.directory import documents
from dispatch.stores.directory.faults import explaining
from dispatch.stores.directory.layout import Marker
from dispatch.stores.shared import check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dispatch.model.journal import Entry
    from dispatch.spi.store import Added, Addition, Summary
    from dispatch.stores.directory.documents import Append
    from dispatch.stores.directory.files import Files, Fresh
    from dispatch.stores.directory.parts import Parts

MOST_OPEN = 64
"""Files that are open at once; a process may commonly have 1024."""


class Prepared(NamedTuple):
    """An append that nothing speaks against yet: its file's name and content."""

    append: Append
    path: Path
    data: bytes
    entries: Sequence[Entry]
    summary: Summary

    @property
    def expected(self) -> int:
        """The version that it builds on."""
        return self.append.first - 1


class Appending:
    """Appends to the records, and brings the lists up to date."""

    def __init__(self, files: Files, parts: Parts) -> None:
        self._files = files
        self.records = parts.records
        self._queue = parts.queue
        self._nonces = parts.nonces
        self._finished = parts.finished

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        """Append on a version; see ``Store.append``."""
        ready = self.prepare(job, expected, entries, summary)
        if not isinstance(ready, Prepared):
            return ready
        if not self.records.publish(ready.append, ready.data):
            return self.landed(job, expected, entries)
        self.after(summary, entries)
        return True

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        """Append to different jobs; see ``MultiAppender.append_all``."""
        added: list[Added] = []
        for start in range(0, len(additions), MOST_OPEN):
            added += Together(self, self._files, additions[start : start + MOST_OPEN]).append()
        return tuple(added)

    def prepare(
        self, job: str, expected: int, entries: Sequence[Entry], summary: Summary
    ) -> Prepared | bool:
        """Look whether an append can be made; where it is settled already, by another or by itself: what it returns."""
        head = self.records.head_at(job, expected)
        documents.check_schema(job, head.schema)
        if head.last != expected:
            return self.landed(job, expected, entries)
        if self._nonces.used(entries):
            if self.records.head(job).last != expected:
                return self.landed(job, expected, entries)
            self.refuse_used(job, expected, entries)
        data = documents.compose(job, entries, summary, head.schema)
        # No list may be too late or too old if this process dies right after the append.
        if head.summary.finished:
            self._finished.withdraw(head.summary)
        if not summary.finished:
            self._queue.bring_forward(Marker.of(summary))
        append = documents.parse(job, expected + 1, data)
        return Prepared(append, self.records.path(job, append.first), data, entries, summary)

    def landed(self, job: str, expected: int, entries: Sequence[Entry]) -> bool:
        """Whether these very entries are there already."""
        documents.check_schema(job, self.records.head(job).schema)
        return self.records.landed(job, expected, entries)

    def refuse_used(self, job: str, expected: int, entries: Sequence[Entry]) -> None:
        """Raise ``Conflict`` where a nonce was used before."""
        if used := self._nonces.used(entries):
            raise _used_before(job, expected, used)

    def after(self, summary: Summary, entries: Sequence[Entry]) -> None:
        """Bring the lists up to date. The append is acknowledged whatever happens here: lists follow from records."""
        with suppress(OSError):
            self._nonces.keep(self.records.path(summary.id, entries[0].version), entries)
        with suppress(OSError, NotFound):
            if summary.finished:
                self._finished.retire(summary)
            else:
                self._queue.move(Marker.of(summary))


class Together:
    """Some appends to different jobs. What is settled by one step takes no further one."""

    def __init__(self, appending: Appending, files: Files, additions: Sequence[Addition]) -> None:
        self._appending = appending
        self._files = files
        self._additions = additions
        self._added: dict[int, Added] = {}
        self._prepared: dict[int, Prepared] = {}
        self._open: dict[int, Fresh] = {}
        self._fresh: dict[int, Path] = {}
        self._nonces: set[str] = set()

    def append(self) -> list[Added]:
        """Take every step; the answers in the order of the additions."""
        try:
            for step in (self._write, self._sync, self._link, self._sync_name, self._acknowledge):
                self._each(step)
        finally:
            for fresh in self._open.values():  # where something cut it short
                self._files.give_up(fresh)
        return [self._added[place] for place in range(len(self._additions))]

    def _each(self, step: Callable[[int], Added | None]) -> None:
        for place, one in enumerate(self._additions):
            if place in self._added:
                continue
            try:
                with explaining(f"append to job {one.job}", self._files.root):
                    said = step(place)
            except DispatchError as error:
                said = error
            if said is not None:
                self._added[place] = said

    def _write(self, place: int) -> bool | None:
        one = self._additions[place]
        check(one.job, one.expected, one.entries, one.summary)
        nonces = {entry.nonce for entry in one.entries}
        if both := self._nonces & nonces:
            raise _used_before(one.job, one.expected, both.pop())
        ready = self._appending.prepare(one.job, one.expected, one.entries, one.summary)
        if not isinstance(ready, Prepared):
            return ready
        self._nonces |= nonces
        self._prepared[place] = ready
        self._open[place] = self._files.begin_fresh(ready.path.parent, ready.data)
        return None

    def _sync(self, place: int) -> None:
        self._fresh[place] = self._files.end_fresh(self._open.pop(place))

    def _link(self, place: int) -> bool | None:
        ready = self._prepared[place]
        made = self._files.name(self._fresh[place], ready.path, ready.data)
        self._appending.records.note(ready.append, made=made)
        if made:
            return None
        return self._appending.landed(ready.append.job, ready.expected, ready.entries)

    def _sync_name(self, place: int) -> None:
        self._files.disk.sync_directory(self._prepared[place].path.parent)

    def _acknowledge(self, place: int) -> bool:
        ready = self._prepared[place]
        self._appending.after(ready.summary, ready.entries)
        return True


def _used_before(job: str, expected: int, nonce: str) -> Conflict:
    return Conflict(
        f"Job {job}: the nonce {nonce!r} was used by an earlier append; nothing was written on version {expected}.",
        todo="Fold the record again; every append needs a nonce of its own.",
    )
