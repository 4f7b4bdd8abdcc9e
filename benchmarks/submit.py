# ruff: noqa: INP001  a script
"""Measure on a real Slurm what it costs to bring jobs into its queue, beside bare `sbatch --hold` and `scontrol release`.

Root and Slurm's packages are needed, as for the lab. In each round every way takes its turn, in another order: all
jobs together and one by one, each in one process and by the command `dispatch submit`. Of the ways that take a job at a time
only so many are made as `--few` says. Between the ways the queue is emptied.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
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
from dispatch.shell.operator import Operator, Submitted  # noqa: E402
from dispatch.spi.adapter import AdapterConfig  # noqa: E402
from dispatch.stores.sqlite import SqliteStore  # noqa: E402
from lab import Lab, LabUnavailable, Options  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

ENOUGH = 300.0
"""Seconds, after which no further round begins."""

CONFIG = """
[clusters.lab]
adapter = "slurm"
settings.transport = {{ kind = "local", through = ["{login}"] }}
"""

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
    """A lab, records of its own, a dispatch in this process, and the command."""

    def __init__(self, lab: Lab, place: Path, count: int, few: int) -> None:
        self.lab, self.place, self.count, self.few = lab, place, count, few
        clock = SystemClock()
        self.store = SqliteStore.open(place / "records.db", now=clock.now())
        self.ledger = Ledger(self.store, clock, Actor(user="alice", host="bench", role="bench"))
        self.clusters = Clusters(self._config, self.ledger, EngineOptions())
        self.operator = Operator(self.ledger, self.clusters)
        self.driver = Driver(self.ledger, self.clusters)
        (place / "config.toml").write_text(CONFIG.format(login=lab.login("alice")))
        self.files = [place / f"job{number}.yaml" for number in range(count)]
        for number, file in enumerate(self.files):
            file.write_text(f"name: job-{number}\ncommand: ['true']\noutput: /dev/null\n")

    def _config(self, alias: str) -> AdapterConfig:
        settings = {"transport": {"kind": "local", "through": [str(self.lab.login("alice"))]}}
        return AdapterConfig(adapter="slurm", alias=alias, settings=settings)

    async def bare(self) -> int:
        """Submit and release from a loop of the shell."""
        await self._run(str(self.lab.login("alice")), "sh", "-c", BARE, "sh", str(self.count))
        return self.count

    async def together(self) -> int:
        """Submit all, and bring them into the queue together."""
        await self._opened(await self._accepted(self.count))
        return self.count

    async def one_by_one(self) -> int:
        """Submit each and wait for its opening before the next."""
        for _ in range(self.few):
            await self._opened(await self._accepted(1))
        return self.few

    async def command_together(self) -> int:
        """Give all files to one command."""
        await self._submit(*self.files)
        return self.count

    async def command_one_by_one(self) -> int:
        """Give each file to a command of its own, as a loop in a person's shell does."""
        for file in self.files[: self.few]:
            await self._submit(file)
        return self.few

    async def _accepted(self, count: int) -> list[str]:
        jobs = [Job(command=("true",), cluster="lab", output="/dev/null") for _ in range(count)]
        answers = await self.operator.submit_all(jobs)
        return [one.id for one in answers if isinstance(one, Submitted)]

    async def _opened(self, jobs: Sequence[str]) -> None:
        views = await self.driver.drive(jobs, Until.OPENED)
        assert all(has_reached(view, Until.OPENED) and not view.verdict for view in views.values())

    async def _submit(self, *files: Path) -> None:
        options = (
            "--config",
            str(self.place / "config.toml"),
            "--records",
            str(self.place / "command.db"),
        )
        await self._run(sys.executable, "-m", "dispatch", "submit", *options, *map(str, files))

    async def _run(self, *command: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        started = await asyncio.create_subprocess_exec(
            *command,
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert await started.wait() == 0

    def emptied(self) -> None:
        """End what the turn before has left in the queue, so that the next finds it empty."""
        self.lab.text("root", "scancel", "--user=alice")
        for _ in range(300):
            if not self.lab.text("root", "squeue", "-h").strip():
                return
            time.sleep(0.1)


async def measure(bench: Bench, rounds: int) -> dict[str, list[float]]:
    """Give the seconds for a job in each way, by round."""
    ways: dict[str, Callable[[], Awaitable[int]]] = {
        "bare": bench.bare,
        "together, one process": bench.together,
        "together, one command": bench.command_together,
        "one by one, one process": bench.one_by_one,
        "one by one, a command each": bench.command_one_by_one,
    }
    taken: dict[str, list[float]] = {way: [] for way in ways}
    await bench.clusters.named("lab").engine()
    # Queued and never started: jobs that ran on these very cores would be measured too.
    bench.lab.text("root", "scontrol", "update", "PartitionName=main", "State=DOWN")
    end = time.perf_counter() + ENOUGH
    for number in range(rounds):
        names = list(ways)
        for way in names[number % len(names) :] + names[: number % len(names)]:
            began = time.perf_counter()
            made = await ways[way]()
            taken[way].append((time.perf_counter() - began) / made)
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
    parser.add_argument(
        "--few", type=int, default=20, help="jobs of a way that takes one at a time"
    )
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    try:
        lab = Lab.up(f"bench-{os.getpid()}", Options(), owner=os.getpid())
    except LabUnavailable as reason:
        say(f"no measurement: {reason}")
        return
    try:
        with tempfile.TemporaryDirectory(dir=".") as place:
            bench = Bench(lab, Path(place).absolute(), asked.size, min(asked.few, asked.size))
            taken = asyncio.run(measure(bench, asked.rounds))
    finally:
        lab.down()
    say(f"{asked.size} jobs in a round, of the ways that take one at a time {bench.few}")
    bare = statistics.median(taken["bare"])
    for way, times in taken.items():
        middle = statistics.median(times)
        # Each beside the bare one of its own round: what else the machine did then was the same for both.
        beside = statistics.median(
            time / of_bare for time, of_bare in zip(times, taken["bare"], strict=True)
        )
        rounds = "  ".join(f"{seconds * 1e3:.1f}" for seconds in times)
        say(
            f"{way:<27} {middle * 1e3:>6.1f} ms a job   {middle / bare:>5.2f} times bare, "
            f"{beside:.2f} by rounds   ({rounds})"
        )


if __name__ == "__main__":
    main()
