"""The view of a job that its record folds to. It holds nothing that the record does not say."""

from __future__ import annotations

from enum import StrEnum

from dispatch.model.answers import Action
from dispatch.model.base import Instant, Value
from dispatch.model.epoch import Epoch
from dispatch.model.job import Job
from dispatch.model.journal import Accepted, Decided, Intent, Proof
from dispatch.model.status import Observation, Verdict


class Phase(StrEnum):
    """Where an object stands in its life, as the record knows it."""

    GATED = "gated"
    """Created; its Open was never intended, or is proven not to have landed."""
    OPENING = "opening"
    """An Open of it may have been sent: its N is spent."""
    OPEN = "open"
    TAINTED = "tainted"
    """A write of unknown outcome, or a controller that forgot: it must be stopped, never opened."""
    ENDED = "ended"
    """Its end was read, but not yet for long enough to be sure of it."""
    JUDGED = "judged"
    """Its verdict and what is done about it are recorded."""
    CEASED = "ceased"
    """No process of it is left."""


class Sighting(Value):
    """When something was first read, by the cluster's clock, and under which boot.

    It was so at some moment from ``sent`` to ``answered``: a read under load takes as long as a call may.
    """

    sent: Instant
    boot: str
    answered: Instant | None = None

    @property
    def seen_by(self) -> Instant:
        """The latest moment at which it can have come to be: what must have passed since then begins here."""
        return self.answered or self.sent


class ObjectView(Value):
    """One object of the job."""

    submission: int
    attempt: str
    ref: str
    base: int
    phase: Phase = Phase.GATED
    adopted: bool = False
    boot: str = ""
    """The controller's incarnation when it was last read, or created."""
    opened_under: str = ""
    """The incarnation that the Open was intended under."""
    seen: Observation | None = None
    """The last recorded observation."""
    ran: Observation | None = None
    """The last recorded observation in which it ran, or had run; its nodes are those of the last known execution."""
    seen_at: Instant | None = None
    """When the read of the last recorded observation was sent."""
    ran_on: tuple[str, ...] = ()
    """Every node on which an execution of it was seen, or which a cause of it names."""
    ran_unseen: bool = False
    """Whether an execution of it is known of which nobody read where it ran."""
    opens: tuple[str, ...] = ()
    """Its opens that reads have settled as not landed; one may still be learnt to have landed (12, R4)."""
    ended: Sighting | None = None
    held: Sighting | None = None
    """When the hold of ours that it shows was first read, under this incarnation."""
    missing: Sighting | None = None
    stopped: Sighting | None = None
    """When a stop of it was intended that has landed, or may have, and under which incarnation."""
    awaiting: tuple[str, ...] = ()
    awaiting_since: Instant | None = None
    nodes_back: Instant | None = None
    proof: Proof | None = None
    why: str = ""

    @property
    def spent(self) -> bool:
        """Whether an Open of it may ever have been sent."""
        return self.phase is not Phase.GATED

    @property
    def settled(self) -> bool:
        """Whether its verdict is recorded."""
        return self.phase in (Phase.JUDGED, Phase.CEASED)

    @property
    def restarts(self) -> int:
        """The highest restart count R that was recorded."""
        return max((o.restarts for o in (self.seen, self.ran) if o), default=0)


class OpenIntent(Value):
    """An intent whose outcome the record does not know, and how many answered reads did not show its effect."""

    intent: Intent
    missed: Sighting | None = None
    misses: int = 0


class Hold(Value):
    """A hold that is wanted: no further execution before the release of this instance."""

    instance: int
    by: str
    why: str = ""
    until: Instant | None = None


class Stop(Value):
    """A person's request that the job ends."""

    by: str
    why: str = ""


class JobView(Value):
    """A job, folded from its record of ``version`` events."""

    version: int
    header: Accepted
    accepted_at: Instant
    user: str
    objects: dict[int, ObjectView] = {}
    intents: tuple[OpenIntent, ...] = ()
    retry_at: Instant | None = None
    retry_why: str = ""
    refusal: str | None = None
    """The scheduler's words, where it refused a start for good."""
    hold: Hold | None = None
    last_instance: int = 0
    hold_refusals: int = 0
    """How often in a row the scheduler has refused to place the hold that is wanted."""
    cessation_waived_by: str | None = None
    """Who said that the last execution is gone, by releasing the hold that waited for its proof."""
    stop: Stop | None = None
    decisions: tuple[tuple[Instant, Decided], ...] = ()
    lost_starts: int = 0
    """How often in a row the protocol itself had to go on without a charge; a brake, not a budget."""
    verdict: Verdict | None = None
    ended_at: Instant | None = None

    @property
    def id(self) -> str:
        """The job's ULID."""
        return self.header.id

    @property
    def job(self) -> Job:
        """The job as it was accepted."""
        return self.header.job

    @property
    def current(self) -> ObjectView | None:
        """The object of the highest submission."""
        return self.objects[max(self.objects)] if self.objects else None

    @property
    def last_decision(self) -> Decided | None:
        """The newest decision."""
        return self.decisions[-1][1] if self.decisions else None

    @property
    def next_submission(self) -> int:
        """The N of the next start: N again while it is not spent, N + 1 once it is (12, O6)."""
        current = self.current
        if current is None:
            return 1
        return current.submission + 1 if current.spent else current.submission

    @property
    def wants_another(self) -> bool:
        """Whether the newest decision asks for a further submission that has not been started."""
        current, decision = self.current, self.last_decision
        return (
            decision is not None
            and current is not None
            and decision.submission == current.submission
            and decision.action in (Action.RESUBMIT, Action.HOLD)
        )

    def epoch(self) -> Epoch | None:
        """The epoch of the newest known execution."""
        current = self.current
        return Epoch(current.submission, current.restarts) if current else None
