"""``dispatch hold``: keep jobs from starting."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from dispatch.cli.asking import ask_for
from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options, jobs_argument, when
from dispatch.cli.telling import moment
from dispatch.model.status import State
from dispatch.model.view import JobView
from dispatch.shell.driving import Until, has_reached
from dispatch.shell.system import System


@click.command("hold")
@jobs_argument
@click.option("--why", metavar="TEXT", default="", help="The reason, for the record.")
@click.option(
    "--until", metavar="WHEN", type=when, help="Release it by itself then, or after so long: 2h."
)
@common_options
def command(
    common: Common, *, jobs: tuple[str, ...], why: str, until: datetime | timedelta | None
) -> Exit:
    """Keep jobs from starting until `dispatch release`. What runs goes on; its next execution is held."""

    def ask(system: System, job: str) -> JobView:
        now = system.clock.now()
        end = now + until if isinstance(until, timedelta) else until
        if end is not None and end <= now:
            raise click.BadParameter(f"{moment(end)} has passed.", param_hint="--until")
        return system.ask_hold(job, why, end)

    return ask_for(common, jobs, ask, done=_done)


def _done(view: JobView) -> str:
    if view.verdict is not None:
        return "has ended meanwhile"
    if view.hold is None:
        return "is not held any more"
    seen = view.current.seen if view.current else None
    if seen is not None and seen.state is State.RUNNING:
        return "is running; it is held before its next execution"
    word = (
        "is held"
        if has_reached(view, Until.ACKNOWLEDGED)
        else "will be held, which the scheduler does not show yet"
    )
    return f"{word}{f' until {moment(view.hold.until)}' if view.hold.until else ''}"
