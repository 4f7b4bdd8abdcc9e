"""What can be told of a job before Slurm is asked: of which no object can be made, whatever the cluster's state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from dispatch.adapters.slurm.jobscript import output_path, render_job_script
from dispatch.adapters.slurm.writing.options import sbatch_options
from dispatch.model.errors import Fault, Invalid
from dispatch.model.job import Job
from dispatch.spi.adapter import StartOrder

LONGEST_PATH = 3_800
"""Bytes: Linux's PATH_MAX of 4096, less a home directory."""
LONGEST_NAME = 255
LONGEST_OPTION = 4_096

_ULID = "0" * 26


def check_job(job: Job, shared: str) -> None:
    """Raise ``Invalid`` with every fault for which ``Writer.start`` would refuse the job."""
    order = StartOrder(
        id=_ULID, job=job, spec_hash="0" * 64, store=_ULID, submission=1, attempt="0" * 16, base=0
    )
    faults = [
        *_paths(job),
        *_options(job),
        *_of(partial(sbatch_options, order)),
        *_of(partial(output_path, job, ulid=_ULID, submission=1)),
        *_of(partial(render_job_script, order, shared)),
    ]
    # Of a field that has a fault already, a second one says nothing new.
    found: dict[str, Fault] = {}
    for fault in faults:
        found.setdefault(fault.path, fault)
    if found:
        raise Invalid("The job cannot be submitted to Slurm.", faults=tuple(found.values()))


def _of(make: Callable[[], object]) -> tuple[Fault, ...]:
    try:
        make()
    except Invalid as error:
        return error.faults or (Fault(path="the job", found=error.what, allowed=error.todo),)
    return ()


def _paths(job: Job) -> Iterator[Fault]:
    for name, path in (("workdir", job.workdir), ("output", job.output)):
        if path is None:
            continue
        # `scontrol show job` prints them as they are, so that a line of theirs would read as another field.
        if not all(letter >= " " and letter != "\x7f" for letter in path):
            yield Fault(
                path=name, found="a control character", allowed="a path without such, in one line"
            )
        data = path.encode("utf-8", "surrogatepass")
        if len(data) > LONGEST_PATH:
            allowed = f"at most {LONGEST_PATH} bytes, Linux's limit for a path"
            yield Fault(path=name, found=f"{len(data)} bytes", allowed=allowed)
        elif (longest := max(map(len, data.split(b"/")))) > LONGEST_NAME:
            allowed = f"at most {LONGEST_NAME} bytes between two slashes, Linux's limit for a name"
            yield Fault(path=name, found=f"{longest} bytes", allowed=allowed)


def _options(job: Job) -> Iterator[Fault]:
    for name, value in (job.slurm.options if job.slurm else {}).items():
        size = len(name) + len(str(value).encode("utf-8", "surrogatepass"))
        if size > LONGEST_OPTION:
            path = f"slurm.options.{name[:64]}"
            yield Fault(
                path=path,
                found=f"{size} bytes",
                allowed=f"at most {LONGEST_OPTION} bytes of name and value",
            )
