"""What is known of an object: its state, the typed cause, and the evidence both rest on."""

from __future__ import annotations

from enum import StrEnum

from dispatch.model.answers import Declarations
from dispatch.model.base import Instant, Value
from dispatch.model.epoch import Count


class State(StrEnum):
    """The coarse state of an object or a job."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    UNKNOWN = "Unknown"

    @property
    def ended(self) -> bool:
        """Whether this is an end. ``Unknown`` is none: absence is not an end."""
        return self in _ENDS


_ENDS = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED})


class Cause(StrEnum):
    """Why an object or a job is in its state. No cause at all is ``None``."""

    GATED = "Gated"
    HELD = "Held"
    ADMIN_HELD = "AdminHeld"
    NO_CAPACITY = "NoCapacity"
    DEPENDENCY = "Dependency"
    UNSATISFIABLE = "Unsatisfiable"
    REQUEUED = "Requeued"
    AWAITING_READMISSION = "AwaitingReadmission"
    AWAITING_CESSATION = "AwaitingCessation"
    """Decided to run again, but the last execution is not proven gone."""
    BACKING_OFF = "BackingOff"
    """Decided to run again, at a due time that has not come."""
    LAUNCH_FAILED = "LaunchFailed"
    NON_ZERO_EXIT = "NonZeroExit"
    SIGNALLED = "Signalled"
    OUT_OF_MEMORY = "OutOfMemory"
    TIMEOUT = "Timeout"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    PREEMPTED = "Preempted"
    NODE_LOST = "NodeLost"
    EVICTED = "Evicted"
    CANCELLED = "Cancelled"
    REJECTED = "Rejected"
    STOPPED = "Stopped"
    FENCED = "Fenced"
    """A second launch of an epoch, which the job script refused; no program ran."""
    FORGOTTEN = "Forgotten"
    """The controller lost what it had acknowledged: a start, an open or the whole object."""
    UNKNOWN = "Unknown"


class By(StrEnum):
    """Who did it, as far as the scheduler tells."""

    OWNER = "owner"
    ADMINISTRATOR = "administrator"
    OTHER = "other"


class Source(StrEnum):
    """Where a piece of evidence was read."""

    QUEUE = "queue"
    ACCOUNTING = "accounting"
    TICKET = "ticket"
    NODES = "nodes"
    REPLY = "reply"
    RECORD = "record"


class Evidence(Value):
    """One raw fact of the scheduler: where it was read, in which field, what it said, and when."""

    source: Source
    field: str
    value: str
    read_at: Instant


class Detail(Value):
    """What belongs to a cause: numbers and names, each absent where it is not known."""

    exit_code: int | None = None
    signal: str | None = None
    """The name without ``SIG``, such as ``TERM``."""
    nodes: tuple[str, ...] = ()
    """The nodes that the cause names, such as the lost ones."""
    by: By | None = None
    who: str | None = None
    reason: str | None = None
    """The scheduler's own words."""
    suspected: Cause | None = None
    """A cause that the evidence hints at but does not prove."""


class Verdict(Value):
    """A state with its cause, what belongs to it, the evidence, and whether the cause is proven by that evidence."""

    state: State
    cause: Cause | None = None
    detail: Detail = Detail()
    evidence: tuple[Evidence, ...] = ()
    proven: bool = True


class Gate(StrEnum):
    """Whether a new object is still kept from running until its Open."""

    CLOSED = "closed"
    OPEN = "open"


class HoldSeen(Value):
    """A hold as the scheduler shows it: ours by its instance, or somebody's.

    ``by`` is whose hold there is besides ours: absent where ours is alone, and ``instance`` is absent where there is
    none of ours. With both, the object is held by both.
    """

    instance: int | None = None
    by: By | None = None


class ObjectKey(Value):
    """What an object itself says of who made it: our key, carried in the scheduler."""

    job: str
    store: str
    submission: Count
    attempt: str


class Observation(Value):
    """What one read says of one object.

    ``ref`` is the adapter's own text. ``final`` means that the object can never run again; ``cleaning``, that processes
    of an ended or requeued execution may still be alive. Times are the scheduler's.
    """

    ref: str
    key: ObjectKey
    verdict: Verdict
    restarts: Count = 0
    gate: Gate = Gate.OPEN
    hold: HoldSeen | None = None
    cleaning: bool = False
    final: bool = False
    requeue: bool = False
    nodes: tuple[str, ...] = ()
    submitted: Instant | None = None
    started: Instant | None = None
    ended: Instant | None = None

    @property
    def state(self) -> State:
        """The state of the verdict."""
        return self.verdict.state

    @property
    def cause(self) -> Cause | None:
        """The cause of the verdict."""
        return self.verdict.cause


class NodeReport(Value):
    """What one read says of a node: whether it responds, and whether it was drained for processes it could not kill."""

    name: str
    responding: bool
    kill_failed: bool = False
    state: str = ""


class Listing(Value):
    """One answered read of all objects of a job.

    ``version`` is the record's version that was folded before the read was sent. ``sent`` is the clock of the host where
    the command ran, ``requested`` our own at the same moment; ``answered`` is that host's clock when the answer was there.
    What is shown was so at some moment between the two. ``boot`` names the controller's incarnation.
    """

    version: int
    requested: Instant
    sent: Instant
    boot: str
    observations: tuple[Observation, ...] = ()
    nodes: tuple[NodeReport, ...] | None = None
    """What was asked of nodes, where a proof of cessation is needed; ``None`` where it was not asked."""
    declarations: Declarations | None = None
    """The bounds that the cluster has at the time of the read, where they are known."""
    answered: Instant | None = None
    fence: bool = False
    """Whether each start leaves a ticket that a read shows, whatever the controller forgets (12, O4)."""

    @property
    def seen_by(self) -> Instant:
        """The latest moment of what is shown: a window that must have passed since begins here."""
        return self.answered or self.sent
