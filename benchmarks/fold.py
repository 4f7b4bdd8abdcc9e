# ruff: noqa: INP001  a script
"""Measure a fold and an append against what could not be done without: `python benchmarks/fold.py [--size EVENTS] [--place DIRECTORY]`.

A fold is compared with decoding the same events as JSON, an append with a plain synced insert into SQLite, and with a plain
file that is written and synced.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.core.folding import fold
from dispatch.model.answers import ClusterIdentity, Declarations
from dispatch.model.codec import decode, encode
from dispatch.model.epoch import ulid
from dispatch.model.job import Job
from dispatch.model.journal import (
    Accepted,
    Actor,
    AnyEvent,
    Entry,
    Intended,
    Intent,
    Observed,
    Outcome,
    Settled,
    Verb,
)
from dispatch.model.plan import Plan
from dispatch.model.status import Evidence, ObjectKey, Observation, Source, State, Verdict
from dispatch.shell.ledger import summarize
from dispatch.stores.directory import DirectoryStore
from dispatch.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.spi.store import Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JOB = ulid(1_770_000_000_000, bytes(10))
REPETITIONS = 15


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def record(size: int) -> list[Entry]:
    """A record of so many events: a start, an open, and then what is read of the running job."""
    start = Intent(
        id="i1", verb=Verb.START, submission=1, deadline=NOW, boot="b", attempt="a", base=1
    )
    opening = Intent(id="i2", verb=Verb.OPEN, submission=1, deadline=NOW, boot="b", ref="4711")
    events: list[AnyEvent] = [
        Accepted(
            id=JOB, job=Job(command=("python", "train.py")), spec_hash="0" * 64, plan=Plan(), store=JOB,
            cluster=ClusterIdentity(alias="big", adapter="slurm", name="big"), declarations=Declarations(),
        ),
        Intended(intent=start),
        Settled(intent="i1", outcome=Outcome.LANDED, ref="4711"),
        Intended(intent=opening),
        Settled(intent="i2", outcome=Outcome.LANDED, ref="4711"),
    ]  # fmt: skip
    events += [observed(number) for number in range(size - len(events))]
    actor = Actor(user="ada", host="login1", role="supervisor")
    return [
        Entry(version=number, at=NOW, actor=actor, nonce=f"nonce {number}", event=event)
        for number, event in enumerate(events, 1)
    ]


def observed(number: int) -> Observed:
    """An event of the usual size."""
    evidence = tuple(
        Evidence(source=Source.QUEUE, field=name, value="RUNNING", read_at=NOW)
        for name in ("State", "Reason")
    )
    observation = Observation(
        ref="4711",
        key=ObjectKey(job=JOB, store=JOB, submission=1, attempt="a"),
        verdict=Verdict(state=State.RUNNING, evidence=evidence),
        nodes=tuple(f"node{node}" for node in range(8)),
    )
    return Observed(
        submission=1, observation=observation, sent=NOW + timedelta(seconds=number), boot="b"
    )


def compare(name: str, sides: dict[str, Callable[[], object]], per: int) -> None:
    """Time each side in turns; the last one is what the others are compared with."""
    taken: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(REPETITIONS):
        for side, call in sides.items():
            began = time.perf_counter()
            call()
            taken[side].append((time.perf_counter() - began) / per)
    middles = {side: statistics.median(times) for side, times in taken.items()}
    least = middles[list(sides)[-1]]
    say(f"{name}:")
    for side, middle in middles.items():
        say(
            f"  {side:<44} {middle * 1e6:>8.1f} µs each  {1 / middle:>9.0f}/s  {middle / least:>5.2f} times"
        )


def measure_fold(size: int) -> None:
    entries = record(max(size, 6))
    lines = [encode(entry) for entry in entries]
    known = fold(entries[:-1])
    compare(
        f"{len(entries)} events",
        {
            "fold them": lambda: fold(entries),
            "decode them strictly, and fold them": lambda: fold(
                [decode(line, Entry) for line in lines]
            ),
            "decode them as bare JSON (json.loads)": lambda: [json.loads(line) for line in lines],
        },
        len(entries),
    )
    compare(
        "one event, on a view that is kept",
        {
            "fold it": lambda: [fold(entries[-1:], known) for _ in range(200)],
            "decode it as bare JSON": lambda: [json.loads(lines[-1]) for _ in range(200)],
        },
        200,
    )


class Appending:
    """Appends the next event of a record, durably, each time that it is called."""

    def __init__(self, store: Store, times: int) -> None:
        self.store = store
        self.entries = record(times * REPETITIONS + 6)
        self.view = fold(self.entries[:1])
        store.create(self.entries[0], summarize(self.view, NOW, due=NOW))

    def __call__(self) -> None:
        entry = self.entries[self.view.version]
        before, self.view = self.view.version, fold([entry], self.view)
        if not self.store.append(JOB, before, [entry], summarize(self.view, NOW, due=NOW)):
            raise AssertionError(before)


def plain_insert(place: Path, data: bytes) -> Callable[[], object]:
    raw = sqlite3.connect(place, isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, event TEXT NOT NULL)")
    return lambda: raw.execute("INSERT INTO events (event) VALUES (?)", (data.decode(),))


def plain_file(place: Path, data: bytes) -> Callable[[], object]:
    descriptor = os.open(place, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def write() -> None:
        os.write(descriptor, data)
        os.fsync(descriptor)

    return write


def measure_append(place: Path, times: int) -> None:
    data = encode(record(6)[-1])
    sides: dict[str, Callable[[], object]] = {
        "append to the records in SQLite": Appending(SqliteStore.open(place / "r.db", now=NOW), times),
        "append to the records in a directory": Appending(DirectoryStore.open(place / "r.d", now=NOW), times),
        "append to a plain file, and sync": plain_file(place / "plain", data),
        "insert into a plain SQLite, synchronous=FULL": plain_insert(place / "plain.db", data),
    }  # fmt: skip

    def repeated(call: Callable[[], object]) -> Callable[[], object]:
        return lambda: [call() for _ in range(times)]

    compare(
        "an append that survives a power cut",
        {name: repeated(call) for name, call in sides.items()},
        times,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a fold and an append.")
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--place", default=None)
    options = parser.parse_args()
    measure_fold(options.size)
    with tempfile.TemporaryDirectory(dir=options.place) as directory:
        measure_append(Path(directory), max(options.size // 10, 1))


if __name__ == "__main__":
    main()
