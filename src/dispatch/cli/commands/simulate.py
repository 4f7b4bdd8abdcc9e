"""``dispatch simulate``: what would this policy do? Nothing is submitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from dispatch.cli.options import Common, common_options
from dispatch.cli.session import configuration
from dispatch.cli.simulated import (
    Progress,
    check_writable,
    conditions_of,
    partitioned,
    perhaps_never,
    report_lines,
    spread,
    whole,
    within_horizon,
    write_file,
)
from dispatch.cli.terminal import emit, note, say, width
from dispatch.model.documents import check_value
from dispatch.model.errors import NotFound
from dispatch.model.job import Job
from dispatch.shell.config import Config
from dispatch.shell.files import load_job
from dispatch.whatif.conditions import Conditions
from dispatch.whatif.page import page
from dispatch.whatif.picture import picture
from dispatch.whatif.reporting import Report, document, report

MOST = 4
"""Policies side by side."""
MOST_PROCESSES = 8
LARGEST_SEED = 1 << 53


@click.command("simulate")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    help="A policy of the configuration in place of the job's own; several are compared.",
)
@click.option(
    "--nodes",
    type=whole(1, 100_000),
    metavar="N",
    help="So many nodes, whatever the file says.",
)
@click.option(
    "--node-mtbf",
    type=perhaps_never,
    metavar="DURATION",
    help="Each node is lost once in this time of running, at random.",
)
@click.option(
    "--preempt-every",
    "preemptions",
    multiple=True,
    type=partitioned(perhaps_never),
    metavar="[PARTITION=]DURATION",
    help="The job is preempted once in this time of running, at random; `never` in a partition where it is not.",
)
@click.option(
    "--program-mtbf",
    type=perhaps_never,
    metavar="DURATION",
    help="The program fails by itself once in this time of running, at random.",
)
@click.option(
    "--program-exit-code",
    type=whole(1, 255),
    default="1",
    metavar="CODE",
    help="With this exit code; 1 if not given.",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Failures and waits as recorded: `sacct --json`, `sacct -P`, `dispatch show --json`, or a place of records. Options that are given go before it.",
)
@click.option(
    "--repair-time",
    type=spread,
    default="2h",
    metavar="DURATION",
    help="How long a lost node is away: a duration, or `exp:2h` for a random one around it; 2h if not given.",
)
@click.option(
    "--node-timeout",
    type=within_horizon,
    default="5m",
    metavar="DURATION",
    help="How long a lost node is silent before the scheduler ends the job (SlurmdTimeout); 5m if not given.",
)
@click.option(
    "--spares",
    type=whole(0, 100_000),
    metavar="N",
    help="Nodes that the job may use beside those that it needs; as many again if not given.",
)
@click.option(
    "--queue-wait",
    "waits",
    multiple=True,
    type=partitioned(spread),
    metavar="[PARTITION=]DURATION",
    help="The wait in the queue before each start: a duration, or `exp:20m`; none if not given.",
)
@click.option(
    "--checkpoint-every",
    type=perhaps_never,
    default="1h",
    metavar="DURATION",
    help="Work between two checkpoints, or `never`; 1h if not given.",
)
@click.option(
    "--checkpoint-cost",
    type=within_horizon,
    default="1m",
    metavar="DURATION",
    help="How long saving stops the work; 1m if not given.",
)
@click.option(
    "--restart-cost",
    type=within_horizon,
    default="5m",
    metavar="DURATION",
    help="From a start to the first new step; 5m if not given.",
)
@click.option(
    "--saves-when-preempted",
    is_flag=True,
    help="The program saves when it is preempted, and loses nothing.",
)
@click.option(
    "--exit-on-signal",
    type=whole(1, 255),
    metavar="CODE",
    help="The program saves at the signal of signalBefore, and exits with this code.",
)
@click.option(
    "--person-after",
    type=within_horizon,
    metavar="DURATION",
    help="A person releases each hold after this time; nobody does if not given.",
)
@click.option(
    "--days",
    type=whole(1, 3650),
    metavar="N",
    help="Simulate so many days; 30 if not given, or twenty times --work.",
)
@click.option(
    "--work",
    type=within_horizon,
    metavar="DURATION",
    help="The job ends after so much work; without it, it goes on for all the days.",
)
@click.option(
    "--seeds",
    type=whole(1, 100_000),
    default="100",
    metavar="N",
    help="How many runs; 100 if not given.",
)
@click.option(
    "--seed",
    type=whole(0, LARGEST_SEED),
    default="1",
    metavar="N",
    help="The first seed; the same seeds give the same answer, to the letter.",
)
@click.option(
    "--svg", type=click.Path(path_type=Path), metavar="FILE", help="Draw a picture into this file."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a page with the picture and all figures into this file.",
)
@common_options
def command(
    common: Common,
    *,
    files: tuple[str, ...],
    policies: tuple[str, ...],
    nodes: int | None,
    seeds: int,
    seed: int,
    svg: Path | None,
    html: Path | None,
    **options: Any,
) -> None:
    """Simulate jobs and their policies against failures, and tell what the policies did.

    The decisions are those that a supervisor would take. Several files, or several policies, are compared under the same
    failures. Nothing is submitted, and no cluster is asked.
    """
    config = configuration(common)
    jobs = _jobs(files, policies, config, nodes)
    conditions, notes = conditions_of(config.supervisor.poll, **options)
    for text in notes:
        note(text)
    count: list[int | None] = [*range(seed, seed + seeds)]
    if any(one.gaps for one in conditions.sources):
        count[0] = None  # the history as it was recorded
    for place, option in ((svg, "--svg"), (html, "--html")):
        if place is not None:
            check_writable(place, option)
    reports = _reports(jobs, conditions, count)
    if common.as_json:
        emit({"policies": [document(one) for one in reports]})
    else:
        say(report_lines(reports, width()))
    # Last, so that a full disk takes nothing of what was told.
    _draw(reports, svg, html)


def _reports(
    jobs: Sequence[tuple[str, Job]], conditions: Conditions, seeds: Sequence[int | None]
) -> list[Report]:
    found: list[Report] = []
    with Progress(len(jobs), len(seeds)) as progress:
        for name, job in jobs:
            processes = _processes()
            found.append(
                report(name, job, conditions, seeds, processes=processes, on_progress=progress.tell)
            )
            progress.next_policy()
    return found


def _jobs(
    files: Sequence[str], policies: Sequence[str], config: Config, nodes: int | None
) -> list[tuple[str, Job]]:
    """The jobs to compare, each with a name that tells it from the others."""
    if len(files) * max(len(policies), 1) > MOST:
        raise click.UsageError(f"At most {MOST} policies can be compared at once.")
    jobs: list[tuple[str, Job]] = []
    for name in files:
        job = load_job(Path(name), config)
        if nodes is not None:
            job = check_value(replace(job, nodes=nodes), where=f"{name} with --nodes")
        told = job.name if len(files) == 1 else name
        of = f"{name}: " if len(files) > 1 else ""
        jobs += [(f"{of}{one}", _with_policy(job, one, config)) for one in policies]
        if not policies:
            jobs.append((told, job))
    return jobs


def _with_policy(job: Job, name: str, config: Config) -> Job:
    if name not in config.policies:
        known = ", ".join(sorted(config.policies)) or "none"
        raise NotFound(
            f"There is no policy {name!r} (known: {known}; {config.origin}).",
            todo="Define it under policies.",
        )
    return replace(job, recovery=config.policies[name])


def _processes() -> int:
    """Count the processors to use: those that this process may have, and never all of a login node."""
    affinity: Callable[[int], set[int]] | None = getattr(
        os, "sched_getaffinity", None
    )  # not everywhere
    return min(len(affinity(0)) if affinity else os.cpu_count() or 1, MOST_PROCESSES)


def _draw(reports: Sequence[Report], svg: Path | None, html: Path | None) -> None:
    drawn = picture(reports) if svg or html else ""
    if svg is not None:
        write_file(svg, drawn, "--svg")
    if html is not None:
        write_file(html, page(reports, drawn), "--html")
