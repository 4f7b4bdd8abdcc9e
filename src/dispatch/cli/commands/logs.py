"""``dispatch logs``: what a job has written."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

import click

from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options, job_argument
from dispatch.cli.session import meant
from dispatch.cli.terminal import emit, note
from dispatch.cli.working import open_for, telling_after
from dispatch.model.errors import NotFound, Unavailable
from dispatch.model.view import JobView
from dispatch.shell.system import System

CHUNK = 1 << 16
PAUSE = timedelta(seconds=1)


@click.command("logs")
@job_argument
@click.option(
    "-f", "--follow", is_flag=True, help="Go on until the job has ended, over all its submissions."
)
@click.option(
    "--submission", metavar="N", type=click.IntRange(1), help="That submission, not the newest."
)
@common_options
def command(common: Common, *, job: str, follow: bool, submission: int | None) -> Exit:
    """Print what a job has written."""
    with open_for(common) as system:
        found = meant(system.store, job).id
        reader = Reader(common, system, found, submission)
        asyncio.run(reader.follow() if follow else reader.read())
    return Exit.OK


class Reader:
    """Reads the output of one job, and remembers how far."""

    def __init__(self, common: Common, system: System, job: str, submission: int | None) -> None:
        self._common = common
        self._system = system
        self._job = job
        self._fixed = submission
        self._submission: int = 0
        self._offset = 0

    async def read(self) -> None:
        """Print what there is. Raises ``NotFound`` where there is nothing yet."""
        async with self._system.open_clusters(), telling_after("reading the output …"):
            await self._read_all(self._system.view(self._job))

    async def follow(self) -> None:
        """Print what there is and what comes, until the job has ended."""
        async with self._system.open_clusters():
            while True:
                view = self._system.view(self._job)
                try:
                    await self._read_all(view)
                except NotFound:
                    if view.verdict is not None and not self._offset:
                        raise
                except Unavailable as error:
                    note(f"{error.what} It is tried again.")
                if view.verdict is not None:
                    return
                await self._system.clock.sleep_until(self._system.clock.now() + PAUSE)

    async def _read_all(self, view: JobView) -> None:
        if view.current is None:
            raise NotFound(
                f"Job {view.id} has not been submitted to the scheduler yet, so it has no output."
            )
        newest: int = self._fixed or view.current.submission
        if self._submission and newest != self._submission:
            await self._read_one(view, self._submission)  # what came since the last look
            note(f"submission {newest} follows")
        if newest != self._submission:
            self._submission, self._offset = newest, 0
        await self._read_one(view, newest)

    async def _read_one(self, view: JobView, submission: int) -> None:
        while chunk := await self._system.read_output(view, submission, self._offset, CHUNK):
            self._write(submission, chunk)
            self._offset += len(chunk)

    def _write(self, submission: int, chunk: bytes) -> None:
        if self._common.as_json:
            text = chunk.decode("utf-8", "replace")
            emit({"job": self._job, "submission": submission, "offset": self._offset, "text": text})
        else:
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
