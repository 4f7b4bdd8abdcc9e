# ruff: noqa: INP001  a script
"""Measure on a real Slurm what it costs to bring jobs into its queue, beside bare `sbatch --hold` and `scontrol release`.

`python benchmarks/submit.py [JOBS]`; root and Slurm's packages are needed, as for the lab. In each round all three ways
take their turn, in another order.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from dispatch.model.job import Job  # noqa: E402
from dispatch.model.journal import Actor  # noqa: E402
from dispatch.shell.clock import SystemClock  # noqa: E402
from dispatch.shell.clusters import Clusters, EngineOptions  # noqa: E402
from dispatch.shell.driving import Driver, Until, has_reached  # noqa: E402
from dispatch.shell.ledger import Ledger  # noqa: E402
from dispatch.shell.operator import Operator  # noqa: E402
from dispatch.spi.adapter import AdapterConfig  # noqa: E402
from dispatch.stores.sqlite import SqliteStore  # noqa: E402
from lab import Lab, LabUnavailable, Options  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

ROUNDS = 3
ENOUGH = 120.0
"""Seconds, after which no further round begins."""

BARE = """
cd; i=0
while [ $i -lt "$1" ]; do
  id=$(printf '#!/bin/sh\\ntrue\\n' | sbatch --parsable --hold --output=/dev/null) || exit 1
  scontrol release "$id" || exit 1
  i=$((i + 1))
done
"""


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Bench:
    """A lab, records of its own, and a dispatch in this process."""

    def __init__(self, lab: Lab, place: Path, count: int) -> None:
        self.lab, self.count = lab, count
        clock = SystemClock()
        self.store = SqliteStore.open(place / "records.db", now=clock.now())
        self.ledger = Ledger(self.store, clock, Actor(user="alice", host="bench", role="bench"))
        self.clusters = Clusters(self._config, self.ledger, EngineOptions())
        self.operator = Operator(self.ledger, self.clusters)
        self.driver = Driver(self.ledger, self.clusters)

    def _config(self, alias: str) -> AdapterConfig:
        settings = {"transport": {"kind": "local", "through": [str(self.lab.login("alice"))]}}
        return AdapterConfig(adapter="slurm", alias=alias, settings=settings)

    def bare(self) -> float:
        """Submit and release from a loop of the shell."""
        began = time.perf_counter()
        subprocess.run(
            [str(self.lab.login("alice")), "sh", "-c", BARE, "sh", str(self.count)], check=True
        )
        return time.perf_counter() - began

    async def together(self) -> float:
        """Submit all, and bring them into the queue together."""
        began = time.perf_counter()
        await self._opened([await self._accepted() for _ in range(self.count)])
        return time.perf_counter() - began

    async def one_by_one(self) -> float:
        """Submit each and wait for its opening before the next."""
        began = time.perf_counter()
        for _ in range(self.count):
            await self._opened([await self._accepted()])
        return time.perf_counter() - began

    async def _accepted(self) -> str:
        job = Job(command=("true",), cluster="lab", output="/dev/null")
        return (await self.operator.submit(job)).id

    async def _opened(self, jobs: Sequence[str]) -> None:
        views = await self.driver.drive(jobs, Until.OPENED)
        assert all(has_reached(view, Until.OPENED) and not view.verdict for view in views.values())

    def emptied(self) -> None:
        """End what the turn before has left in the queue, so that the next finds it empty."""
        self.lab.text("root", "scancel", "--user=alice")
        for _ in range(300):
            if not self.lab.text("root", "squeue", "-h").strip():
                return
            time.sleep(0.1)


async def measure(bench: Bench) -> dict[str, list[float]]:
    """Give the seconds of each way, by round."""
    taken: dict[str, list[float]] = {"bare": [], "together": [], "one by one": []}
    await bench.clusters.named("lab").engine()
    # Queued and never started: jobs that ran on these very cores would be measured too.
    bench.lab.text("root", "scontrol", "update", "PartitionName=main", "State=DOWN")
    end = time.perf_counter() + ENOUGH
    for number in range(ROUNDS):
        ways = list(taken)
        for way in ways[number:] + ways[:number]:
            if way == "bare":
                seconds = await asyncio.to_thread(bench.bare)
            else:
                act: Coroutine[None, None, float] = (
                    bench.together() if way == "together" else bench.one_by_one()
                )
                seconds = await act
            taken[way].append(seconds)
            await asyncio.to_thread(bench.emptied)
        if time.perf_counter() > end:
            break
    await bench.clusters.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure the submission of many jobs to a real Slurm."
    )
    parser.add_argument("--size", type=int, default=200, help="jobs in each round")
    count: int = parser.parse_args().size
    try:
        lab = Lab.up(f"bench-{os.getpid()}", Options(), owner=os.getpid())
    except LabUnavailable as reason:
        say(f"no measurement: {reason}")
        return
    try:
        with tempfile.TemporaryDirectory(dir=".") as place:
            taken = asyncio.run(measure(Bench(lab, Path(place), count)))
    finally:
        lab.down()
    bare = statistics.median(taken["bare"])
    for way, times in taken.items():
        middle = statistics.median(times)
        rounds = "  ".join(f"{seconds:.2f}" for seconds in times)
        say(
            f"{way:<12} {count} jobs  {middle:>6.2f} s  {middle / count * 1e3:>6.1f} ms per job  "
            f"ratio {middle / bare:>5.2f}   ({rounds})"
        )


if __name__ == "__main__":
    main()
