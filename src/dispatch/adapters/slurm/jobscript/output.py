"""Where a job's output goes: our placeholders, and what is left over escaped for Slurm's."""

from __future__ import annotations

import re
from posixpath import join

from dispatch.model.errors import Fault, Invalid
from dispatch.model.job import Job

DEFAULT_OUTPUT = "dispatch-%j-%n.out"

_PLACEHOLDER = re.compile(r"%(.?)", re.DOTALL)


def output_path(job: Job, *, ulid: str, submission: int) -> str:
    """Fill in a job's ``output``: %j the job's ULID, %n its submission, %% a percent sign.

    %r, the restart count, is 0: Slurm knows one file for all executions of an object, and appends to it. The path is
    relative to the working directory, or to ``~``, unless it is absolute. Raises ``Invalid``.
    """
    values = {"j": ulid, "n": str(submission), "r": "0", "%": "%"}
    template = job.output or DEFAULT_OUTPUT

    def value_of(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise _invalid(repr(match[0]), "%j (job), %n (submission), %r (restarts) and %%")
        return values[match[1]]

    if "\\" in template:
        # Slurm takes a backslash anywhere in the name as "expand nothing", and drops it.
        raise _invalid("a backslash", "a path without backslashes")
    if "\n" in template:
        raise _invalid("a line break", "a path in one line")
    path = _PLACEHOLDER.sub(value_of, template)
    return path if path.startswith("~/") else join(job.workdir or "~", path)


def slurm_pattern(path: str) -> str:
    """Escape a path for ``sbatch --output``, which has placeholders of its own."""
    return path.replace("%", "%%")


def _invalid(found: str, allowed: str) -> Invalid:
    return Invalid(
        "The job's output is wrong.", faults=(Fault(path="output", found=found, allowed=allowed),)
    )
