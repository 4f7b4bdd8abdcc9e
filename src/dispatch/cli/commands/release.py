"""``dispatch release``: lift the hold of jobs."""

from __future__ import annotations

import click

from dispatch.cli.asking import ask_for
from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options, jobs_argument
from dispatch.core.explaining import explain
from dispatch.model.view import JobView
from dispatch.shell.driving import Until, has_reached
from dispatch.shell.system import System


@click.command("release")
@jobs_argument
@common_options
def command(common: Common, *, jobs: tuple[str, ...]) -> Exit:
    """Lift the hold of jobs: the one that dispatch placed, no other's."""

    def ask(system: System, job: str) -> JobView:
        return system.ask_release(job)

    return ask_for(common, jobs, ask, done=_done)


def _done(view: JobView) -> str:
    if view.verdict is None and not has_reached(view, Until.ACKNOWLEDGED):
        return "will be released, which the scheduler does not show yet"
    return f"is released: {explain(view).headline}"
