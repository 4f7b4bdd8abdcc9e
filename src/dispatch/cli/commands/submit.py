"""``dispatch submit``: accept jobs, and bring them into the scheduler's queue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import click

from dispatch.cli.commands.plan import plan_all, show_plans
from dispatch.cli.commands.wait import Following, exit_of
from dispatch.cli.exits import Exit
from dispatch.cli.jobfiles import load_jobs
from dispatch.cli.options import Common, common_options, duration
from dispatch.cli.render import job_document
from dispatch.cli.session import note_if_unattended
from dispatch.cli.terminal import clean, emit, say
from dispatch.cli.working import (
    PATIENCE,
    drive,
    open_for,
    refuse_if_away,
    telling_after,
)
from dispatch.model.errors import DispatchError
from dispatch.model.job import Job
from dispatch.model.status import Cause
from dispatch.model.view import JobView
from dispatch.shell.driving import Until, has_reached
from dispatch.shell.operator import Submitted
from dispatch.shell.system import System


@click.command("submit")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--wait", is_flag=True, help="Wait until the jobs have ended, and supervise them meanwhile."
)
@click.option(
    "--timeout",
    metavar="DURATION",
    type=duration,
    help="With --wait: give up waiting after so long; the jobs go on.",
)
@click.option(
    "--key", metavar="KEY", help="Submitting the same key and job again gives the same job."
)
@click.option(
    "--cluster", metavar="CLUSTER", help="Submit to this cluster, whatever the file says."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done, as `plan` does.")
@common_options
def command(
    common: Common,
    *,
    files: tuple[str, ...],
    wait: bool,
    timeout: timedelta | None,
    key: str | None,
    cluster: str | None,
    dry_run: bool,
) -> Exit:
    """Submit jobs from files.

    Files are YAML, TOML or JSON by their ending; `-` is YAML on standard input. A job needs a `command`, such as
    `command: [python, train.py]`. All files are read and planned before the first is submitted.
    """
    if timeout is not None and not wait:
        raise click.UsageError("--timeout goes with --wait.")
    if dry_run:
        show_plans(common, files, key=key, cluster=cluster)
        return Exit.OK
    with open_for(common) as system:
        jobs = load_jobs(files, system.config, key=key, cluster=cluster)
        return asyncio.run(_submit(common, system, jobs, wait=wait, timeout=timeout))


async def _submit(
    common: Common, system: System, jobs: Sequence[Job], *, wait: bool, timeout: timedelta | None
) -> Exit:
    async with system.open_clusters():
        await plan_all(system, jobs)
        ids = await _accept(common, system, jobs)
        following = Following(common, system)
        until = Until.ENDED if wait else Until.OPENED
        async with telling_after("waiting for the scheduler …"):
            views = await drive(
                system,
                ids,
                until,
                on_change=following.changed if wait else None,
                timeout=timeout if wait else PATIENCE,
            )
    if wait:
        return following.ended(views)
    for view in views.values():
        _tell_opened(common, system, view)
    refuse_if_away(system, views, "The job is accepted")
    if any(view.verdict is None for view in views.values()):
        note_if_unattended(system.store)
    rejected = any(view.verdict and view.verdict.cause is Cause.REJECTED for view in views.values())
    return Exit.REFUSED if rejected else exit_of(views, ended_only=False)


async def _accept(common: Common, system: System, jobs: Sequence[Job]) -> list[str]:
    """Accept the jobs, and tell of each. Raises the first refusal, once all that were accepted are told."""
    answers = await system.operator.submit_all(jobs)
    accepted = [one for one in answers if not isinstance(one, DispatchError)]
    for job, submitted in zip(jobs, answers, strict=True):
        if not isinstance(submitted, DispatchError):
            _tell_accepted(common, job, submitted)
    for refusal in answers:
        if isinstance(refusal, DispatchError):
            raise refusal
    return [submitted.id for submitted in accepted]


def _tell_accepted(common: Common, job: Job, submitted: Submitted) -> None:
    if common.as_json:
        emit(
            {
                "event": "accepted",
                "created": submitted.created,
                "job": job_document(submitted.summary),
            }
        )
    else:
        word = "accepted" if submitted.created else "known by its key"
        say(clean(f"{job.name} {submitted.id} {word}"))


def _tell_opened(common: Common, system: System, view: JobView) -> None:
    summary = system.store.summary(view.id)
    if common.as_json:
        event = (
            "ended" if view.verdict else "opened" if has_reached(view, Until.OPENED) else "pending"
        )
        emit({"event": event, "job": job_document(summary)})
    else:
        say(clean(f"{view.job.name} {view.id} {summary.why}"))
