"""Broken stores: what a store answers, who is at work on it, and many appends at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from conformance.breaking_stores import one_by_one, store
from dispatch.model.errors import DispatchError, Invalid
from dispatch.model.journal import Entry
from dispatch.shell.identity import token
from dispatch.spi.store import Added, Addition, Creation, Query, Summary, Turn, check_distinct
from dispatch.stores.sqlite import SqliteStore


@store
class MindsSmallLetters(SqliteStore):
    """an id that is not found in small letters"""

    def resolve(self, text: str) -> tuple[Summary, ...]:
        found = super().resolve(text)
        return tuple(one for one in found if one.id.lower() != text or one.id == text)


@store
class OldestFirst(SqliteStore):
    """an ambiguous text that gives the oldest job first"""

    def resolve(self, text: str) -> tuple[Summary, ...]:
        return super().resolve(text)[::-1]


@store
class FindsTheName(SqliteStore):
    """a job that is found by a name which is another's id or key"""

    def resolve(self, text: str) -> tuple[Summary, ...]:
        found = super().resolve(text)
        named = [one for one in self.list(Query(name=text)) if one not in found] if found else []
        return (*found, *named)


@store
class ListsAll(SqliteStore):
    """a list that is as long as it likes"""

    def list(self, query: Query) -> tuple[Summary, ...]:
        return super().list(replace(query, limit=1000))


@store
class ReadsNoLabels(SqliteStore):
    """a list that does not look at labels"""

    def list(self, query: Query) -> tuple[Summary, ...]:
        return super().list(replace(query, labels={}))


@store
class LastInFirstOut(SqliteStore):
    """a due queue in which the longest due are last"""

    def due(self, now: datetime, limit: int) -> tuple[Summary, ...]:
        return super().due(now, limit)[::-1]


@store
class AlwaysDue(SqliteStore):
    """a job that cannot be taken out of the due queue"""

    def reschedule(self, job: str, due: datetime | None) -> None:
        if due is not None:
            super().reschedule(job, due)


@store
class SleepsOver(SqliteStore):
    """a time to look again that was decided on an older version, and is kept"""

    def reschedule_all(self, turns: Sequence[Turn]) -> None:
        super().reschedule_all([replace(turn, version=None) for turn in turns])


@store
class RemembersVersions(SqliteStore):
    """a version that is as it was when it was first asked for"""

    def versions(self, jobs: Sequence[str]) -> dict[str, int]:
        known: dict[str, int] = self.__dict__.setdefault("known", {})
        now = super().versions(jobs)
        return {job: known.setdefault(job, version) for job, version in now.items()}


# ------------------------------------------------------------------------------ claiming


@store
class ClaimsForEver(SqliteStore):
    """a claim that never expires"""

    def claim(
        self, jobs: Sequence[str], owner: str, until: datetime, now: datetime
    ) -> frozenset[str]:
        return super().claim(jobs, owner, until + timedelta(days=1), now)


@store
class ClaimsOnce(SqliteStore):
    """a claim that its owner cannot renew"""

    def claim(
        self, jobs: Sequence[str], owner: str, until: datetime, now: datetime
    ) -> frozenset[str]:
        mine: set[tuple[str, str]] = self.__dict__.setdefault("mine", set())
        won = {job for job in super().claim(jobs, owner, until, now) if (owner, job) not in mine}
        mine.update((owner, job) for job in won)
        return frozenset(won)


@store
class FreesAll(SqliteStore):
    """an owner who gives up everybody's claims"""

    def claim(
        self, jobs: Sequence[str], owner: str, until: datetime, now: datetime
    ) -> frozenset[str]:
        self.__dict__.setdefault("owners", set()).add(owner)
        return super().claim(jobs, owner, until, now)

    def unclaim(self, owner: str) -> None:
        for one in self.__dict__.get("owners", {owner}):
            super().unclaim(one)


@store
class ClaimsNothing(SqliteStore):
    """a claim on a job that is not there"""

    def claim(
        self, jobs: Sequence[str], owner: str, until: datetime, now: datetime
    ) -> frozenset[str]:
        strange = set(jobs) - set(self.versions(jobs))
        return super().claim(jobs, owner, until, now) | strange


CLAIMED: dict[str, set[str]] = defaultdict(set)


@store
class LocksByClaim(SqliteStore):
    """a claim that keeps others from appending"""

    def claim(
        self, jobs: Sequence[str], owner: str, until: datetime, now: datetime
    ) -> frozenset[str]:
        won = super().claim(jobs, owner, until, now)
        CLAIMED[self.place] |= won
        return won

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        return job not in CLAIMED[self.place] and super().append(job, expected, entries, summary)


@store
class BeatsOn(SqliteStore):
    """a supervisor that is at work for ever"""

    def unbeat(self, supervisor: str) -> None:
        del supervisor


# -------------------------------------------------------------------------- many at once


@store
class FiftyAtMost(SqliteStore):
    """many appends of which only the first fifty are made"""

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        left = len(additions[50:])
        return (*super().append_all(additions[:50]), *([True] * left))


@store
class MindsNothing(SqliteStore):
    """many appends that may not be none"""

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        if not additions:
            raise Invalid("There is nothing to append.")
        return super().append_all(additions)


@store
class StopsAtTheFirst(SqliteStore):
    """many appends that end at the first that is refused"""

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        check_distinct(additions)
        answers: list[Added] = []
        for one in additions:
            going_on = all(answer is True for answer in answers)
            answers += super().append_all([one]) if going_on else [False]
        return tuple(answers)


@store
class ForgetsManyOfItsOwn(SqliteStore):
    """many appends that do not know their own again"""

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        before = self.versions([one.job for one in additions])
        answers = super().append_all(additions)
        return tuple(
            False if before.get(one.job, 0) > one.expected else answer
            for one, answer in zip(additions, answers, strict=True)
        )


@store
class NewNonces(SqliteStore):
    """many appends of which each gets a nonce where another has had it"""

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        used: set[str] = set()
        anew: list[Addition] = []
        for one in additions:
            mine = {entry.nonce for entry in one.entries}
            entries = (
                tuple(replace(entry, nonce=token()) for entry in one.entries)
                if mine & used
                else one.entries
            )
            used |= mine
            anew.append(replace(one, entries=entries))
        return super().append_all(anew)


@store
class EndsNothing(SqliteStore):
    """many appends that end no job"""

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        return super().append_all(
            [replace(one, summary=replace(one.summary, finished=False)) for one in additions]
        )


@store
class TakesTwice(SqliteStore):
    """many appends among which a job may come twice"""

    def append_all(self, additions: Sequence[Addition]) -> tuple[Added, ...]:
        jobs = [one.job for one in additions]
        if len(set(jobs)) == len(jobs):
            return super().append_all(additions)
        return tuple(one_by_one(self, additions))


@store
class MakesUntilTheFirst(SqliteStore):
    """many new jobs that end at the first that is refused"""

    def create_all(self, creations: Sequence[Creation]) -> tuple[Summary | DispatchError, ...]:
        answers: list[Summary | DispatchError] = []
        for one in creations:
            if not any(isinstance(answer, DispatchError) for answer in answers):
                answers += super().create_all([one])
            else:
                answers.append(one.summary)
        return tuple(answers)
