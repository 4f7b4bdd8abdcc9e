"""``dispatch status``: list jobs from the records alone."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from dispatch.cli.options import Common, common_options, label, when
from dispatch.cli.render import UNATTENDED, job_document, jobs_table, supervisor_document
from dispatch.cli.session import note_absences, reading, supervisors, utc_now
from dispatch.cli.terminal import emit, note, say, width
from dispatch.model.status import Cause, State
from dispatch.spi.store import Heartbeat, Query, Summary

STATES = click.Choice([state.value for state in State], case_sensitive=False)
CAUSES = click.Choice([cause.value for cause in Cause], case_sensitive=False)


@click.command("status")
@click.option("--all", "everything", is_flag=True, help="Also jobs that have ended.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="STATE",
    type=STATES,
    help=f"Only jobs in this state: {', '.join(State)}.",
)
@click.option(
    "--cause",
    "causes",
    multiple=True,
    metavar="CAUSE",
    type=CAUSES,
    help="Only jobs with this cause, such as Preempted.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=VALUE",
    type=label,
    help="Only jobs with this label; all of several.",
)
@click.option("--name", metavar="NAME", help="Only jobs of this name.")
@click.option("--cluster", metavar="CLUSTER", help="Only jobs of this cluster.")
@click.option("--user", metavar="USER", help="Only jobs of this user.")
@click.option(
    "--since",
    metavar="WHEN",
    type=when,
    help="Only jobs accepted since 2026-11-30T12:00:00Z, or within 2d.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, 100_000),
    default=100,
    help="At most so many, the newest (100).",
)
@common_options
def command(
    common: Common,
    *,
    everything: bool,
    states: tuple[str, ...],
    causes: tuple[str, ...],
    labels: tuple[tuple[str, str], ...],
    name: str | None,
    cluster: str | None,
    user: str | None,
    since: datetime | timedelta | None,
    limit: int,
) -> None:
    """List jobs: those that have not ended, unless a state, a cause or `--all` asks for others.

    Nothing is asked of a cluster: what is listed is what was recorded last.
    """
    now = utc_now()
    query = Query(
        finished=None if everything or states or causes else False,
        states=tuple(map(State, states)),
        causes=tuple(map(Cause, causes)),
        labels=dict(labels),
        name=name,
        cluster=cluster,
        user=user,
        since=now - since if isinstance(since, timedelta) else since,
        limit=limit + 1,
    )
    with reading(common) as store:
        jobs, attended = store.list(query), supervisors(store)
    if common.as_json:
        _emit(jobs[:limit], attended, more=len(jobs) > limit)
    else:
        _say(jobs[:limit], attended, now, query)
    if len(jobs) > limit:
        note(f"There are more than {limit}; --limit shows them.")


def _emit(jobs: tuple[Summary, ...], attended: tuple[Heartbeat, ...], *, more: bool) -> None:
    listed = [job_document(job) for job in jobs]
    emit(
        {
            "jobs": listed,
            "more": more,
            "supervisors": [supervisor_document(one) for one in attended],
        }
    )


def _say(
    jobs: tuple[Summary, ...], attended: tuple[Heartbeat, ...], now: datetime, query: Query
) -> None:
    if jobs:
        say(jobs_table(jobs, now, width()))
    elif query.finished is None:
        say("No job matches.")
    else:
        say("No unfinished job matches; --all lists those that have ended too.")
    if not attended and not all(job.finished for job in jobs):
        note(UNATTENDED)
    note_absences(attended)
