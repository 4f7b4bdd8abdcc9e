"""Calls of one verb that are made in one, where the backend can make many."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dispatch.model.errors import DispatchError
from dispatch.model.journal import Intended, Intent, Outcome, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Call
from dispatch.model.view import JobView
from dispatch.shell.intents import cluster_time, intend, late, longest, order_of, outcome_of
from dispatch.shell.ledger import Change
from dispatch.spi.adapter import CallMeta, MultiWriter, StartOrder

if TYPE_CHECKING:
    from dispatch.shell.acting import Writer

log = logging.getLogger("dispatch.batch")

MOST_TOGETHER = 50
"""Writes in one call. A scheduler that needs half a second for each still begins the last within a window of 30 s, and what
does not begin in time is only made later; beyond some dozens the cost of a call is shared already."""


@dataclass(frozen=True)
class Wanted:
    """A call that was decided on this view and listing."""

    view: JobView
    call: Call
    listing: Listing


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
            self._intend(self.ledger.clock.now())
            if not self._won:
                return
            outcomes = zip(self._won, await self._call(), strict=True)
            self._record([(won.view, known) for won, known in outcomes if known is not None])

    def _intend(self, now: datetime) -> None:
        """Record every intent, by compare-and-set each; what is not won drops out."""
        intents = [intend(one.view, one.call, one.listing, now) for one in self.wanted]
        changes = [
            (one.view, (Intended(intent=intent),))
            for one, intent in zip(self.wanted, intents, strict=True)
        ]
        answers = self._append_all(changes)
        for one, intent, view in zip(self.wanted, intents, answers, strict=True):
            if view is None:
                continue
            try:
                order = order_of(view, intent, one.listing) if intent.verb is Verb.START else None
            except Exception as error:  # noqa: BLE001 - the engine tells it by its kind
                self.faults[view.id] = error
            else:
                self._won.append(Won(view, intent, one.listing, order))

    def _append_all(self, changes: Sequence[Change]) -> list[JobView | None]:
        """Append to each; ``None`` where another writer was there first, or where it is noted what went wrong."""
        try:
            answers = self.ledger.append_all(changes)
        except Exception as error:  # noqa: BLE001 - the engine tells it by its kind
            answers = [error] * len(changes)
        self.faults |= {
            view.id: answer
            for (view, _), answer in zip(changes, answers, strict=True)
            if isinstance(answer, Exception)
        }
        return [None if isinstance(answer, Exception) else answer for answer in answers]

    async def _call(self) -> list[Settled | None]:
        """Make the call, and say what came of each; ``None`` where that is not known."""
        deadline = min(won.intent.deadline for won in self._won)
        if any(cluster_time(won.listing, self.ledger.clock.now()) > deadline for won in self._won):
            return [late(won.intent) for won in self._won]
        bound = max(longest(won.view.header.declarations) for won in self._won)
        names = ", ".join(won.view.id for won in self._won)
        try:
            async with asyncio.timeout(bound):
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

    def _record(self, outcomes: Sequence[tuple[JobView, Settled]]) -> None:
        """Append the outcomes; what another writer was faster with has its own turn (R4)."""
        appended = self._append_all([(view, (settled,)) for view, settled in outcomes])
        for (view, settled), after in zip(outcomes, appended, strict=True):
            if after is not None or view.id in self.faults:
                continue
            try:
                self.writer.record(view, settled)
            except Exception as error:  # noqa: BLE001 - the engine tells it by its kind
                self.faults[view.id] = error


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
