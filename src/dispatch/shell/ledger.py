"""Records through the eyes of the fold: views in, events out, by compare-and-set."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dispatch.core.explaining import explain
from dispatch.core.folding import fold
from dispatch.model.errors import DispatchError, StoreError
from dispatch.model.journal import SCHEMA, Accepted, Actor, AnyEvent, Entry
from dispatch.model.view import JobView
from dispatch.shell.identity import token
from dispatch.spi.clock import Clock
from dispatch.spi.store import (
    Addition,
    Creation,
    Store,
    Summary,
    Turn,
    append_all,
    create_all,
)

MOST_TOGETHER = 500
"""Appends in one transaction: other writers wait for some milliseconds meanwhile."""

Change = tuple[JobView, Sequence[AnyEvent]]
"""What is appended to a job, on the version of its view."""

Begun = tuple[JobView | None, Summary]
"""A new job; no view where its key is taken, with the summary of the job that has it."""


class Ledger:
    """Reads and writes the records of one store for one actor. It keeps the views that it has folded."""

    MOST_KEPT = 20_000

    def __init__(self, store: Store, clock: Clock, actor: Actor) -> None:
        self.store = store
        self.clock = clock
        self.actor = actor
        self._kept: dict[str, JobView] = {}
        self.newer: set[str] = set()
        """Jobs that a newer dispatch has written to, as far as this process has met them: they stay that one's alone (12, T4)."""

    def view(self, job: str) -> JobView:
        """Fold the record of a job; only what was appended since the last time is read."""
        known = self._kept.get(job)
        entries = self.store.load(job, known.version if known else 0)
        view = fold(entries, known) if entries or known is None else known
        return self._keep(view)

    def recall(self, jobs: Sequence[str]) -> dict[str, JobView]:
        """The kept views that nothing was appended to since, by one question for all; the other jobs are left out."""
        try:
            versions = self.store.versions(jobs)
        except StoreError:
            return {}  # each job's own reading tells
        return {
            job: known
            for job in jobs
            if (known := self._kept.get(job)) is not None and known.version == versions.get(job)
        }

    def history(self, job: str) -> tuple[Entry, ...]:
        """The whole record of a job."""
        return self.store.load(job)

    def begin(self, header: Accepted) -> Begun:
        """Write the header of a new job; no view where its key is taken, with the summary of the job that has it."""
        view, one = self._creation(header)
        return self._begun(view, self.store.create(one.entry, one.summary))

    def begin_all(self, headers: Sequence[Accepted]) -> list[Begun | DispatchError]:
        """Write the headers of new jobs, each as ``begin`` does it alone, at the price of few; the answers are in their order.

        Where one is refused its error is its answer. Raises what is true of all.
        """
        made = [self._creation(header) for header in headers]
        answers: list[Begun | DispatchError] = []
        for start in range(0, len(made), MOST_TOGETHER):
            some = made[start : start + MOST_TOGETHER]
            results = create_all(self.store, [one for _, one in some])
            answers += [
                told if isinstance(told, DispatchError) else self._begun(view, told)
                for (view, _), told in zip(some, results, strict=True)
            ]
        return answers

    def _creation(self, header: Accepted) -> tuple[JobView, Creation]:
        entry = self._entry(1, self.clock.now(), header)
        view = fold([entry])
        return view, Creation(entry=entry, summary=summarize(view, entry.at, due=entry.at))

    def _begun(self, view: JobView, existing: Summary) -> Begun:
        return (self._keep(view) if existing.id == view.id else None), existing

    def append(self, view: JobView, events: Sequence[AnyEvent]) -> JobView | None:
        """Append events on the version of the view; ``None`` where another writer was there first."""
        after, one = self._addition(view, events, self.clock.now())
        added = self.store.append(one.job, one.expected, one.entries, one.summary)
        return self._added(after, added=added)

    def append_all(self, changes: Sequence[Change]) -> list[JobView | Exception | None]:
        """Append to different jobs, each as ``append`` does it alone, at the price of few; the answers are in their order.

        Where one is refused its error is its answer, and the others go on. Raises what is true of all.
        """
        if len(changes) == 1:
            try:
                return [self.append(*changes[0])]
            except DispatchError as error:
                return [error]
        now = self.clock.now()
        answers: dict[int, JobView | Exception | None] = {}
        made: list[tuple[int, JobView, Addition]] = []
        for place, (view, events) in enumerate(changes):
            try:
                made.append((place, *self._addition(view, events, now)))
            except Exception as error:  # noqa: BLE001 - one record that cannot be folded is no fault of the others
                answers[place] = error
        for start in range(0, len(made), MOST_TOGETHER):
            some = made[start : start + MOST_TOGETHER]
            results = append_all(self.store, [one for _, _, one in some])
            for (place, after, _), added in zip(some, results, strict=True):
                answers[place] = (
                    added if isinstance(added, DispatchError) else self._added(after, added=added)
                )
        return [answers[place] for place in range(len(changes))]

    def _addition(
        self, view: JobView, events: Sequence[AnyEvent], now: datetime
    ) -> tuple[JobView, Addition]:
        entries = tuple(
            self._entry(view.version + 1 + index, now, event) for index, event in enumerate(events)
        )
        after = fold(entries, view)
        summary = summarize(after, now, due=None if after.verdict else now)
        return after, Addition(job=view.id, expected=view.version, entries=entries, summary=summary)

    def _added(self, after: JobView, *, added: bool) -> JobView | None:
        if added:
            return self._keep(after)
        self._kept.pop(after.id, None)
        return None

    def reschedule(self, job: str, due: datetime | None, version: int | None) -> None:
        """Set when the job is looked at next, unless its record has moved on from the version that was decided on.

        Every append makes its job due. A later time that knows nothing of it would let it be slept over, for hours where a
        backoff is long.
        """
        self.reschedule_all([Turn(job=job, due=due, version=version)])

    def reschedule_all(self, turns: Sequence[Turn]) -> None:
        """Set when jobs are looked at next, each as ``reschedule`` does; a newer dispatch's are left as they are."""
        self.store.reschedule_all([turn for turn in turns if turn.job not in self.newer])

    def _entry(self, version: int, now: datetime, event: AnyEvent) -> Entry:
        return Entry(
            version=version,
            at=now,
            actor=self.actor,
            nonce=token(),
            event=event,
            schema=SCHEMA,
        )

    def _keep(self, view: JobView) -> JobView:
        if len(self._kept) >= self.MOST_KEPT:
            self._kept.clear()
        if view.verdict is None:
            self._kept[view.id] = view
        else:
            self._kept.pop(view.id, None)
        return view


def summarize(view: JobView, now: datetime, *, due: datetime | None) -> Summary:
    """Sum up a view for the store's listings."""
    job, explanation, current = view.job, explain(view), view.current
    return Summary(
        id=view.id,
        version=view.version,
        name=job.name,
        key=job.key,
        spec_hash=view.header.spec_hash,
        cluster=view.header.cluster.alias,
        user=view.user,
        labels=job.labels,
        state=explanation.state,
        cause=explanation.cause,
        submission=current.submission if current else 0,
        accepted_at=view.accepted_at,
        updated_at=now,
        finished=view.verdict is not None,
        due=due,
        why=explanation.headline,
    )
