"""What the store answers. A list names; the record tells: each unfinished job's summary is read from its last append."""

from __future__ import annotations

from contextlib import suppress
from heapq import nlargest
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dispatch.model.errors import CorruptRecord, NotFound
from dispatch.stores.directory import documents
from dispatch.stores.directory.layout import due_micros, is_job, name_digest
from dispatch.stores.directory.upkeep import all_jobs
from dispatch.stores.shared import MOST_MATCHES, moment, prefix_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dispatch.model.base import Instant
    from dispatch.spi.store import Query, Summary
    from dispatch.stores.directory.layout import Marker
    from dispatch.stores.directory.parts import Parts
    from dispatch.stores.directory.records import Head


class Questions:
    """Answers from the lists and the records; where it may write, it finishes what dead writers have begun."""

    def __init__(self, parts: Parts, *, read_only: bool) -> None:
        self._files = parts.files
        self._records = parts.records
        self._queue = parts.queue
        self._finished = parts.finished
        self._keys = parts.keys
        self._accepting = parts.accepting
        self._read_only = read_only

    def summary_at(self, head: Head) -> Summary:
        """The summary of a job, with the due time that it was last given."""
        if head.summary.finished:
            return head.summary
        return _with_due(head.summary, self._queue.find(head.summary.id))

    def _look(self, job: str) -> Summary | None:
        """The summary of a job that a list names; nothing where it is no job after all."""
        try:
            return self._records.head(job).summary
        except NotFound:
            return None
        except CorruptRecord as error:
            return documents.unreadable(job, 1, error.what)

    def versions(self, jobs: Iterable[str]) -> dict[str, int]:
        """The versions of the jobs that are there and can be read."""
        found: dict[str, int] = {}
        for job in jobs:
            with suppress(NotFound, CorruptRecord):
                found[job] = self._records.head(job).last
        return found

    # ------------------------------------------------------------------ due

    def due(self, now: Instant, limit: int) -> tuple[Summary, ...]:
        """The jobs of the queue whose time has come, the longest due first; nothing else is touched."""
        latest = due_micros(now) or 0
        queued = self._scan()
        ready = [(at, job) for job, at in _due_times(queued) if at <= latest]
        found: list[Summary] = []
        for _, job in sorted(ready):
            if len(found) >= limit:
                break
            marker = queued[job][0]
            summary = self._look(job) or self._finish(marker)
            if summary is None:
                continue
            if not summary.finished:
                found.append(_with_due(summary, marker))
            elif not self._read_only:
                with suppress(OSError):  # its writer died before it could; a full disk can wait
                    self._finished.retire(summary)
        return tuple(found)

    def _scan(self) -> dict[str, list[Marker]]:
        try:
            return self._queue.scan(sweep=not self._read_only)
        except FileNotFoundError:
            if self._read_only:  # records that are not there, or whose queue is to be built anew
                return {}
            raise

    def _finish(self, marker: Marker) -> Summary | None:
        if self._read_only:
            return None
        with suppress(OSError):
            head = self._accepting.finish_of(marker)
            return None if head is None else head.summary
        return None

    # ------------------------------------------------------------------ lists

    def list(self, query: Query) -> tuple[Summary, ...]:
        """The jobs that a query asks for, newest first."""
        queued = self._scan()
        found = {
            summary.id: _with_due(summary, queued[job][0])
            for job in queued
            if (summary := self._look(job)) is not None and _matches(query, summary)
        }
        if query.finished is not False:
            found |= self._listed_as_finished(query, queued.keys())
        return _newest(found.values(), query.limit)

    def _listed_as_finished(self, query: Query, apart: Iterable[str]) -> dict[str, Summary]:
        """As many of the finished jobs as can be in the answer: they come newest first."""
        found: dict[str, Summary] = {}
        names = self._finished.newest(query.since, query.until)
        digest = None if query.name is None else name_digest(query.name)
        seen = set(apart)
        for done in names:
            if len(found) >= query.limit:
                break
            if done.job in seen or digest not in (None, done.name):
                continue
            seen.add(done.job)
            summary = self._finished.summary(done) or self._look(done.job)
            if summary is not None and _matches(query, summary):
                found[done.job] = summary
        return found

    # ------------------------------------------------------------------ one job

    def resolve(self, text: str) -> tuple[Summary, ...]:
        """The jobs that a text may mean; see ``DirectoryStore.resolve``."""
        by_id = self._look(text.upper()) if is_job(text.upper()) else None
        one = by_id or self._by_key(text)
        if one is not None:
            return (self._timed(one),)
        low, high = prefix_range(text)
        jobs = set(all_jobs(self._files, low, high)) if low else set[str]()
        named = self._named(text)
        found = [summary for job in jobs | named if (summary := self._look(job)) is not None]
        chosen = _newest(
            (summary for summary in found if summary.id in jobs or summary.name == text),
            MOST_MATCHES,
        )
        return tuple(map(self._timed, chosen))

    def _timed(self, summary: Summary) -> Summary:
        return summary if summary.finished else _with_due(summary, self._queue.find(summary.id))

    def _by_key(self, key: str) -> Summary | None:
        holder = self._keys.holder(key)
        if holder is None:
            return None
        if not self._read_only:
            return self._accepting.finish(*holder).summary
        return self._look(holder[0].job)

    def _named(self, name: str) -> set[str]:
        digest = name_digest(name)
        queued = {job for job, markers in self._scan().items() if markers[0].name == digest}
        return queued | {
            done.job for done in self._finished.newest(None, None) if done.name == digest
        }


def _due_times(queued: dict[str, list[Marker]]) -> Iterator[tuple[str, int]]:
    for job, markers in queued.items():
        if (at := markers[0].due) is not None:
            yield job, at


def _with_due(summary: Summary, marker: Marker | None) -> Summary:
    """A summary with the due time of the queue, which is written without an event."""
    if summary.finished or marker is None or marker.due == due_micros(summary.due):
        return summary
    return replace(summary, due=None if marker.due is None else moment(marker.due))


def _newest(found: Iterable[Summary], limit: int) -> tuple[Summary, ...]:
    return tuple(nlargest(max(limit, 0), found, key=lambda one: (one.accepted_at, one.id)))


def _matches(query: Query, summary: Summary) -> bool:
    return (
        query.finished in (None, summary.finished)
        and (not query.states or summary.state in query.states)
        and (not query.causes or summary.cause in query.causes)
        and query.cluster in (None, summary.cluster)
        and query.user in (None, summary.user)
        and query.name in (None, summary.name)
        and query.labels.items() <= summary.labels.items()
        and (query.since is None or summary.accepted_at >= query.since)
        and (query.until is None or summary.accepted_at < query.until)
    )
