"""What a third party writes so that the suites can run on its adapter: how to open it, and what its scheduler can be made to do."""

# ruff: noqa: ARG002 - what a harness leaves out takes what it would if it were there

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.conformance.verdicts import CannotDo
from dispatch.model.answers import Capability, Tristate
from dispatch.model.job import Job
from dispatch.spi.adapter import AdapterConfig, Backend
from dispatch.spi.registry import open_backend

T = TypeVar("T")


@dataclass(frozen=True)
class Timings:
    """How long the checks wait.

    ``wait`` is the longest time until the scheduler has done what it was made to do, ``quiet`` how long one looks to
    conclude that nothing happens, ``poll`` the time between two looks. The default suits a scheduler in memory.
    """

    wait: timedelta = timedelta(minutes=10)
    quiet: timedelta = timedelta(minutes=3)
    poll: timedelta = timedelta(seconds=30)


class Harness(ABC):
    """An adapter under test. ``open``, and ``adapter`` with ``settings``, are all that must be given."""

    timings = Timings()
    scheduler = Scheduler()
    patience = 10.0
    """How many seconds of real time a watch may take to tell of a change."""
    flood = 100
    """How many objects, made and stopped, are more changes than the buffer of a watch holds."""
    crowd = 30
    """How many objects are more than the adapter writes in one piece, where it can write many."""
    adapter: str
    """The adapter's name in the registry."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings under which the adapter opens; strict decoding is tried on them."""
        return {}

    def run(self, suite: Coroutine[Any, Any, T]) -> T:
        """Run a suite to its end: in real time, or on a loop whose time ``now`` tells."""
        return asyncio.run(suite)

    async def reset(self) -> None:  # noqa: B027 - most harnesses have nothing to do here
        """Make ready for the next check; a harness with a world in memory makes a new one."""

    async def close(self) -> None:  # noqa: B027 - the same
        """Let go of everything after the last check."""

    @abstractmethod
    async def open(self, *, read_only: bool = False) -> Backend:
        """Open one more view of the cluster."""

    async def open_with(self, settings: dict[str, Any]) -> Backend:
        """Open with these settings, as a user's configuration would."""
        config = AdapterConfig(adapter=self.adapter, alias="conformance", settings=settings)
        return await open_backend(config)

    async def open_without(self, capability: Capability, value: Tristate) -> Backend:
        """Open a cluster on which the probe finds that capability to be ``no`` or ``unknown``."""
        raise CannotDo(f"the harness has no cluster whose {capability} is {value}")

    def now(self) -> datetime:
        """The time on the cluster."""
        return datetime.now(UTC)

    async def pass_time(self, duration: timedelta) -> None:
        """Let time pass, and the scheduler start whatever it may."""
        await asyncio.sleep(duration.total_seconds())

    def overlaps(self, job: str) -> int | None:
        """How often an execution of the job has begun while another of it lived, by the ground truth, where that is known."""
        return None

    def late_call(self, moment: datetime) -> AbstractContextManager[None]:
        """Let the commands of the calls made inside start at that moment."""
        raise CannotDo("the harness cannot make a command start late")

    def job(self) -> Job:
        """A job that runs until ``scheduler.finish`` or another power ends it."""
        return Job(command=("sleep", "600"))

    def telling_job(self, text: str) -> Job:
        """A job as ``job``, whose program says that as its output when it begins, and nothing else."""
        raise CannotDo("the harness knows of no job that says something")

    def faulty_job(self) -> Job:
        """A job of which the adapter can make no object, whatever the cluster's state."""
        raise CannotDo("the harness knows of no job that the adapter cannot make an object of")

    def impossible_job(self) -> Job:
        """A job that the scheduler refuses for good."""
        raise CannotDo("the harness knows of no job that the scheduler refuses for good")

    def unknown_ref(self, made: Made) -> str:
        """A well-formed ref that no object has, made after that of a real one."""
        raise CannotDo("the harness cannot make up a ref")
