"""The harness of the Slurm adapter, for anybody's cluster: programs end by a file that they wait for.

It needs a directory that this process can write and the nodes can read. Everything that takes an administrator is left
to a harness that has one.
"""

from __future__ import annotations

import itertools
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dispatch.adapters.slurm.reading import Ref
from dispatch.adapters.slurm.settings import decode_settings
from dispatch.conformance.harness import Harness, Timings
from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.model.job import Job
from dispatch.model.quantity import TimeLimit
from dispatch.spi.adapter import AdapterConfig, Backend
from dispatch.spi.registry import open_backend

PROGRAM = 'while sleep 0.1; do [ ! -e "$0" ] || . "$0"; done'
"""Waits for its file, and does what that says to its submission."""
TELLING = 'printf %s "$0"; while sleep 0.1; do [ ! -e "$1" ] || . "$1"; done'
"""The same, after it has said something."""


class SlurmScheduler(Scheduler):
    """What a user can do to jobs of their own."""

    def __init__(self, harness: SlurmHarness) -> None:
        self._harness = harness

    async def finish(self, made: Made, code: int) -> None:
        """Tell its program to end with that code."""
        self._harness.tell(made, f"exit {code}")

    async def signal(self, made: Made, name: str) -> None:
        """Tell its program to kill itself."""
        self._harness.tell(made, f"ulimit -c 0; kill -{name} $$; sleep 60")


class SlurmHarness(Harness):
    """A real cluster, as its user reaches it. ``ends`` is the directory of the files that end programs."""

    adapter = "slurm"
    timings = Timings(
        wait=timedelta(minutes=2), quiet=timedelta(seconds=5), poll=timedelta(seconds=0.3)
    )

    def __init__(
        self, settings: dict[str, Any], *, ends: Path | None = None, seen: str | None = None
    ) -> None:
        decode_settings(settings)
        self._settings = settings
        self._ends = ends or Path.home() / ".dispatch" / "conformance"
        self._seen = seen or str(self._ends)
        self._numbers = itertools.count(1)
        self._token = secrets.token_hex(4)
        self.scheduler: Scheduler = SlurmScheduler(self)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the user gave."""
        return self._settings

    async def open(self, *, read_only: bool = False) -> Backend:
        """Open one more view, with its preflight."""
        config = AdapterConfig(
            adapter="slurm", alias="conformance", settings=self._settings, read_only=read_only
        )
        return await open_backend(config)

    def job(self) -> Job:
        """A program that waits for its file, for some minutes at the most."""
        name = f"{self._token}-{next(self._numbers)}"
        return Job(
            command=("sh", "-c", PROGRAM, f"{self._seen}/{name}"),
            time_limit=TimeLimit(minutes=10),
            output="/dev/null",
        )

    def telling_job(self, text: str) -> Job:
        """A program that says that first, into a file beside the one that it waits for."""
        job = self.job()
        waited_for = job.command[-1]
        command = ("sh", "-c", TELLING, text, waited_for)
        return replace(job, command=command, output=f"{waited_for}.out")

    def faulty_job(self) -> Job:
        """A job whose output has a name that Slurm would change."""
        return replace(self.job(), output="a\\b")

    def tell(self, made: Made, words: str) -> None:
        """Write the file that a program waits for, whole at once."""
        place = self._ends / Path(made.order.job.command[-1]).name
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = place.with_suffix(".aside")
        # The next submission of the job waits for the same file, and must not do what this one was told.
        mine = f'[ "$DISPATCH_SUBMISSION" != {made.order.submission} ]'
        aside.write_text(f"{mine} || {{ {words}; }}\n")
        aside.chmod(0o644)
        aside.rename(place)

    async def close(self) -> None:
        """Remove the files that ended programs."""
        for place in self._ends.glob(f"{self._token}-*"):
            place.unlink(missing_ok=True)

    def impossible_job(self) -> Job:
        """A job for a partition that no cluster has."""
        return replace(self.job(), partition="no-such-partition")

    def unknown_ref(self, made: Made) -> str:
        """The ref of an id that is far beyond those in use."""
        return str(replace(Ref.parse(made.ref), number=67_000_000))
