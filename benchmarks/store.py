# ruff: noqa: INP001  a script
"""Measure both record stores on the disk of a directory (default: the current one): `python benchmarks/store.py [DIRECTORY]`."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.model.answers import ClusterIdentity, Declarations
from dispatch.model.epoch import ulid
from dispatch.model.job import Job
from dispatch.model.journal import Accepted, Actor, Entry, Observed
from dispatch.model.plan import Plan
from dispatch.model.status import (
    Cause,
    Detail,
    Evidence,
    ObjectKey,
    Observation,
    Source,
    State,
    Verdict,
)
from dispatch.spi.store import Query, Summary
from dispatch.stores.directory import DirectoryStore
from dispatch.stores.directory.disk import Disk
from dispatch.stores.opening import AnyStore
from dispatch.stores.sqlite import SqliteStore
from dispatch.stores.sqlite.journal import insert
from dispatch.stores.sqlite.rows import INSERT_JOB, summary_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ACTOR = Actor(user="ada", host="login1", role="supervisor")
FINISHED, UNFINISHED, EVENTS = 100_000, 1_000, 1_000


def job_id(number: int) -> str:
    return ulid(1_770_000_000_000 + number, number.to_bytes(10, "big"))


def summary(job: str, version: int, *, finished: bool = False, due: int = 0) -> Summary:
    return Summary(
        id=job, version=version, name="train", cluster="big", user="ada", accepted_at=NOW, updated_at=NOW,
        state=State.SUCCEEDED if finished else State.RUNNING, finished=finished, labels={"team": "vision"},
        due=None if finished else NOW + timedelta(seconds=due),
    )  # fmt: skip


def header(job: str) -> Entry:
    accepted = Accepted(
        id=job,
        job=Job(
            command=("python", "train.py"),
            env={f"NAME_{n}": "a value of some length" for n in range(20)},
        ),
        spec_hash="0" * 64,
        plan=Plan(),
        cluster=ClusterIdentity(alias="big", adapter="slurm", name="big"),
        store=job_id(0),
        declarations=Declarations(),
    )
    return Entry(version=1, at=NOW, actor=ACTOR, nonce=f"{job}-1", event=accepted)


def observed(job: str, version: int) -> Entry:
    """An event of the usual size."""
    evidence = tuple(
        Evidence(source=Source.QUEUE, field=name, value="RUNNING", read_at=NOW)
        for name in ("State", "Reason")
    )
    observation = Observation(
        ref="4711@1767225600",
        key=ObjectKey(job=job, store=job_id(0), submission=1, attempt="0123456789abcdef"),
        verdict=Verdict(
            state=State.RUNNING,
            cause=Cause.NODE_LOST,
            detail=Detail(nodes=("node17", "node18")),
            evidence=evidence,
        ),
        nodes=tuple(f"node{n}" for n in range(8)),
    )
    event = Observed(submission=1, observation=observation, sent=NOW, boot="b1")
    return Entry(version=version, at=NOW, actor=ACTOR, nonce=f"{job}-{version}", event=event)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def timed(what: str, times: int, call: Callable[[int], object]) -> None:
    """Print how long one call takes, as the median and the slowest in a hundred."""
    taken: list[float] = []
    for number in range(times):
        began = time.perf_counter()
        call(number)
        taken.append((time.perf_counter() - began) * 1e6)
    taken.sort()
    middle, slow = statistics.median(taken), taken[int(len(taken) * 0.99)]
    say(
        f"{what:<58} {middle:>9.0f} µs  p99 {slow:>8.0f} µs  {1e6 * len(taken) / sum(taken):>8.0f}/s"
    )


def many_jobs() -> Iterator[Summary]:
    """All the jobs that a store is filled with; every hundredth is unfinished."""
    for number in range(1, FINISHED + UNFINISHED + 1):
        finished = number % ((FINISHED + UNFINISHED) // UNFINISHED) != 0
        yield summary(job_id(number), 1, finished=finished, due=number % 100)


def fill_sqlite(place: Path) -> None:
    """Write very many jobs quickly: in one transaction, beside the store's own interface."""
    store = SqliteStore.open(place, now=NOW)
    with store._db.write("fill") as raw:  # noqa: SLF001
        for one in many_jobs():
            raw.execute(INSERT_JOB, summary_row(one, 1))
            insert(raw, one.id, (header(one.id),))
    store.close()


