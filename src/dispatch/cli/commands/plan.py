"""``dispatch plan``: what would be done with a job, or every reason why not. Nothing is submitted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from dispatch.cli.jobfiles import load_jobs, refuse_together
from dispatch.cli.options import Common, common_options
from dispatch.cli.render import plan_document, plan_lines
from dispatch.cli.terminal import emit, say
from dispatch.cli.working import open_for, telling_after
from dispatch.model.errors import Refused
from dispatch.model.job import Job
from dispatch.model.plan import Plan
from dispatch.shell.system import System


@click.command("plan")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--cluster", metavar="CLUSTER", help="Plan for this cluster, whatever the file says.")
@common_options
def command(common: Common, *, files: tuple[str, ...], cluster: str | None) -> None:
    """Say what would be done with a job and by whom, or every reason why not.

    Files are YAML, TOML or JSON by their ending; `-` is YAML on standard input. Nothing is submitted.
    """
    show_plans(common, files, key=None, cluster=cluster)


def show_plans(
    common: Common, files: Sequence[str], *, key: str | None, cluster: str | None
) -> None:
    """Plan the jobs of these files, and tell the plans."""
    with open_for(common) as system:
        jobs = load_jobs(files, system.config, key=key, cluster=cluster)
        plans = asyncio.run(_plans(system, jobs))
    for job, plan in zip(jobs, plans, strict=True):
        if common.as_json:
            emit(
                {
                    "name": job.name,
                    "cluster": job.cluster,
                    "accepted": True,
                    "plan": plan_document(plan),
                }
            )
        else:
            say(plan_lines(job, plan))


async def _plans(system: System, jobs: Sequence[Job]) -> list[Plan]:
    async with system.open_clusters():
        return await plan_all(system, jobs)


async def plan_all(system: System, jobs: Sequence[Job]) -> list[Plan]:
    """Plan every job before any is submitted. Raises ``Refused`` with the reasons of all."""
    plans: list[Plan] = []
    refusals: list[tuple[Job, Refused]] = []
    for job in jobs:
        async with telling_after(f"opening the cluster {job.cluster} …"):
            try:
                plans.append(await system.operator.plan(job))
            except Refused as refusal:
                refusals.append((job, refusal))
    refuse_together(refusals)
    return plans
