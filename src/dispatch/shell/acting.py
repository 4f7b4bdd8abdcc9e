"""The one writer to schedulers: slot, intent, call, outcome.

The order is the protocol (12, O7). The concurrency slot is taken first, since an intent that waits for one would expire
in the queue. The intent is then recorded by compare-and-set; who wins has the only right to make the call, until the
deadline. A process that was paused between the two is stopped by the deadline, here and where the command runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
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
from dispatch.model.journal import Intended, Intent, Outcome, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Call
from dispatch.model.view import JobView
from dispatch.shell.identity import token
from dispatch.shell.ledger import Ledger
from dispatch.spi.adapter import Backend, CallMeta, Holder, HoldMeta, StartOrder

log = logging.getLogger("dispatch.acting")

RETRY_BUSY = timedelta(seconds=30)
RETRY_AWAY = timedelta(seconds=10)
RETRY_REFUSED = timedelta(seconds=5)


@dataclass(frozen=True)
class Wanted:
    """A call that was decided on this view and listing."""

    view: JobView
    call: Call
    listing: Listing


class Writer:
    """Makes the calls of one cluster, at most ``slots`` at once."""

    def __init__(self, ledger: Ledger, backend: Backend, slots: asyncio.Semaphore) -> None:
        self.ledger = ledger
        self.backend = backend
        self.slots = slots

    async def make_all(self, wanted: Sequence[Wanted]) -> dict[str, Exception]:
        """Make the calls of one round, a job's at most one; returns the faults by job. None of them stops the others."""
        made = await asyncio.gather(
            *(self.make(one.view, one.call, one.listing) for one in wanted), return_exceptions=True
        )
        faults: dict[str, Exception] = {}
        for one, outcome in zip(wanted, made, strict=True):
            if isinstance(outcome, Exception):
                faults[one.view.id] = outcome
            elif isinstance(outcome, BaseException):
                raise outcome
        return faults

    async def make(self, view: JobView, call: Call, listing: Listing) -> JobView | None:
        """Make the call that was decided on this view and listing.

        Returns the view with its outcome, with the intent still open where the outcome is not known, or ``None`` where
        another writer was there first and nothing was called.
        """
        async with self.slots:
            now = self.ledger.clock.now()
            intent = intend(view, call, listing, now)
            intended = self.ledger.append(view, (Intended(intent=intent),))
            if intended is None:
                return None
            settled = await self._call(intended, intent, listing)
            return intended if settled is None else self._record(intended, settled)

    async def _call(self, view: JobView, intent: Intent, listing: Listing) -> Settled | None:
        """Make the call; ``None`` where its outcome is not known."""
        if _cluster_time(listing, self.ledger.clock.now()) > intent.deadline:
            return Settled(
                intent=intent.id,
                outcome=Outcome.NOT_LANDED,
                reason="its deadline passed before the call",
            )
        declared = view.header.declarations
        try:
            async with asyncio.timeout(_longest(declared)):
                ref = await self._perform(view, intent, listing)
        except DispatchError as error:
            return outcome_of(intent, error, self.ledger.clock.now())
        except TimeoutError:
            log.warning("job %s: no answer to %s within its bound", view.id, intent.verb)
            return None
        except Exception:
            # Whatever went wrong, the call may have left: only reading back can tell.
            log.exception(
                "job %s: %s failed in an unforeseen way; it is read back", view.id, intent.verb
            )
            return None
        return Settled(intent=intent.id, outcome=Outcome.LANDED, ref=ref)

    async def _perform(self, view: JobView, intent: Intent, listing: Listing) -> str | None:
        backend, ref = self.backend, intent.ref or ""
        meta = CallMeta(deadline=intent.deadline)
        match intent.verb:
            case Verb.START:
                return await backend.start(order_of(view, intent, listing), meta)
            case Verb.OPEN:
                await backend.open(ref, meta)
            case Verb.STOP:
                await backend.stop(ref, meta)
            case Verb.HOLD:
                hold = view.hold
                await _holder(backend).hold(
                    ref,
                    HoldMeta(
                        deadline=intent.deadline,
                        instance=intent.instance or 0,
                        by=hold.by if hold else "",
                        until=hold.until if hold else None,
                        why=hold.why if hold else "",
                    ),
                )
            case Verb.RELEASE:
                await _holder(backend).release(ref, intent.instance or 0, meta)
        return ref

    def _record(self, view: JobView, settled: Settled) -> JobView | None:
        """Append the outcome, on whatever version the record has by now; what is learnt late is appended too (R4)."""
        while True:
            after = self.ledger.append(view, (settled,))
            if after is not None:
                return after
            view = self.ledger.view(view.id)
            if view.verdict is not None:
                return view


def intend(view: JobView, call: Call, listing: Listing, now: datetime) -> Intent:
    """Complete a decided call to an intent; its deadline is on the clock of the host where commands run."""
    starts = call.verb is Verb.START
    there = _cluster_time(listing, now)
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


def _cluster_time(listing: Listing, now: datetime) -> datetime:
    return listing.sent + (now - listing.requested)


def _longest(declared: Declarations) -> float:
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


def _holder(backend: Backend) -> Holder:
    if not isinstance(backend, Holder):
        raise Unsupported(f"The adapter {backend.identity.adapter} cannot hold jobs.")
    return backend


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
