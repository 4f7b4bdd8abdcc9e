"""What a backend can do: answers with their source and reason, fixed for as long as it is open."""

from __future__ import annotations

from enum import StrEnum

from dispatch.model.base import Value
from dispatch.model.quantity import Duration


class Tristate(StrEnum):
    """Yes, no, or not known; unknown never counts as yes."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class AnswerSource(StrEnum):
    """How an answer came about."""

    PROBED = "probed"
    READ = "read"
    DECLARED = "declared"
    CACHED = "cached"


class Answer(Value):
    """One answer of a backend, with where it comes from and why it is so."""

    value: Tristate
    source: AnswerSource = AnswerSource.DECLARED
    reason: str = ""

    @property
    def yes(self) -> bool:
        """Whether the answer is a plain yes."""
        return self.value is Tristate.YES


UNANSWERED = Answer(value=Tristate.UNKNOWN, reason="this adapter does not answer it")


class Capability(StrEnum):
    """Something a cluster can or cannot do for us."""

    GATE = "Gate"
    HOLD = "Hold"
    REQUEUE = "Requeue"
    ACCOUNTING_HISTORY = "AccountingHistory"
    READMISSION_GATE = "ReadmissionGate"
    WATCH = "Watch"
    OUTPUT = "Output"
    CESSATION = "Cessation"
    FENCE = "Fence"


class Action(StrEnum):
    """What a policy can do with an execution that ended."""

    RESTART = "restart"
    RESUBMIT = "resubmit"
    HOLD = "hold"
    FAIL = "fail"


class Feature(StrEnum):
    """A part of the job file's vocabulary that an adapter may be unable to honour; named by its path there."""

    LAUNCHER_TORCHRUN = "launcher: torchrun"
    LAUNCHER_SRUN = "launcher: srun"
    LAUNCHER_MPI = "launcher: mpi"
    CONTAINER = "container"
    SETUP = "setup"
    OUTPUT = "output"
    SECRET_ENV = "secretEnv"  # noqa: S105 - the name of a field, no secret
    GPUS = "gpusPerNode"
    EXCLUSIVE = "exclusive"
    SIGNAL_BEFORE = "signalBefore"
    PARTITION = "partition"
    ACCOUNT = "account"
    QOS = "qos"
    CONSTRAINT = "constraint"
    PRIORITY = "priority"
    AFTER = "after"
    MATRIX = "matrix"
    SLURM_OPTIONS = "slurm"
    KUBEFLOW_OPTIONS = "kubeflow"
    EXCLUDE_NODES = "recovery.rules.excludeNodes"
    NOTIFY = "recovery.notify"
    PENDING_NOTICE = "recovery.pending"


class Declarations(Value):
    """The numbers of a cluster that every supervisor of a job must share; copied into the header of its record."""

    call_bound: Duration = Duration(seconds=25)
    """The longest time that a call which has started can take to have its effect."""
    call_window: Duration = Duration(seconds=30)
    """How long after its intent a call may still start."""
    save_window: Duration = Duration(seconds=30)
    """The time within which a controller may forget what it acknowledged."""
    evidence_window: Duration = Duration(minutes=5)
    """How long the scheduler keeps the evidence of an ended object."""
    clock_skew: Duration = Duration(seconds=2)
    kill_wait: Duration = Duration(seconds=30)
    """The time from a node's registration until it has killed what it should not run, margin included."""
    settling_reads: int = 2
    """How many answered reads, a call bound apart, prove that a call did not land."""

    def widened(self, other: Declarations) -> Declarations:
        """These bounds, each as wide as the wider of the two."""
        return Declarations(**{
            name: max(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__
        })  # fmt: skip


class Answers(Value):
    """Everything a backend answers. What is missing is unknown."""

    capabilities: dict[Capability, Answer] = {}
    rules: dict[Action, Answer] = {}
    native: dict[Action, Answer] = {}
    features: dict[Feature, Answer] = {}

    def capability(self, name: Capability) -> Answer:
        """The answer for a capability."""
        return self.capabilities.get(name, UNANSWERED)

    def rule(self, action: Action) -> Answer:
        """Whether a policy may use the action here."""
        return self.rules.get(action, UNANSWERED)

    def feature(self, name: Feature) -> Answer:
        """Whether that part of a job file is honoured here."""
        return self.features.get(name, UNANSWERED)


class ClusterIdentity(Value):
    """Which cluster a backend talks to: our alias, the adapter, and the name that the cluster gives itself."""

    alias: str
    adapter: str
    name: str
    version: str = ""
