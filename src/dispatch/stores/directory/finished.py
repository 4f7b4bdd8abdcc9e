"""The finished jobs, listed by the day of their acceptance, each with its summary.

The record is the truth. Before an append to a finished job its summary here is withdrawn (emptied) and afterwards written
anew, so that a crash between the two leaves one that sends the reader to the record, and none that is old.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dispatch.model.codec import decode, encode
from dispatch.model.errors import Invalid
from dispatch.spi.store import Summary
from dispatch.stores.directory import layout
from dispatch.stores.directory.layout import DONE, Done, Marker
from dispatch.stores.shared import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.model.base import Instant
    from dispatch.stores.directory.files import Files
    from dispatch.stores.directory.queue import Queue
    from dispatch.stores.directory.records import Records


class Finished:
    """The directory of the finished jobs."""

    def __init__(self, files: Files, records: Records, queue: Queue) -> None:
        self._files = files
        self._records = records
        self._queue = queue
        self._directory = files.root / DONE

    def retire(self, summary: Summary) -> None:
        """List a job as finished, and then take it out of the queue: it always stands in one of the two."""
        self._write(summary)
        self._queue.remove(summary.id)
        # Another may have appended meanwhile, and have written its summary or its marker before this one came.
        newest = self._records.head(summary.id).summary
        if newest.version != summary.version:
            self.withdraw(summary)
        if not newest.finished:
            self._queue.put(Marker.of(newest))

    def _write(self, summary: Summary) -> None:
        path = layout.done_path(self._files.root, summary)
        self._files.make_directory(path.parent)
        self._files.replace(path, encode(summary) + b"\n", durable=True)

    def withdraw(self, summary: Summary) -> None:
        """Empty the summary of a finished job, durably, so that the record is asked."""
        path = layout.done_path(self._files.root, summary)
        if self._files.exists(path):
            self._files.replace(path, b"", durable=True)

    def newest(self, since: Instant | None, until: Instant | None) -> Iterator[Done]:
        """The names of the finished jobs that were accepted in that time, the newest first."""
        first = "" if since is None else layout.day_of(since)
        last = "~" if until is None else layout.day_of(until)
        days = filter(layout.is_day, self._files.names(self._directory))
        for day in sorted((day for day in days if first <= day <= last), reverse=True):
            yield from sorted(self.on(day), reverse=True)

    def on(self, day: str) -> Iterator[Done]:
        """The finished jobs that were accepted on a day."""
        return filter(None, map(Done.parse, self._files.names(self._directory / day)))

    def summary(self, done: Done) -> Summary | None:
        """The summary of a finished job; nothing where the record must be asked."""
        path = self._directory / _day(done) / str(done)
        with suppress(Invalid):
            if data := self._files.read(path):
                return decode(data, Summary)
        return None


def _day(done: Done) -> str:
    return layout.day_of(moment(done.accepted))
