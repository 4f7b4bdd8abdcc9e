# ruff: noqa: INP001  a script
"""Measure how long commands take that only read: `python benchmarks/startup.py [--size JOBS] [--times TIMES]`.

They take turns with a bare interpreter, and with `squeue --help` where that is installed, so that what else the machine does
slows all of them alike.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from dispatch.model.answers import ClusterIdentity, Declarations
from dispatch.model.epoch import ulid
from dispatch.model.job import Job
from dispatch.model.journal import Accepted, Actor, Entry
from dispatch.model.plan import Plan
from dispatch.model.status import State
from dispatch.spi.store import Summary
from dispatch.stores.sqlite import SqliteStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def fill(place: Path, size: int) -> None:
    """Make records with so many unfinished jobs."""
    store = SqliteStore.open(place, now=NOW)
    for number in range(size):
        job = ulid(1_770_000_000_000 + number, number.to_bytes(10, "big"))
        accepted = Accepted(
            id=job, job=Job(command=("python", "train.py")), spec_hash="0" * 64, plan=Plan(), store=store.id,
            cluster=ClusterIdentity(alias="big", adapter="slurm", name="big"), declarations=Declarations(),
        )  # fmt: skip
        summary = Summary(
            id=job, version=1, name="train", cluster="big", user="ada", state=State.RUNNING, accepted_at=NOW,
            updated_at=NOW, due=NOW,
        )  # fmt: skip
        actor = Actor(user="ada", host="h", role="operator")
        store.create(Entry(version=1, at=NOW, actor=actor, nonce=job, event=accepted), summary)
    store.close()


def timed(command: list[str], environment: dict[str, str]) -> float:
    """Run a command once, and return how long it took, in seconds."""
    began = time.perf_counter()
    subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


def commands(directory: Path, size: int) -> dict[str, list[str]]:
    """What is measured; the first is what the others are compared with."""
    # Not `-m dispatch`: that is how it is installed, by its entry point.
    dispatch = [
        sys.executable,
        "-c",
        "import sys; from dispatch.cli.main import main; sys.exit(main())",
    ]
    found = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "dispatch --help": [*dispatch, "--help"],
    }
    for jobs in (10, size):
        place = directory / str(jobs) / "records.db"
        fill(place, jobs)
        for limit in sorted({min(100, jobs), jobs}):
            found[f"dispatch status, {limit} of {jobs} jobs"] = [
                *dispatch, "status", "--records", str(place), "--limit", str(limit),
            ]  # fmt: skip
    if squeue := shutil.which("squeue"):
        found["squeue --help"] = [squeue, "--help"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long commands take that only read.")
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--times", type=int, default=21)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        chosen = commands(Path(directory), options.size)
        environment = dict(os.environ, HOME=directory, XDG_CONFIG_HOME=directory)
        taken: dict[str, list[float]] = {name: [] for name in chosen}
        for _ in range(options.times + 1):
            for name, command in chosen.items():
                taken[name].append(timed(command, environment))
    # The first run of each fills the caches of the disk.
    middles = {name: statistics.median(times[1:]) for name, times in taken.items()}
    bare = middles["python -c pass"]
    for name, middle in middles.items():
        say(f"{name:<36} {middle * 1e3:>6.0f} ms  {middle / bare:>5.1f} times the bare interpreter")


if __name__ == "__main__":
    main()
