"""``dispatch status``: list jobs from the records alone."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from dispatch.cli.options import Common, common_options, label, when
from dispatch.cli.render import UNATTENDED, job_document, jobs_table, supervisor_document
from dispatch.cli.session import reading, supervisors, utc_now
from dispatch.cli.terminal import emit, note, say, width
from dispatch.model.status import Cause, State
from dispatch.spi.store import Query


@click.command("status")
@click.option("--all", "everything", is_flag=True, help="Also jobs that have ended.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([item.value for item in State], case_sensitive=False),
    help="Only jobs in this state.",
)
@click.option(
    "--cause",
    "causes",
    multiple=True,
    type=click.Choice([item.value for item in Cause], case_sensitive=False),
    help="Only jobs with this cause.",
)
@click.option("--label", "labels", multiple=True, type=label, help="Only jobs with this label.")
@click.option("--name", help="Only jobs of this name.")
@click.option("--cluster", help="Only jobs of this cluster.")
@click.option("--user", help="Only jobs of this user.")
@click.option("--since", type=when, help="Only jobs accepted since then, or within so long: 2d.")
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=100,
    show_default=True,
    help="At most so many, the newest.",
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
    """List jobs: those that have not ended, unless told otherwise."""
    now = utc_now()
    query = Query(
        finished=None if everything or any(State(state).ended for state in states) else False,
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
    more, jobs = len(jobs) > limit, jobs[:limit]
    if common.as_json:
        emit(
            {
                "jobs": [job_document(job) for job in jobs],
                "more": more,
                "supervisors": [supervisor_document(one) for one in attended],
            }
        )
        return
    if jobs:
        say(jobs_table(jobs, now, width()))
    else:
        say(
            "No job matches."
            if everything or len(query.states)
            else "No job is unfinished; --all lists those that ended."
        )
    if more:
        note(f"There are more than {limit}; --limit shows them.")
    if not attended and not all(job.finished for job in jobs):
        note(UNATTENDED)