class Unsynced(Disk):
    """A disk that is in no hurry."""

    def sync(self, descriptor: int) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass


def fill_directory(place: Path) -> None:
    """Write very many jobs quickly: without a sync."""
    store = DirectoryStore.open(place, now=NOW, disk=Unsynced())
    for one in many_jobs():
        store.create(header(one.id), one)
    store.close()


def measure(opened: Callable[[bool], AnyStore], fill: Callable[[Path], None]) -> None:
    store = opened(False)
    job, later = job_id(900_000), NOW + timedelta(days=1)
    timed("create a job", 500,
          lambda n: store.create(header(job_id(800_000 + n)), summary(job_id(800_000 + n), 1)))  # fmt: skip
    store.create(header(job), summary(job, 1))
    timed("append one event, synced", EVENTS - 1,
          lambda n: store.append(job, n + 1, [observed(job, n + 2)], summary(job, n + 2)))  # fmt: skip
    timed("reschedule (a hint, not synced)", 1000,
          lambda n: store.reschedule(job, NOW + timedelta(seconds=n)))  # fmt: skip
    timed(f"load {EVENTS} events", 50, lambda _: store.load(job))
    timed(
        f"load what is new after {EVENTS} events: nothing", 500, lambda _: store.load(job, EVENTS)
    )
    say(f"… filling with {FINISHED} finished and {UNFINISHED} unfinished jobs")
    fill(Path(store.place))
    timed(f"due(limit=100) beside {FINISHED} finished", 200, lambda _: store.due(later, 100))
    timed(f"due(limit=10000), all {UNFINISHED} and more", 50, lambda _: store.due(later, 10_000))
    unfinished = [one.id for one in store.due(later, 10_000)]
    timed("claim all of them", 50,
          lambda n: store.claim(unfinished, f"s{n % 2}", later, NOW))  # fmt: skip
    timed("list the unfinished, all", 50,
          lambda _: store.list(Query(finished=False, limit=10_000)))  # fmt: skip
    timed("list the newest 100", 20, lambda _: store.list(Query(limit=100)))
    timed("list by a label that none has", 3, lambda _: store.list(Query(labels={"team": "none"})))
    timed("find a job by its id", 100, lambda _: store.resolve(job))
    timed("find a job by a name that none has", 10, lambda _: store.resolve("none"))
    timed("append one event, synced, in the full store", 500,
          lambda n: store.append(job, EVENTS + n, [observed(job, EVENTS + 1 + n)], summary(job, EVENTS + 1 + n)))  # fmt: skip
    timed("open for reading and close", 100, lambda _: opened(True).close())
    timed("verify", 1, lambda _: store.verify())
    store.close()


def main() -> None:
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    with tempfile.TemporaryDirectory(dir=place) as directory:
        say("SQLite")
        database = Path(directory) / "records.db"
        measure(lambda read_only: SqliteStore.open(database, now=NOW, read_only=read_only), fill_sqlite)  # fmt: skip
        say(f"{'size of the file':<58} {database.stat().st_size / 1e6:>9.0f} MB\n")
        say("Directory")
        root = Path(directory) / "records.d"
        measure(lambda read_only: DirectoryStore.open(root, now=NOW, read_only=read_only), fill_directory)  # fmt: skip
        say(f"{'files and directories':<58} {sum(1 for _ in root.rglob('*')):>9}")


if __name__ == "__main__":
    main()
