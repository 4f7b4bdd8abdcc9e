"""Driving jobs from a command, so that Ctrl-C leaves between two calls and not within one."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import click

from dispatch.cli import diagnostics
from dispatch.cli.options import Common
from dispatch.cli.session import configuration
from dispatch.cli.terminal import note
from dispatch.model.errors import Unavailable
from dispatch.model.view import JobView
from dispatch.shell.driving import Until
from dispatch.shell.system import System, open_system

PATIENCE = timedelta(seconds=60)
"""How long a command that does not wait for the end goes on trying, before it leaves the rest to a supervisor."""


def open_for(common: Common, role: str = "user") -> System:
    """Open the records for writing, and what a command needs."""
    diagnostics.set_up(as_json=common.as_json, long=role == "supervisor")
    system = open_system(configuration(common), records=common.records, role=role)
    for warning in getattr(system.store, "warnings", ()):
        note(f"warning: {warning}")
    return system


@asynccontextmanager
async def telling_after(text: str, *, seconds: float = 1.0) -> AsyncGenerator[None]:
    """Say what is being waited for, if it takes more than a moment."""
    timer = asyncio.get_running_loop().call_later(seconds, note, text)
    try:
        yield
    finally:
        timer.cancel()


class _EnoughError(Exception):
    """Ends a drive between two calls: what the command waits for is true."""


async def drive(
    system: System,
    jobs: Sequence[str],
    until: Until,
    *,
    enough: Callable[[JobView], bool] | None = None,
    on_change: Callable[[JobView], None] | None = None,
    timeout: timedelta | None = None,
) -> dict[str, JobView]:
    """Run the engine for these jobs until each is that far, or has had ``enough``, or the time is up.

    The first Ctrl-C leaves after the calls at hand, a second one at once; either way the record tells the next process.
    """
    interruption = _Interruption(system, jobs)

    def is_enough() -> bool:
        return enough is not None and all(enough(system.view(job)) for job in jobs)

    def changed(view: JobView) -> None:
        if on_change is not None:
            on_change(view)
        if interruption.wanted:
            raise click.Abort
        if is_enough():
            raise _EnoughError

    if not is_enough():
        with suppress(_EnoughError):
            await interruption.allow(system.driver.drive(jobs, until, changed, timeout))
    return {job: system.view(job) for job in jobs}


class _Interruption:
    """Lets Ctrl-C end some work between two calls to the scheduler."""

    def __init__(self, system: System, jobs: Sequence[str]) -> None:
        self._system = system
        self._jobs = jobs
        self._leaving: asyncio.Task[None] | None = None

    @property
    def wanted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._leaving is not None

    async def allow(self, work: Awaitable[object]) -> None:
        """Do the work; raises ``Abort`` where it was interrupted."""
        task = asyncio.ensure_future(work)

        def pressed() -> None:
            if self._leaving is None:
                self._leaving = asyncio.ensure_future(self._leave(task))
            else:
                task.cancel()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, pressed)
        try:
            await task
        except asyncio.CancelledError:
            if self.wanted:
                raise click.Abort from None
            raise
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            if self._leaving is not None:
                self._leaving.cancel()

    async def _leave(self, task: asyncio.Future[object]) -> None:
        """Cancel once no call is under way. An intent is in the record before its call, so the record tells."""
        if self._calling():
            note("finishing the call that is under way; Ctrl-C again leaves at once")
        while self._calling():  # noqa: ASYNC110 - the record is what tells, and it has no event
            await asyncio.sleep(0.05)
        task.cancel()

    def _calling(self) -> bool:
        return any(self._system.view(job).intents for job in self._jobs)


def refuse_if_away(system: System, views: dict[str, JobView], what: str) -> None:
    """Raise ``Unavailable`` where the time ran out because a cluster is away."""
    for view in views.values():
        cluster = system.clusters.named(view.header.cluster.alias)
        if view.verdict is None and cluster.trouble:
            todo = "It is recorded, and is carried out as soon as a supervisor reaches the cluster."
            raise Unavailable(
                f"{what}, but the cluster {cluster.alias} is away: {cluster.trouble}", todo=todo
            )
