"""A job's wishes as options of ``sbatch``."""

from __future__ import annotations

from dispatch.model.errors import Fault, Invalid
from dispatch.model.job import Job
from dispatch.spi.adapter import StartOrder

OWNED = frozenset(
    {
        *(
            "hold",
            "begin",
            "requeue",
            "no-requeue",
            "job-name",
            "comment",
            "array",
            "parsable",
            "wait",
            "wrap",
        ),
        *(
            "test-only",
            "export",
            "propagate",
            "export-file",
            "get-user-env",
            "open-mode",
            "clusters",
            "dependency",
            "kill-on-invalid-dep",
        ),
        *(
            "uid",
            "gid",
            "quiet",
            "verbose",
            "help",
            "usage",
            "version",
            "ignore-pbs",
            "signal",
            "deadline",
        ),
    }
)
"""Options that the protocol rests on, or that would change what a reply means."""

FIELDS = {
    "output": "output", "error": "output", "chdir": "workdir", "nodes": "nodes", "ntasks-per-node": "tasksPerNode",
    "ntasks": "tasksPerNode", "gres": "gpusPerNode", "gpus": "gpusPerNode", "gpus-per-node": "gpusPerNode",
    "cpus-per-task": "cpusPerTask", "mem": "memory", "exclusive": "exclusive", "time": "timeLimit",
    "partition": "partition", "account": "account", "qos": "qos", "constraint": "constraint",
    "signal": "signalBefore",
}  # fmt: skip
"""Options that a field of the job file says already."""

_LONGEST_LEAD = 65_535
_MIB = 1 << 20


def sbatch_options(order: StartOrder) -> list[str]:
    """List the options that the job's fields ask for. Raises ``Invalid`` naming every field that cannot be asked for."""
    job = order.job
    faults = [*_faults_of_signal(job), *_faults_of_options(job)]
    if faults:
        raise Invalid("The job cannot be submitted to Slurm.", faults=tuple(faults))
    wishes: list[tuple[str, str | None]] = [
        ("nodes", str(job.nodes)),
        ("ntasks-per-node", str(job.tasks_per_node)),
        ("cpus-per-task", str(job.cpus_per_task)),
        ("gres", _gres(job)),
        ("mem", f"{-(-job.memory // _MIB)}M" if job.memory else None),
        ("time", str(-(-job.time_limit.ms // 60_000)) if job.time_limit else None),
        ("signal", _signal(job)),
        ("partition", job.partition),
        ("account", job.account),
        ("qos", job.qos),
        ("constraint", job.constraint),
        ("exclude", ",".join(order.exclude) or None),
    ]
    options = [f"--{name}={value}" for name, value in wishes if value is not None]
    return [*options, *(["--exclusive"] if job.exclusive else []), *_free_options(job)]


def _gres(job: Job) -> str | None:
    kind = f":{job.gpu_type}" if job.gpu_type else ""
    return f"gpu{kind}:{job.gpus_per_node}" if job.gpus_per_node else None


def _signal(job: Job) -> str | None:
    before = job.signal_before
    # Without "B:": to the steps, that is the command's processes, and not to the script.
    return f"{before.signal}@{-(-before.lead.ms // 1_000)}" if before else None


def _free_options(job: Job) -> list[str]:
    options = job.slurm.options if job.slurm else {}
    return [
        f"--{name}" if value is True else f"--{name}={value}"
        for name, value in options.items()
        if value is not False
    ]


def _faults_of_signal(job: Job) -> list[Fault]:
    if job.signal_before and job.signal_before.lead.total_seconds() > _LONGEST_LEAD:
        found = str(job.signal_before.lead)
        return [
            Fault(
                path="signalBefore.lead",
                found=found,
                allowed=f"at most {_LONGEST_LEAD}s, Slurm's limit",
            )
        ]
    return []


def _faults_of_options(job: Job) -> list[Fault]:
    faults: list[Fault] = []
    for name, value in (job.slurm.options if job.slurm else {}).items():
        path = f"slurm.options.{name}"
        if owned := _owned(name):
            faults.append(Fault(path=path, found=name, allowed=owned))
        elif isinstance(value, str) and ("\0" in value or "\n" in value):
            faults.append(Fault(path=path, found="a line break or NUL", allowed="text in one line"))
    return faults


def _owned(name: str) -> str | None:
    # sbatch takes any unambiguous beginning of an option for the option: "wr" is --wrap.
    for field, ours in FIELDS.items():
        if field.startswith(name):
            return f"the job's own field {ours}"
    if any(own.startswith(name) for own in OWNED):
        return "another option: this one belongs to the protocol"
    return None
