"""Broken stores: identity, records, and what makes them safe to write twice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from msgspec.structs import replace

from conformance.breaking_stores import store
from dispatch.conformance.store.samples import NOW
from dispatch.model.errors import Conflict, Invalid, NewerSchema, NotFound, StoreError
from dispatch.model.journal import Entry
from dispatch.shell.identity import new_ulid, token
from dispatch.spi.store import Query, Summary
from dispatch.stores.sqlite import SqliteStore


@store
class NewEachTime(SqliteStore):
    """a store with a new identity at each opening"""

    @property
    def id(self) -> str:
        return new_ulid(NOW)


@store
class Nowhere(SqliteStore):
    """a store that does not say where it is"""

    @property
    def place(self) -> str:
        return ""


@store
class ClosesOnce(SqliteStore):
    """a store that minds a second close"""

    closed = False

    def close(self) -> None:
        if self.closed:
            raise StoreError("The store is closed.")
        self.closed = True
        super().close()


@store
class CutsTheTime(SqliteStore):
    """an event whose time is cut to the second"""

    def load(self, job: str, after: int = 0) -> tuple[Entry, ...]:
        entries = super().load(job, after)
        return tuple(replace(one, at=one.at.replace(microsecond=0)) for one in entries)


@store
class BeginsAgain(SqliteStore):
    """a load from beyond the end that begins again"""

    def load(self, job: str, after: int = 0) -> tuple[Entry, ...]:
        return super().load(job, after if after < 9 else 0)


@store
class LastOneWins(SqliteStore):
    """an append that wins over the one before it"""

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        if super().append(job, expected, entries, summary):
            return True
        now = self.summary(job).version
        late = [replace(one, version=now + n) for n, one in enumerate(entries, 1)]
        changed = replace(summary, version=now + len(late))
        return expected < now and super().append(job, now, late, changed)


@store
class FillsTheGap(SqliteStore):
    """an append beyond the end that is moved to it"""

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        if super().append(job, expected, entries, summary):
            return True
        now = self.summary(job).version
        early = [replace(one, version=now + n) for n, one in enumerate(entries, 1)]
        changed = replace(summary, version=now + len(early))
        return expected > now and super().append(job, now, early, changed)


@store
class LosesLabels(SqliteStore):
    """an append that loses the labels of the job"""

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        return super().append(job, expected, entries, replace(summary, labels={}))


@store
class MindsNoGap(SqliteStore):
    """an append with a gap that is only lost"""

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        try:
            return super().append(job, expected, entries, summary)
        except Invalid:
            return False


@store
class ForgetsItsOwn(SqliteStore):
    """an append that does not know its own again"""

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        behind = self.versions([job]).get(job, expected) > expected
        return not behind and super().append(job, expected, entries, summary)


@store
class AnyNonce(SqliteStore):
    """a nonce that serves as often as anybody likes"""

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        try:
            return super().append(job, expected, entries, summary)
        except Conflict:
            anew = [replace(one, nonce=token()) for one in entries]
            return super().append(job, expected, anew, summary)


@store
class FindsNothingWrong(SqliteStore):
    """a job that is not there, and is rescheduled"""

    def reschedule(self, job: str, due: datetime | None) -> None:
        with suppress(NotFound):
            super().reschedule(job, due)


@store
class ReadsTheFuture(SqliteStore):
    """a newer writer's record that reads as empty"""

    def load(self, job: str, after: int = 0) -> tuple[Entry, ...]:
        try:
            return super().load(job, after)
        except NewerSchema:
            return ()


# --------------------------------------------------------------------------- idempotence


@store
class SharesAKey(SqliteStore):
    """a key that two jobs may have"""

    def create(self, entry: Entry, summary: Summary) -> Summary:
        return super().create(
            entry, replace(summary, key=None) if self._taken(summary) else summary
        )

    def _taken(self, summary: Summary) -> bool:
        return any(one.key == summary.key and one.id != summary.id for one in self.list(Query()))


@store
class FreesAKey(SqliteStore):
    """a key that is free again when its job has ended"""

    def create(self, entry: Entry, summary: Summary) -> Summary:
        ended = [one for one in self.list(Query(finished=True)) if one.key == summary.key]
        return super().create(entry, replace(summary, key=None) if ended else summary)


@store
class NoKeyIsAKey(SqliteStore):
    """a job without a key that is told as the first without one"""

    def create(self, entry: Entry, summary: Summary) -> Summary:
        made = super().create(entry, summary)
        return self.list(Query())[-1] if summary.key is None else made


@store
class CreatesOnce(SqliteStore):
    """a create that does not know its own again"""

    def create(self, entry: Entry, summary: Summary) -> Summary:
        if self.versions([summary.id]):
            raise Conflict(f"There is a job {summary.id}.")
        return super().create(entry, summary)
