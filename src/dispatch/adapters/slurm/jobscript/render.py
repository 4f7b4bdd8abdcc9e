"""The job script: constants of the job, quoted, on top of a body that is the same for all jobs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from importlib import resources

from dispatch.model.errors import Fault, Invalid
from dispatch.model.job import Job, Launcher
from dispatch.spi.adapter import StartOrder

LAUNCH_FAILED = 118
"""The script's exit status where it could not start the command, and started nothing."""

FENCED = 119
"""The script's exit status where its epoch must not start (12, O4)."""

MAX_SCRIPT = 4 * 1024 * 1024
"""Slurm's default ``max_script_size``; a site that lowers it refuses the script itself."""

MAX_STRING = 128 * 1024 - 1
"""The kernel's ``MAX_ARG_STRLEN`` without the final NUL: the longest argument or ``NAME=value`` of a program."""

MAX_STRINGS = 1024 * 1024
"""Half of the 2 MiB that the kernel allows arguments and environment together; the rest is Slurm's and the site's."""


def render_job_script(order: StartOrder, shared: str) -> str:
    """Render the script of one object; ``shared`` is the directory of tickets, expanded where the script runs.

    Raises ``Invalid`` naming each field that no program can be given.
    """
    job = order.job
    check_limits(job)
    constants = [
        _constant("job", order.id),
        _constant("submission", str(order.submission)),
        _constant("attempt", order.attempt),
        _constant("store", order.store),
        _constant("base", str(order.base)),
        _constant("shared", shared),
        _constant("workdir", job.workdir or "~"),
        _constant("launcher", job.launcher.value),
        _constant("nodes", str(job.nodes)),
        _constant("tasks", str(job.tasks_per_node if job.launcher is Launcher.SRUN else 1)),
        _constant("processes", str(job.gpus_per_node or job.tasks_per_node)),
        _constant("cpus", str(job.cpus_per_task)),
        _list("env", (f"{name}={value}" for name, value in job.env.items())),
        _list("secrets", (f"{name}={source.file}" for name, source in job.secret_env.items())),
        _list("setup", job.setup),
        _list("command", job.command),
    ]
    head = "#!/bin/bash\n# dispatch job script, format 1: starts the command at most once in an epoch.\n"
    script = head + "".join(constants) + _body()
    if len(script.encode()) > MAX_SCRIPT:
        raise Invalid(
            f"The job script of {order.id} has {len(script.encode())} bytes; Slurm takes {MAX_SCRIPT}.",
            todo="Put what is long in command, env or setup into files.",
        )
    return script


def check_limits(job: Job) -> None:
    """Refuse texts that cannot be handed to a program, each by its field."""
    texts = {f"command[{index}]": text for index, text in enumerate(job.command)}
    texts |= {f"env.{name}": f"{name}={value}" for name, value in job.env.items()}
    others = {f"setup[{index}]": text for index, text in enumerate(job.setup)}
    others |= {f"secretEnv.{name}.file": source.file for name, source in job.secret_env.items()}
    others |= {
        name: text
        for name, text in (("workdir", job.workdir), ("output", job.output))
        if text is not None
    }
    faults = [fault for path, text in (texts | others).items() if (fault := _fault_of(path, text))]
    total = (
        sum(len(text.encode("utf-8", "surrogateescape")) + 1 for text in texts.values())
        if not faults
        else 0
    )
    if total > MAX_STRINGS:
        faults.append(
            Fault(
                path="command",
                found=f"{total} bytes with env",
                allowed=f"at most {MAX_STRINGS} bytes",
            )
        )
    if faults:
        raise Invalid("The job cannot be handed to a program.", faults=tuple(faults))


def _fault_of(path: str, text: str) -> Fault | None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return Fault(
            path=path, found="text that is no Unicode", allowed="text without lone surrogates"
        )
    if b"\0" in data:
        return Fault(path=path, found="a NUL character", allowed="text without NUL")
    if len(data) > MAX_STRING and not path.startswith("setup"):
        return Fault(
            path=path,
            found=f"{len(data)} bytes",
            allowed=f"at most {MAX_STRING} bytes, the kernel's limit",
        )
    return None


def _quoted(value: str) -> str:
    # sbatch refuses a script with a DOS line break in it, quoted or not.
    return shlex.quote(value).replace("\r", "'$'\\r''")


def _constant(name: str, value: str) -> str:
    return f"dispatch_{name}={_quoted(value)}\n"


def _list(name: str, values: Iterable[str]) -> str:
    lines = "".join(f"  {_quoted(value)}\n" for value in values)
    return f"dispatch_{name}=(\n{lines})\n" if lines else f"dispatch_{name}=()\n"


def _body() -> str:
    return (
        resources.files("dispatch.adapters.slurm.jobscript")
        .joinpath("body.sh")
        .read_text(encoding="utf-8")
    )
