"""When a write has landed, when it surely never will, and when nobody can tell any more.

The landing bound of a write is its deadline, plus the longest time a call can take, plus the declared skew, all by the
clock of the host where commands run (12, R3). That a write did not land takes answered reads, a call bound apart, all
sent after the landing bound and under one boot (12, R2).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum

from dispatch.model.answers import Declarations
from dispatch.model.journal import Intent, Missed, Outcome, Settled, Verb
from dispatch.model.status import Gate, Listing, Observation, State
from dispatch.model.view import JobView, OpenIntent


def landing_bound(intent: Intent, declared: Declarations) -> datetime:
    """The moment after which an unanswered call has landed or never will, provided that the scheduler answers."""
    return intent.deadline + declared.call_bound + declared.clock_skew + _STRICTLY_AFTER


_STRICTLY_AFTER = timedelta(milliseconds=1)
"""A call may start at its deadline still, and clocks are compared in milliseconds."""


class Shown(Enum):
    """What a read says of a write."""

    LANDED = "landed"
    NOT_YET = "not yet"
    ABSENT = "its object is absent"


def shown(intent: Intent, listing: Listing) -> tuple[Shown, Observation | None]:
    """Tell whether the read shows the effect of the write, and the object it concerns."""
    if intent.verb is Verb.START:
        made = next(
            (seen for seen in listing.observations if seen.key.attempt == intent.attempt), None
        )
        return (Shown.LANDED if made else Shown.NOT_YET), made
    target = next((seen for seen in listing.observations if seen.ref == intent.ref), None)
    if target is None:
        return Shown.ABSENT, None
    return (Shown.LANDED if _EFFECTS[intent.verb](intent, target) else Shown.NOT_YET), target


def _opened(_: Intent, seen: Observation) -> bool:
    return seen.state.ended or seen.gate is Gate.OPEN


def _stopped(_: Intent, seen: Observation) -> bool:
    return seen.state.ended and seen.final


def _held(intent: Intent, seen: Observation) -> bool:
    return seen.hold is not None and seen.hold.instance == intent.instance


def _released(intent: Intent, seen: Observation) -> bool:
    return not _held(intent, seen) or seen.state is not State.PENDING


_EFFECTS = {Verb.OPEN: _opened, Verb.STOP: _stopped, Verb.HOLD: _held, Verb.RELEASE: _released}


def settle_by_record(known: OpenIntent, listing: Listing, view: JobView) -> Settled | None:
    """Settle an open or a stop whose object is gone by what was read of it before: then it did land."""
    intent, target = known.intent, view.objects.get(known.intent.submission)
    if intent.verb not in (Verb.OPEN, Verb.STOP) or target is None or target.ref != intent.ref:
        return None
    what, _ = shown(intent, listing)
    if (
        what is not Shown.ABSENT
        or target.seen is None
        or not _EFFECTS[intent.verb](intent, target.seen)
    ):
        return None
    return Settled(
        intent=intent.id, outcome=Outcome.LANDED, ref=intent.ref, reason="read back before"
    )


def settle(
    known: OpenIntent, listing: Listing, declared: Declarations
) -> Settled | Missed | datetime:
    """Settle an open intent by a read: the event that the read is, or the moment at which to read again."""
    intent = known.intent
    what, seen = shown(intent, listing)
    if what is Shown.LANDED:
        return Settled(
            intent=intent.id,
            outcome=Outcome.LANDED,
            ref=seen.ref if seen else None,
            reason="read back",
        )
    bound = landing_bound(intent, declared)
    if listing.sent < bound:
        return bound
    if intent.verb is Verb.OPEN and listing.boot != intent.boot:
        # It may have run and been forgotten (12, O2): only a read under the same boot says that it did not land.
        return Settled(
            intent=intent.id, outcome=Outcome.UNKNOWN, reason="the controller restarted meanwhile"
        )
    previous = known.missed if known.missed and known.missed.boot == listing.boot else None
    if previous and listing.sent < previous.seen_by + declared.call_bound:
        return previous.seen_by + declared.call_bound
    if known.misses + 1 < declared.settling_reads or previous is None:
        return Missed(
            intent=intent.id, sent=listing.sent, boot=listing.boot, answered=listing.answered
        )
    if intent.verb in (Verb.OPEN, Verb.STOP) and what is Shown.ABSENT:
        return Settled(intent=intent.id, outcome=Outcome.UNKNOWN, reason="its object is gone")
    return Settled(
        intent=intent.id,
        outcome=Outcome.NOT_LANDED,
        reason=f"{declared.settling_reads} reads do not show it",
    )
