"""When a job is looked at next: its marker in the queue, moved by whoever has decided on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.stores.directory.layout import Marker, due_micros

if TYPE_CHECKING:
    from dispatch.model.base import Instant
    from dispatch.spi.store import Turn
    from dispatch.stores.directory.queue import Queue
    from dispatch.stores.directory.records import Records


class Scheduling:
    """Moves markers. A due time is a hint: too early costs a look, too late lets a request be slept over."""

    def __init__(self, records: Records, queue: Queue) -> None:
        self._records = records
        self._queue = queue

    def put_off(self, job: str, due: Instant | None) -> None:
        """Set the due time of a job. Raises ``NotFound``."""
        found = self._queue.find(job)
        if found is not None:
            self._queue.move(found._replace(due=due_micros(due)))
            return
        summary = self._records.head(job).summary
        if not summary.finished:  # somebody has removed its marker
            self._queue.put(Marker.of(summary)._replace(due=due_micros(due)))

    def put_off_at(self, turn: Turn) -> None:
        """Set it where the record is at the version of the turn. Raises ``NotFound``, ``CorruptRecord``.

        Nothing is locked. An append that comes between the look at the record and the rename has renamed the marker itself,
        and then nothing is done here; where it found the marker right as it was, the second look finds the append.
        """
        found = self._queue.find(turn.job)
        if turn.version is None or found is None:
            self.put_off(turn.job, turn.due)
            return
        if self._records.head(turn.job).last != turn.version:
            return
        self._queue.exchange(found, found._replace(due=due_micros(turn.due)))
        head = self._records.head(turn.job)
        if head.last != turn.version and not head.summary.finished:
            self._queue.bring_forward(Marker.of(head.summary))
