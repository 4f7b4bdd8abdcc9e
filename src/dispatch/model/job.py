"""The job: what a person asks for, in the words that every adapter translates."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from dispatch.model.answers import Feature
from dispatch.model.base import Value
from dispatch.model.errors import Fault, Invalid
from dispatch.model.names import RESERVED_PREFIX, EnvName, Name, SignalName, Word, is_reserved
from dispatch.model.policy import Policy
from dispatch.model.quantity import Duration, Size, TimeLimit
from dispatch.model.status import State

Line = Annotated[str, Meta(min_length=1, description="non-empty text")]
AtLeastOne = Annotated[int, Meta(ge=1, le=100_000)]


class Launcher(StrEnum):
    """How the command is started on the nodes.

    ``plain`` runs it once on every node, ``srun`` ``tasksPerNode`` times on every node, ``torchrun`` runs
    ``torchrun`` with it once on every node, so that all nodes are one training. ``mpi`` asks for PMIx.
    """

    PLAIN = "plain"
    SRUN = "srun"
    TORCHRUN = "torchrun"
    MPI = "mpi"


class SecretSource(Value):
    """Where a secret is read on the node, when the job runs; its value never leaves the node."""

    file: Line


class Container(Value):
    """The image in which the command runs."""

    image: Line
    mounts: tuple[Line, ...] = ()
    workdir: Line | None = None


class SignalBefore(Value):
    """A signal to the command's processes so long before the time limit."""

    signal: SignalName
    lead: Duration


class After(Value):
    """Another job, by key, name or id, and the state that it must reach first."""

    job: Line
    state: State = State.SUCCEEDED


class SlurmOptions(Value):
    """What only Slurm understands: long options of ``sbatch`` without the dashes."""

    options: dict[
        Annotated[
            str,
            Meta(
                pattern=r"^[a-z][a-z0-9-]*\Z", description="a long sbatch option without the dashes"
            ),
        ],
        str | int | bool,
    ] = {}


class KubeflowOptions(Value):
    """What only Kubeflow Trainer understands."""

    runtime: Line | None = None
    pod_patch: dict[str, str] = {}


class Job(Value):
    """A job as a person writes it. Paths are the cluster's; counts are per node unless they say otherwise."""

    command: Annotated[
        tuple[str, ...], Meta(min_length=1, description="a list: the program and its arguments")
    ]
    name: Name = "job"
    key: Name | None = None
    cluster: Name | None = None
    labels: dict[Name, Name] = {}
    launcher: Launcher = Launcher.PLAIN
    setup: tuple[Line, ...] = ()
    workdir: Line | None = None
    output: Line | None = None
    env: dict[EnvName, str] = {}
    secret_env: dict[EnvName, SecretSource] = {}
    container: Container | None = None
    nodes: AtLeastOne = 1
    tasks_per_node: AtLeastOne = 1
    gpus_per_node: Annotated[int, Meta(ge=0, le=1_000)] = 0
    gpu_type: Word | None = None
    cpus_per_task: AtLeastOne = 1
    memory: Size | None = None
    exclusive: bool = False
    time_limit: TimeLimit | None = None
    signal_before: SignalBefore | None = None
    partition: Word | None = None
    account: Word | None = None
    qos: Word | None = None
    constraint: Word | None = None
    priority: int | None = None
    after: tuple[After, ...] = ()
    matrix: dict[EnvName, Annotated[tuple[str | int, ...], Meta(min_length=1)]] = {}
    max_active: AtLeastOne | None = None
    slurm: SlurmOptions | None = None
    kubeflow: KubeflowOptions | None = None
    recovery: Policy | Name | None = field(default=None)

    def __post_init__(self) -> None:
        faults = [
            Fault(
                path=f"{where}.{name}",
                found=name,
                allowed=f"a name without the prefix {RESERVED_PREFIX}, ours alone in capitals and in small letters",
            )
            for where, names in (("env", self.env), ("secretEnv", self.secret_env))
            for name in names
            if is_reserved(name)
        ]
        faults += [
            Fault(path=f"secretEnv.{name}", found=name, allowed="a name that env does not have too")
            for name in self.secret_env
            if name in self.env
        ]
        if not self.command[0]:
            faults.append(
                Fault(path="command[0]", found="''", allowed="the program's name or path")
            )
        if self.gpu_type and not self.gpus_per_node:
            faults.append(
                Fault(path="gpuType", found=self.gpu_type, allowed="only together with gpusPerNode")
            )
        if self.max_active and not self.matrix:
            faults.append(
                Fault(
                    path="maxActive",
                    found=str(self.max_active),
                    allowed="only together with matrix",
                )
            )
        if faults:
            raise Invalid("The job is wrong.", faults=tuple(faults))

    @property
    def policy(self) -> Policy | None:
        """The recovery policy; a name in its place must have been resolved before."""
        return self.recovery if isinstance(self.recovery, Policy) else None

    @property
    def total_tasks(self) -> int:
        """How many processes of the command run over all nodes."""
        return self.nodes * (
            self.tasks_per_node if self.launcher in (Launcher.SRUN, Launcher.MPI) else 1
        )


def features_of(job: Job) -> frozenset[Feature]:
    """List the parts of the vocabulary that the job uses and that a backend must honour."""
    policy = job.policy
    used = {
        Feature.LAUNCHER_TORCHRUN: job.launcher is Launcher.TORCHRUN,
        Feature.LAUNCHER_SRUN: job.launcher is Launcher.SRUN,
        Feature.LAUNCHER_MPI: job.launcher is Launcher.MPI,
        Feature.CONTAINER: job.container is not None,
        Feature.SETUP: bool(job.setup),
        Feature.OUTPUT: job.output is not None,
        Feature.SECRET_ENV: bool(job.secret_env),
        Feature.GPUS: job.gpus_per_node > 0,
        Feature.EXCLUSIVE: job.exclusive,
        Feature.SIGNAL_BEFORE: job.signal_before is not None,
        Feature.PARTITION: job.partition is not None,
        Feature.ACCOUNT: job.account is not None,
        Feature.QOS: job.qos is not None,
        Feature.CONSTRAINT: job.constraint is not None,
        Feature.PRIORITY: job.priority is not None,
        Feature.AFTER: bool(job.after),
        Feature.MATRIX: bool(job.matrix),
        Feature.SLURM_OPTIONS: job.slurm is not None,
        Feature.KUBEFLOW_OPTIONS: job.kubeflow is not None,
        Feature.EXCLUDE_NODES: policy is not None
        and any(rule.exclude_nodes for rule in policy.rules),
        Feature.NOTIFY: policy is not None and policy.notify is not None,
        Feature.PENDING_NOTICE: policy is not None and policy.pending is not None,
    }
    return frozenset(feature for feature, is_used in used.items() if is_used)
