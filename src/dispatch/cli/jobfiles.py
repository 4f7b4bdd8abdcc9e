"""Job files on the command line: all are read before anything is done with one, and every fault of all is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from dispatch.model.documents import check_value
from dispatch.model.errors import DispatchError, Invalid, NotFound, Refused
from dispatch.model.job import Job
from dispatch.shell.config import Config
from dispatch.shell.files import STDIN, load_job


def load_jobs(
    files: Sequence[str], config: Config, *, key: str | None, cluster: str | None
) -> list[Job]:
    """Read the jobs, with what the command line says in place of the files', each with its cluster named.

    Raises ``Invalid`` with the faults of all files at once.
    """
    if key is not None and len(files) > 1:
        raise click.UsageError("--key names one job, so it goes with one file.")
    if len(files) > 1 and str(STDIN) in files:
        raise click.UsageError("Standard input, `-`, goes alone.")
    jobs: list[Job] = []
    errors: list[DispatchError] = []
    for name in files:
        try:
            jobs.append(_placed(load_job(Path(name), config), config, key=key, cluster=cluster))
        except (Invalid, NotFound) as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise _together(errors)
    return jobs


def _placed(job: Job, config: Config, *, key: str | None, cluster: str | None) -> Job:
    name, _ = config.cluster(cluster or job.cluster)
    placed = replace(job, cluster=name, key=job.key if key is None else key)
    return placed if key is None else check_value(placed, where="The job with --key")


def _together(errors: Sequence[DispatchError]) -> Invalid:
    faults = tuple(
        replace(fault, path=f"{error.what.partition(' has ')[0]}: {fault.path}")
        for error in errors
        if isinstance(error, Invalid)
        for fault in error.faults
    )
    what = "\n  ".join([f"{len(errors)} files cannot be used:", *(error.what for error in errors)])
    return Invalid(what, faults=faults, todo="Nothing was submitted.")


def refuse_together(refusals: Sequence[tuple[Job, Refused]]) -> None:
    """Raise the refusals of several jobs as one; of one, as it is; of none, nothing."""
    if len(refusals) == 1:
        raise refusals[0][1]
    if refusals:
        reasons = tuple(
            f"{job.name}: {reason}"
            for job, error in refusals
            for reason in error.reasons or (error.what,)
        )
        raise Refused(
            f"The plans of {len(refusals)} jobs are refused.",
            reasons=reasons,
            todo="Nothing was submitted.",
        )
