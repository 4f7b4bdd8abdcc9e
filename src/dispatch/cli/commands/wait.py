"""``dispatch wait``: wait for jobs to end, and supervise them meanwhile where nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import click

from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options, duration, jobs_argument
from dispatch.cli.render import job_document, one_line
from dispatch.cli.session import meant
from dispatch.cli.terminal import emit, say
from dispatch.cli.working import drive, open_for
from dispatch.core.explaining import explain
from dispatch.model.status import State
from dispatch.model.view import JobView
from dispatch.shell.driving import Until
from dispatch.shell.system import System


@click.command("wait")
@jobs_argument
@click.option(
    "--timeout",
    metavar="DURATION",
    type=duration,
    help="Give up waiting after so long; the jobs go on.",
)
@common_options
def command(common: Common, *, jobs: tuple[str, ...], timeout: timedelta | None) -> Exit:
    """Wait until jobs have ended; where nobody supervises them, they are supervised from here meanwhile.

    The exit code is 0 where all have succeeded, 1 where one has not, 124 where the time was up first.
    """
    with open_for(common) as system:
        ids = [meant(system.store, job).id for job in jobs]
        return asyncio.run(_wait(common, system, list(dict.fromkeys(ids)), timeout))


async def _wait(
    common: Common, system: System, jobs: Sequence[str], timeout: timedelta | None
) -> Exit:
    following = Following(common, system)
    async with system.open_clusters():
        for job in jobs:
            following.changed(system.view(job))
        views = await drive(system, jobs, Until.ENDED, on_change=following.changed, timeout=timeout)
    return following.ended(views)


class Following:
    """Tells each change of some jobs once: what a person would read, not every event."""

    def __init__(self, common: Common, system: System) -> None:
        self._common = common
        self._system = system
        self._told: dict[str, str] = {}

    def changed(self, view: JobView) -> None:
        """Tell where the job stands, unless that was told last; its end is told by ``ended``."""
        line = one_line(view, explain(view))
        if view.verdict is not None or self._told.get(view.id) == line:
            return
        self._told[view.id] = line
        self._tell("changed", view, line)

    def ended(self, views: dict[str, JobView]) -> Exit:
        """Tell how it ended, or that it has not, and give the exit code."""
        for view in views.values():
            self._tell("ended" if view.verdict else "timedOut", view, one_line(view, explain(view)))
        return exit_of(views)

    def _tell(self, event: str, view: JobView, line: str) -> None:
        if self._common.as_json:
            emit({"event": event, "job": job_document(self._system.store.summary(view.id))})
        else:
            say(line)


def exit_of(views: dict[str, JobView], *, ended_only: bool = True) -> Exit:
    """Give the exit code for jobs that should have ended, or at least not ended badly."""
    verdicts = [view.verdict for view in views.values()]
    if any(verdict is not None and verdict.state is not State.SUCCEEDED for verdict in verdicts):
        return Exit.ENDED_OTHERWISE
    return Exit.TIMED_OUT if ended_only and None in verdicts else Exit.OK
