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
from dispatch.spi.adapter import Backend, CallMeta, Holder, HoldMeta, MultiWriter, StartOrder

log = logging.getLogger("dispatch.acting")

RETRY_BUSY = timedelta(seconds=30)
RETRY_AWAY = timedelta(seconds=10)
RETRY_REFUSED = timedelta(seconds=5)

MOST_TOGETHER = 50
"""Writes in one call. A scheduler that needs half a second for each still begins the last within a window of 30 s, and what
does not begin in time is only made later; beyond some dozens the cost of a call is shared already."""


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
        """Make the calls of one round, a job's at most one; returns the faults by job. None of them stops the others.

        The starts go together, and so do the opens, where the backend can make many writes in one call.
        """
        faults: dict[str, Exception] = {}
        await asyncio.gather(*(self._make_some(some, faults) for some in self._shared_out(wanted)))
        return faults

    def _shared_out(self, wanted: Sequence[Wanted]) -> list[Sequence[Wanted]]:
        """What is called together."""
        several: dict[Verb, list[Wanted]] = {Verb.START: [], Verb.OPEN: []}
        alone: list[Sequence[Wanted]] = []
        for one in wanted:
            if isinstance(self.backend, MultiWriter) and one.call.verb in several:
                several[one.call.verb].append(one)
            else:
                alone.append((one,))
        return [*alone, *(chunk for same in several.values() for chunk in chunks_of(same))]

    async def _make_some(self, some: Sequence[Wanted], faults: dict[str, Exception]) -> None:
        if len(some) > 1:
            await Batch(self, some, faults).make()
            return
        for one in some:
            try:
                await self.make(one.view, one.call, one.listing)
            except Exception as error:  # noqa: BLE001 - the engine tells it by its kind
                faults[one.view.id] = error

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
            return intended if settled is None else self.record(intended, settled)

    async def _call(self, view: JobView, intent: Intent, listing: Listing) -> Settled | None:
        """Make the call; ``None`` where its outcome is not known."""
        if cluster_time(listing, self.ledger.clock.now()) > intent.deadline:
            return late(intent)
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

    def record(self, view: JobView, settled: Settled) -> JobView | None:
        """Append the outcome, on whatever version the record has by now; what is learnt late is appended too (R4)."""
        while True:
            after = self.ledger.append(view, (settled,))
            if after is not None:
                return after
            view = self.ledger.view(view.id)
            if view.verdict is not None:
                return view


class Batch:
    """Calls of one verb that are made in one: one slot, then every intent, then the call, then every outcome (12, O7).

    A job whose intent is not won drops out. The earliest deadline is the deadline of all; nothing is called after it.
    """

    def __init__(
        self, writer: Writer, wanted: Sequence[Wanted], faults: dict[str, Exception]
    ) -> None:
        self.writer = writer
        self.wanted = wanted
        self.faults = faults
        self.ledger = writer.ledger
        self._won: list[Won] = []

    async def make(self) -> None:
        """Make the calls; what goes wrong with one job is noted in ``faults``."""
        async with self.writer.slots:
            now = self.ledger.clock.now()
            for one in self.wanted:
                self._intend(one, now)
            if not self._won:
                return
            for won, settled in zip(self._won, await self._call(), strict=True):
                if settled is not None:
                    self._record(won, settled)

    def _intend(self, one: Wanted, now: datetime) -> None:
        intent = intend(one.view, one.call, one.listing, now)
        try:
            view = self.ledger.append(one.view, (Intended(intent=intent),))
            if view is None:
                return
            order = order_of(view, intent, one.listing) if intent.verb is Verb.START else None
        except Exception as error:  # noqa: BLE001 - the engine tells it by its kind
            self.faults[one.view.id] = error
        else:
            self._won.append(Won(view, intent, one.listing, order))

    async def _call(self) -> list[Settled | None]:
        """Make the call, and say what came of each; ``None`` where that is not known."""
        deadline = min(won.intent.deadline for won in self._won)
        if any(cluster_time(won.listing, self.ledger.clock.now()) > deadline for won in self._won):
            return [late(won.intent) for won in self._won]
        longest = max(_longest(won.view.header.declarations) for won in self._won)
        names = ", ".join(won.view.id for won in self._won)
        try:
            async with asyncio.timeout(longest):
                answers = await self._perform(CallMeta(deadline=deadline))
        except DispatchError as error:
            answers = [error] * len(self._won)
        except TimeoutError:
            log.warning("no answer within its bound to one call for the jobs %s", names)
            return [None] * len(self._won)
        except Exception:
            log.exception("one call failed in an unforeseen way; read back are the jobs %s", names)
            return [None] * len(self._won)
        if len(answers) != len(self._won):
            log.error("one call gave no answer for each of the jobs %s; they are read back", names)
            return [None] * len(self._won)
        return [self._settled(*each) for each in zip(self._won, answers, strict=True)]

    async def _perform(self, meta: CallMeta) -> Sequence[str | DispatchError | None]:
        backend = self.writer.backend
        assert isinstance(backend, MultiWriter)
        orders = [won.order for won in self._won if won.order is not None]
        if orders:
            return await backend.start_many(orders, meta)
        return await backend.open_many([won.intent.ref or "" for won in self._won], meta)

    def _settled(self, won: Won, answer: str | DispatchError | None) -> Settled | None:
        if isinstance(answer, DispatchError):
            return outcome_of(won.intent, answer, self.ledger.clock.now())
        ref = answer if won.intent.verb is Verb.START else won.intent.ref
        return Settled(intent=won.intent.id, outcome=Outcome.LANDED, ref=ref)

    def _record(self, won: Won, settled: Settled) -> None:
        try:
            self.writer.record(won.view, settled)
        except Exception as error:  # noqa: BLE001 - the engine tells it by its kind
            self.faults[won.view.id] = error


@dataclass(frozen=True)
class Won:
    """An intent that is recorded, on the view with it; the order of a start."""

    view: JobView
    intent: Intent
    listing: Listing
    order: StartOrder | None


def chunks_of(wanted: Sequence[Wanted]) -> list[Sequence[Wanted]]:
    """Cut into chunks of about the same size, none above ``MOST_TOGETHER``."""
    count = -(-len(wanted) // MOST_TOGETHER)
    return [wanted[index::count] for index in range(count)]


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
