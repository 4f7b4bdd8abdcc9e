"""Creating a job: what comes before what, so that a crash anywhere leaves a whole job or none.

    1. a marker in the queue, so that no job is ever out of every queue; it holds the digest of the key
    2. the directory of the job
    3. the header, written aside and synced: from here on nothing needs room any more
    4. the key, by a link: it accepts a job that has one, for the header is in it
    5. the header, by a link: it accepts a job that has no key

After 4, whoever comes by the key or by the marker goes on with 5.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dispatch.model.errors import DispatchError
from dispatch.stores.directory import documents
from dispatch.stores.directory.layout import Marker, digest
from dispatch.stores.directory.records import Head

if TYPE_CHECKING:
    from pathlib import Path

    from dispatch.spi.store import Summary
    from dispatch.stores.directory.documents import Append
    from dispatch.stores.directory.files import Files
    from dispatch.stores.directory.keys import Keys
    from dispatch.stores.directory.queue import Queue
    from dispatch.stores.directory.records import Records


class Accepting:
    """Writes the headers of new jobs."""

    def __init__(self, files: Files, records: Records, queue: Queue, keys: Keys) -> None:
        self._files = files
        self._records = records
        self._queue = queue
        self._keys = keys

    def accept(self, summary: Summary, data: bytes) -> bool:
        """Make the job; ``False`` where another has its key, or its id, and nothing of it remains."""
        job, key = summary.id, summary.key
        marker = Marker.of(summary)
        directory: Path | None = None
        try:
            self._queue.put(marker, "" if key is None else digest(key))
            directory = self._records.make_directory(job)
            fresh = self._files.write_fresh(directory, data)
        except (OSError, DispatchError):
            self._clear(job, directory)
            raise
        try:
            # After an error here the key may have been taken all the same: marker and directory stay, unseen.
            mine = key is None or self._keys.take(key, data)
            if mine and self._files.link(fresh, self._records.path(job, 1), data):
                self._files.disk.sync_directory(directory)
                return True
        finally:
            self._files.discard(fresh)
        self._clear(job, directory)
        return False

    def _clear(self, job: str, directory: Path | None) -> None:
        """Remove what no other writer uses: a directory that is not empty stays, and the marker with it."""
        if directory is not None:
            with suppress(OSError):
                self._files.disk.remove_directory(directory)
                self._queue.remove(job)

    def finish(self, header: Append, data: bytes) -> Head:
        """Put the header of a job that has its key in its place, where its writer has not."""
        found = self._records.find(header.job)
        if found is not None:
            return found
        summary = documents.summary_of(header)
        if self._queue.find(header.job) is None:
            self._queue.put(Marker.of(summary), digest(summary.key or ""))
        self._records.make_directory(header.job)
        self._records.publish(header, data)
        return self._records.head(header.job)

    def finish_of(self, marker: Marker) -> Head | None:
        """Finish the job of a marker that has no header, if it got its key; it is no job otherwise."""
        held = self._keys.holder_by_digest(self._queue.content(marker))
        if held is None or held[0].job != marker.job:
            return None
        return self.finish(*held)
