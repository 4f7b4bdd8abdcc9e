"""``dispatch stop``: end jobs, for good."""

from __future__ import annotations

import click

from dispatch.cli.asking import ask_for
from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options, jobs_argument
from dispatch.cli.telling import verdict_words
from dispatch.cli.working import PATIENCE
from dispatch.core.explaining import explain
from dispatch.model.errors import Finished
from dispatch.model.view import JobView, Phase
from dispatch.shell.system import System

OVER = (Phase.ENDED, Phase.JUDGED, Phase.CEASED)


@click.command("stop")
@jobs_argument
@click.option("--why", metavar="TEXT", default="", help="The reason, for the record.")
@click.option("--wait", is_flag=True, help="Wait until the end is certain, not only read once.")
@common_options
def command(common: Common, *, jobs: tuple[str, ...], why: str, wait: bool) -> Exit:
    """End jobs, for good. What has ended already is no error.

    From the request on, nothing of the job is started again. An end is certain a while after it was first read: a
    controller may forget what it has acknowledged.
    """

    def ask(system: System, job: str) -> JobView:
        try:
            return system.ask_stop(job, why)
        except Finished:
            return system.view(job)

    return ask_for(
        common,
        jobs,
        ask,
        done=_done,
        enough=None if wait else _is_over,
        timeout=None if wait else PATIENCE,
    )


def _is_over(view: JobView) -> bool:
    """Whether the end of everything that may run was read, be it only once."""
    if view.verdict is not None:
        return True
    return (
        view.stop is not None
        and not view.intents
        and all(known.phase in OVER for known in view.objects.values())
    )


def _done(view: JobView) -> str:
    if view.verdict is not None:
        return f"has ended: {verdict_words(view.verdict)}"
    if _is_over(view):
        return "is stopped; its end becomes certain a little later (--wait waits for that)"
    return f"will be stopped: {explain(view).headline}"
