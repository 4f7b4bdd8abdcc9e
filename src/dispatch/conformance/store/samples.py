"""Entries and summaries to fill a store with."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from dispatch.model.answers import ClusterIdentity, Declarations
from dispatch.model.epoch import ulid
from dispatch.model.job import Job
from dispatch.model.journal import Accepted, Actor, AnyEvent, Ended, Entry, HoldAsked, StopAsked
from dispatch.model.plan import Plan
from dispatch.model.status import State, Verdict
from dispatch.spi.store import Store, Summary

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ACTOR = Actor(user="ada", host="login1", role="operator")

_numbers = itertools.count(1)


def job_id(number: int) -> str:
    """A job's id; a higher number is a later one, and the first ten characters are those of all."""
    return ulid(1_772_600_767_891, number.to_bytes(10, "big"))


def entry(
    version: int, event: AnyEvent, *, nonce: str | None = None, schema: int = 1, at: datetime = NOW
) -> Entry:
    """An entry with a nonce of its own."""
    return Entry(
        version=version,
        at=at,
        actor=ACTOR,
        nonce=f"nonce-{next(_numbers)}" if nonce is None else nonce,
        event=event,
        schema=schema,
    )


def header(job: str, *, nonce: str | None = None) -> Entry:
    """The first entry of a job."""
    accepted = Accepted(
        id=job,
        job=Job(command=("python", "train.py", "--name=Žofie"), env={"A": 'x"y\\z\n'}),
        spec_hash="ab" * 32,
        plan=Plan(),
        cluster=ClusterIdentity(alias="big", adapter="memory", name="big-1"),
        store=job_id(0),
        declarations=Declarations(),
    )
    return entry(1, accepted, nonce=nonce)


def summary(job: str, version: int = 1, **fields: Any) -> Summary:
    """The summary of a pending job, other than the fields given."""
    default: dict[str, Any] = {
        "id": job,
        "version": version,
        "name": "train",
        "cluster": "big",
        "user": "ada",
        "state": State.PENDING,
        "accepted_at": NOW,
        "updated_at": NOW,
        "due": NOW,
    }
    return Summary(**(default | fields))


def hold(version: int, *, nonce: str | None = None, schema: int = 1) -> Entry:
    """Any small event."""
    event = HoldAsked(instance=version, by="ada", why="look at Žofie's \u2028 logs")
    return entry(version, event, nonce=nonce, schema=schema)


def stop(version: int) -> Entry:
    """Another one."""
    return entry(version, StopAsked(by="ada"))


def end(version: int, *, nonce: str | None = None) -> Entry:
    """The end of a job."""
    return entry(version, Ended(verdict=Verdict(state=State.SUCCEEDED)), nonce=nonce)


def make(store: Store, number: int, **fields: Any) -> str:
    """Create a job, and return its id."""
    job = job_id(number)
    store.create(header(job), summary(job, **fields))
    return job


def grow(store: Store, job: str, expected: int, entries: Sequence[Entry], **fields: Any) -> bool:
    """Append entries on a version."""
    return store.append(job, expected, entries, summary(job, expected + len(entries), **fields))
