"""A whole dispatch on a real Slurm of the lab: records of its own, and the engine run in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from dispatch.core.explaining import explain
from dispatch.model.documents import decode_document
from dispatch.model.job import Job
from dispatch.model.journal import Event
from dispatch.model.view import JobView
from dispatch.shell.clock import SystemClock
from dispatch.shell.clusters import EngineOptions
from dispatch.shell.config import ClusterConfig, Config
from dispatch.shell.driving import Until
from dispatch.shell.system import System
from dispatch.stores.sqlite import SqliteStore
from lab import Lab

QUICK = {"saveWindow": "1s", "killMargin": "1s"}
"""Windows for tests in which no controller is killed: nothing is forgotten, so nothing is waited for."""


class Site:
    """One person's dispatch on one cluster of the lab. Jobs are given in the words of a job file."""

    def __init__(self, lab: Lab, place: Path, *, user: str = "alice", **settings: Any) -> None:
        self.lab = lab
        self.user = user
        self.settings = {
            **QUICK,
            "transport": {"kind": "local", "through": [str(lab.login(user))]},
            **settings,
        }
        config = Config(clusters={"lab": ClusterConfig(adapter="slurm", settings=self.settings)})
        self.records = place / "records.db"
        clock = SystemClock()
        self.system = System(
            config,
            SqliteStore.open(self.records, now=clock.now()),
            clock,
            options=EngineOptions(poll=timedelta(milliseconds=300)),
            role="test",
        )

    def submit(self, *command: str, **fields: Any) -> str:
        """Submit a job and return its id; nothing is sent to Slurm yet."""
        document = {"command": list(command), "cluster": "lab", **fields}
        job = decode_document(document, Job, where="The job")
        return asyncio.run(self.system.submit(job)).id

    def until(self, job: str, reached: Callable[[JobView], bool], seconds: float = 60) -> JobView:
        """Run the engine until the job is there; the bound is an error that shows the record."""

        if not reached(self.system.view(job)):
            for _ in self.driving([job], seconds):
                if reached(self.system.view(job)):
                    break
        return self.system.view(job)

    def turn(self, job: str, turns: int = 1) -> None:
        """Run the engine for so many calls at the most."""

        async def turn() -> None:
            engine = await self.system.clusters.named("lab").engine()
            await engine.advance([job], turns=turns)
            await self.system.clusters.close()

        asyncio.run(turn())

    def driving(self, jobs: list[str], seconds: float) -> Iterator[float]:
        """Run the engine for these jobs, giving the caller a turn every few tenths of a second; the bound is an error."""
        begin = time.monotonic()
        while (elapsed := time.monotonic() - begin) < seconds:
            asyncio.run(self.system.drive(jobs, Until.ENDED, timeout=timedelta(milliseconds=200)))
            yield elapsed
        raise AssertionError(
            "\n".join(
                f"not there in {seconds} s: {explain(self.system.view(job))}\n{self.trace(job)}"
                for job in jobs
            )
        )

    def end(self, job: str, seconds: float = 90) -> JobView:
        """Run the engine until the job has its final verdict."""
        return self.until(job, lambda view: view.verdict is not None, seconds)

    def running(self, job: str, submission: int = 1, seconds: float = 60) -> JobView:
        """Run the engine until that submission is seen running."""

        def reached(view: JobView) -> bool:
            assert view.verdict is None, f"ended: {view.verdict}\n{self.trace(job)}"
            known = view.current
            return bool(known and known.submission == submission and known.ran)

        return self.until(job, reached, seconds)

    def events(self, job: str, *kinds: type[Event]) -> list[Any]:
        """The events of those kinds in the job's record."""
        return [entry.event for entry in self.system.history(job) if isinstance(entry.event, kinds)]

    def slurm_id(self, job: str, submission: int = 1) -> str:
        """The Slurm job id of a submission."""
        return self.system.view(job).objects[submission].ref.split(":")[0]

    def output(self, job: str, submission: int = 1) -> str:
        """The output of a submission."""
        view = self.system.view(job)
        return asyncio.run(self.system.read_output(view, submission, 0, 1_000_000)).decode()

    def squeue(self, job: str) -> list[str]:
        """The ids and states of all Slurm jobs that carry this job's name, oldest first."""
        listing = self.lab.text(
            "root", "squeue", "-h", "-t", "all", f"--name=dj-{job}", "-o", "%i %T"
        )
        return sorted(listing.splitlines(), key=lambda line: int(line.split()[0]))

    def trace(self, job: str) -> str:
        """The job's record, for the message of a failure."""
        return "\n".join(
            f"{e.version} {e.at:%H:%M:%S.%f} {e.event}" for e in self.system.history(job)
        )

    def close(self) -> None:
        """Close the records."""
        self.system.store.close()
