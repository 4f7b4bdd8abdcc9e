# ruff: noqa: INP001  a script
"""Measure one round of a supervisor over many unfinished jobs, of which one in a hundred has changed.

`python benchmarks/round.py [--size JOBS] [--place DIRECTORY]`: records in SQLite on the disk of the directory, jobs on the
memory scheduler in the same process.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.adapters.memory.settings import decode_settings
from dispatch.core.folding import fold
from dispatch.model.job import Job
from dispatch.model.journal import Actor
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.shell.supervisor import Supervisor
from dispatch.spi.adapter import AdapterConfig
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.clock import ManualClock

ROUNDS = 5
MOST_ONE_BY_ONE = 500


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def unconfigured(alias: str) -> AdapterConfig:
    raise LookupError(alias)


class Site:
    """A memory cluster with enough nodes for what will run, records on disk, and one supervisor."""

    def __init__(self, place: Path, size: int) -> None:
        self.clock = ManualClock()
        nodes = (ROUNDS + 1) * changed_of(size)
        self.backend = MemoryBackend.create(
            decode_settings({"nodes": nodes}), clock=self.clock, alias="c"
        )
        self.store = SqliteStore.open(place / "records.db", now=self.clock.now())
        self.ledger = Ledger(self.store, self.clock, Actor(user="ada", host="h", role="supervisor"))
        clusters = Clusters(unconfigured, self.ledger, EngineOptions())
        clusters.named("c").use(self.backend)
        self.operator = Operator(self.ledger, clusters)
        self.supervisor = Supervisor(self.ledger, clusters, "benchmark")

    async def submit(self, size: int) -> list[str]:
        job = Job(command=("python", "train.py"), cluster="c")
        return [(await self.operator.submit(job)).id for _ in range(size)]

    async def settle(self) -> None:
        """Make rounds until none finds anything to do now."""
        while (await self.supervisor.round()).looked_at:
            pass

    async def round_with_changes(self, changed: list[str]) -> float:
        """Let these jobs begin to run, and time the next round, in seconds."""
        self.clock.advance(timedelta(minutes=1))
        for job in changed:
            self.backend.env.run(job)
        began = time.perf_counter()
        await self.supervisor.round()
        return time.perf_counter() - began

    async def one_by_one(self, jobs: list[str]) -> float:
        """Time what a loop over the jobs would cost each: read and fold its record, ask for it, note when to look again."""
        due = self.clock.now() + timedelta(seconds=10)
        began = time.perf_counter()
        for job in jobs:
            fold(self.store.load(job))
            await self.backend.find(job)
            self.store.reschedule(job, due)
        return (time.perf_counter() - began) / len(jobs)


def changed_of(size: int) -> int:
    return max(size // 100, 1)


async def measure(place: Path, size: int) -> None:
    site = Site(place, size)
    began = time.perf_counter()
    jobs = await site.submit(size)
    submitted = time.perf_counter() - began
    began = time.perf_counter()
    await site.settle()
    opened = time.perf_counter() - began
    say(
        f"{size} jobs: accepted {size / submitted:.0f}/s, started and opened {size / opened:.0f}/s (each event synced)"
    )
    changed = changed_of(size)
    took = [
        await site.round_with_changes(jobs[number * changed : (number + 1) * changed])
        for number in range(min(ROUNDS, size // changed))
    ]
    middle = statistics.median(took)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(
        f"a round over {size} unfinished jobs, {changed} changed: median {middle:.3f} s of {len(took)}, slowest {max(took):.3f} s"
    )
    say(
        f"the same job by job: {await site.one_by_one(jobs[:MOST_ONE_BY_ONE]) * size / middle:.1f} times as long, nothing decided"
    )
    say(f"most memory resident, scheduler included: {memory:.0f} MB")
    site.store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure one round of a supervisor.")
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--place", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.place) as directory:
        asyncio.run(measure(Path(directory), options.size))


if __name__ == "__main__":
    main()
