"""What is recorded of a call: its intent before it, and what its answer or its error says after it."""

from __future__ import annotations

from datetime import datetime, timedelta

from dispatch.core.recovery import effective_job, excluded_nodes
from dispatch.model.answers import Declarations
from dispatch.model.errors import (
    Busy,
    Conflict,
    DispatchError,
    Expired,
    Finished,
    Invalid,
    NotFound,
    OutcomeUnknown,
    ReadOnly,
    Rejected,
    Unavailable,
    Unsupported,
)
from dispatch.model.holds import base_of
from dispatch.model.journal import Intent, Outcome, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Call
from dispatch.model.view import JobView
from dispatch.shell.identity import token
from dispatch.spi.adapter import StartOrder

RETRY_BUSY = timedelta(seconds=30)
RETRY_AWAY = timedelta(seconds=10)
RETRY_REFUSED = timedelta(seconds=5)


def late(intent: Intent) -> Settled:
    """The outcome of a call that was not made."""
    return Settled(
        intent=intent.id,
        outcome=Outcome.NOT_LANDED,
        reason="its deadline passed before the call",
    )


def intend(view: JobView, call: Call, listing: Listing, now: datetime) -> Intent:
    """Complete a decided call to an intent; its deadline is on the clock of the host where commands run."""
    starts = call.verb is Verb.START
    there = cluster_time(listing, now)
    return Intent(
        id=token(),
        verb=call.verb,
        submission=call.submission,
        deadline=there + view.header.declarations.call_window,
        boot=listing.boot,
        ref=call.ref,
        attempt=token() if starts else None,
        instance=call.instance,
        base=base_of(there) if starts else None,
        why=call.why,
    )


def cluster_time(listing: Listing, now: datetime) -> datetime:
    """The clock of the host where commands run, by the listing that told it."""
    return listing.sent + (now - listing.requested)


def longest(declared: Declarations) -> float:
    """The seconds after which no answer to a call is waited for."""
    return (declared.call_window + declared.call_bound + declared.clock_skew).total_seconds()


def order_of(view: JobView, intent: Intent, listing: Listing) -> StartOrder:
    """The order for the object that the intent is about to start."""
    return StartOrder(
        id=view.id,
        job=effective_job(view),
        spec_hash=view.header.spec_hash,
        store=view.header.store,
        submission=intent.submission,
        attempt=intent.attempt or "",
        base=intent.base or 0,
        exclude=excluded_nodes(view, listing.sent),
    )


def _reason(error: DispatchError) -> str:
    faults = error.faults if isinstance(error, Invalid) else ()
    return " ".join([error.what, *(f"{fault}." for fault in faults)])


def outcome_of(intent: Intent, error: DispatchError, now: datetime) -> Settled | None:
    """What an error of the adapter says of the call; ``None`` where it may have had its effect."""

    def settled(outcome: Outcome, retry: timedelta | None = None) -> Settled:
        at = None if retry is None else now + retry
        return Settled(intent=intent.id, outcome=outcome, reason=_reason(error), retry_at=at)

    match error:
        case OutcomeUnknown():
            return None
        case Expired():
            return settled(Outcome.NOT_LANDED, RETRY_REFUSED)
        case Busy():
            return settled(Outcome.BUSY, RETRY_BUSY)
        case Unavailable():
            return settled(Outcome.NOT_LANDED, RETRY_AWAY)
        case Rejected() | Invalid() | Unsupported() if intent.verb is Verb.START:
            return settled(Outcome.REJECTED)
        case (
            Rejected()
            | Invalid()
            | Unsupported()
            | ReadOnly()
            | Finished()
            | NotFound()
            | Conflict()
        ):
            return settled(Outcome.NOT_LANDED, RETRY_REFUSED)
        case _:
            return None
