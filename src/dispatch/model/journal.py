"""The events of a job's record, and the header that comes first.

An event is never rewritten and never changes its meaning: each released schema is folded for ever.
"""

from __future__ import annotations

from enum import StrEnum

from dispatch.model.answers import Action, ClusterIdentity, Declarations
from dispatch.model.base import Instant, Value
from dispatch.model.epoch import Count, JobId
from dispatch.model.job import Job
from dispatch.model.plan import Plan
from dispatch.model.policy import Budget, Changes
from dispatch.model.quantity import Duration
from dispatch.model.status import Observation, Verdict

SCHEMA = 2
"""The schema of the events below. It rises when an older dispatch could misread what a newer one writes.

2: ``nodesBack`` may come before the verdict, and counts no more once another end is read.
"""


class Actor(Value):
    """Who wrote an event: a person's account on a host, or a supervisor there."""

    user: str
    host: str
    role: str


class Verb(StrEnum):
    """A write to the scheduler."""

    START = "start"
    OPEN = "open"
    STOP = "stop"
    HOLD = "hold"
    RELEASE = "release"


class Outcome(StrEnum):
    """How a write ended, as far as is known."""

    LANDED = "landed"
    NOT_LANDED = "notLanded"
    """It had no effect and never will."""
    BUSY = "busy"
    """Refused for now; no effect."""
    REJECTED = "rejected"
    """Refused for good; no effect."""
    UNKNOWN = "unknown"
    """It may have had its effect, and no read can tell any more."""


class Intent(Value):
    """A write that is recorded before it is made: the lock of the protocol.

    ``deadline`` is read on the clock of the host where the command runs; ``boot`` is the incarnation of the controller
    under which the job was listed just before.
    """

    id: str
    verb: Verb
    submission: Count
    deadline: Instant
    boot: str
    ref: str | None = None
    attempt: str | None = None
    instance: int | None = None
    base: int | None = None
    """For a start: the begin time of the gate and of holds, in Unix seconds; instance I of a hold is base + I."""
    why: str = ""


def _tag(name: str) -> str:
    return name[0].lower() + name[1:]


class Event(Value, tag_field="event", tag=_tag):
    """Something that happened to a job, in the record for good."""


class Accepted(Event):
    """The header: the job was accepted, with everything that its supervisors must know."""

    id: JobId
    job: Job
    spec_hash: str
    plan: Plan
    cluster: ClusterIdentity
    store: str
    declarations: Declarations


class Intended(Event):
    """A write is about to be made."""

    intent: Intent


class Settled(Event):
    """The outcome of a write is known, or known to be unknowable."""

    intent: str
    outcome: Outcome
    ref: str | None = None
    reason: str = ""
    retry_at: Instant | None = None
    """Not before this is the same tried again, where it was refused for now."""


class Missed(Event):
    """An answered read after the landing bound did not show the write's effect."""

    intent: str
    sent: Instant
    boot: str
    answered: Instant | None = None


class Observed(Event):
    """An object was read, and what was read differs from before."""

    submission: Count
    observation: Observation
    sent: Instant
    boot: str
    answered: Instant | None = None


class Vanished(Event):
    """An answered read did not show the object, although its start had landed."""

    submission: Count
    sent: Instant
    boot: str
    answered: Instant | None = None


class Forgot(Event):
    """The controller forgot an open or a start of this object; it is never opened again."""

    submission: Count
    why: str


class Decided(Event):
    """One execution has ended for good; its verdict, what is done about it, and the charge, in one event."""

    submission: Count
    restarts: Count
    verdict: Verdict
    action: Action
    rule: int | None = None
    budget: Budget | None = None
    due: Instant | None = None
    exclude: tuple[str, ...] = ()
    exclude_until: Instant | None = None
    changes: Changes | None = None
    ran_for: Duration | None = None
    """How long the execution ran, by the scheduler's times; absent where it never ran or nobody knows."""
    why: str = ""


class Awaiting(Event):
    """Proof that the execution is gone is still missing; the nodes that it is awaited from."""

    submission: Count
    nodes: tuple[str, ...]
    sent: Instant


class NodesBack(Event):
    """Every node of an execution responds in a read after its end; after the kill wait this is proof."""

    submission: Count
    sent: Instant
    answered: Instant | None = None


class Proof(StrEnum):
    """Why an execution counts as gone."""

    CLEANED = "cleaned"
    """The scheduler has cleaned up on every node, and every node responds; in records of before the kill wait alone."""
    NODES_BACK = "nodesBack"
    """Every node responds since the end, and had the time to kill what it should not run."""
    NEVER_RAN = "neverRan"
    ASSUMED_GONE = "assumedGone"
    """Nothing is proven: the policy's declared wait has passed, or a person has said so."""


class Ceased(Event):
    """No process of the submission's executions is left, and why that is so."""

    submission: Count
    proof: Proof
    why: str = ""


class Adopted(Event):
    """An object of our own store that the record did not know: the record is behind."""

    submission: Count
    attempt: str
    observation: Observation


class BoundsGrew(Event):
    """The cluster's bounds are wider than the record has them; from here on these count. They never narrow."""

    declarations: Declarations


class HoldAsked(Event):
    """A person, or the policy, wants no further execution before the release of this instance."""

    instance: int
    by: str
    why: str = ""
    until: Instant | None = None


class ReleaseAsked(Event):
    """The hold of this instance shall be lifted."""

    instance: int
    by: str


class StopAsked(Event):
    """A person wants the job to end, for good. From here on nothing of it is started or opened."""

    by: str
    why: str = ""


class Ended(Event):
    """The final verdict of the job, written once."""

    verdict: Verdict


AnyEvent = (
    Accepted
    | Intended
    | Settled
    | Missed
    | Observed
    | Vanished
    | Forgot
    | Decided
    | Awaiting
    | NodesBack
    | BoundsGrew
    | Ceased
    | Adopted
    | HoldAsked
    | ReleaseAsked
    | StopAsked
    | Ended
)


class Entry(Value):
    """An event in its place: the version, when it was written and by whom.

    ``nonce`` is the writer's own, by which an append of unknown outcome is settled.
    """

    version: int
    at: Instant
    actor: Actor
    nonce: str
    event: AnyEvent
    schema: int = 1
    """What is not told is of the first; a writer names its own, ``SCHEMA``."""
