"""Mutants of acting: the order of slot, intent, call and outcome, and what is made of a reply."""

from __future__ import annotations

from typing import Any

from dispatch.adapters.memory import backend as memory
from dispatch.model.journal import Intended, Intent, Outcome, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Call
from dispatch.model.view import JobView
from dispatch.shell.acting import Writer
from dispatch.shell.batch import Batch
from dispatch.shell.intents import intend
from dispatch.shell.ledger import Ledger
from dispatch.sim import climates
from dispatch.sim.mutants.mutant import Mutant, Swap, constant

_make, _one_call, _many_call = Writer.make, Writer._call, Batch._call  # noqa: SLF001 - what is broken


async def _intent_after(
    self: Writer, view: JobView, call: Call, listing: Listing
) -> JobView | None:
    if call.verb is not Verb.OPEN:
        return await _make(self, view, call, listing)
    intent = intend(view, call, listing, self.ledger.clock.now())
    settled = await self._call(view, intent, listing)
    intended = self.ledger.append(view, (Intended(intent=intent),))
    return intended if intended is None or settled is None else self.record(intended, settled)


async def _outcome_before(
    self: Writer, view: JobView, intent: Intent, listing: Listing
) -> Settled | None:
    if intent.verb is Verb.START:
        return await _one_call(self, view, intent, listing)
    landed = Settled(intent=intent.id, outcome=Outcome.LANDED, ref=intent.ref)
    self.record(view, landed)
    await _one_call(self, view, intent, listing)
    return landed


async def _silence_is_success(
    self: Writer, view: JobView, intent: Intent, listing: Listing
) -> Settled | None:
    settled = await _one_call(self, view, intent, listing)
    if settled is None and intent.verb is not Verb.START:
        return Settled(intent=intent.id, outcome=Outcome.LANDED, ref=intent.ref)
    return settled


async def _silence_is_failure(
    self: Writer, view: JobView, intent: Intent, listing: Listing
) -> Settled | None:
    settled = await _one_call(self, view, intent, listing)
    return settled or Settled(intent=intent.id, outcome=Outcome.NOT_LANDED, reason="no answer")


async def _silence_of_many_is_success(self: Batch) -> list[Settled | None]:
    found = await _many_call(self)
    return [
        Settled(intent=won.intent.id, outcome=Outcome.LANDED, ref=won.intent.ref)
        if one is None and won.intent.verb is Verb.OPEN
        else one
        for won, one in zip(self._won, found, strict=True)
    ]


def _each_apart(self: Ledger, view: JobView, events: Any) -> JobView | None:
    after: JobView | None = view
    for event in events:
        after = None if after is None else _append(self, after, (event,))
    return after


_append = Ledger.append

MUTANTS = (
    Mutant(
        "open before the record", "O7",
        "A call whose intent is not recorded is known to nobody once its process has died.",
        (Swap(Writer, "make", _intent_after),), 30,
    ),
    Mutant(
        "the outcome before the call", "O7",
        "A process that dies between the two leaves a record of what never was.",
        (Swap(Writer, "_call", _outcome_before),), 60,
    ),
    Mutant(
        "no deadline", "O7",
        "A process that was paused makes its call long after its intent was settled by others.",
        (Swap(memory, "refuse_late", constant(None)),), 30, climates.SLOW,
    ),
    Mutant(
        "silence taken for success", "R2",
        "A reply that is lost says nothing.",
        (Swap(Writer, "_call", _silence_is_success),), 30, climates.UNDONE,
    ),
    Mutant(
        "silence taken for failure", "R2",
        "A reply that is lost says nothing.",
        (Swap(Writer, "_call", _silence_is_failure),), 30, climates.SILENT,
    ),
    Mutant(
        "of many, silence taken for success", "R2",
        "Of many writes in one call each has an outcome of its own.",
        (Swap(Batch, "_call", _silence_of_many_is_success),), 120, climates.TOGETHER,
    ),
    Mutant(
        "the charge apart from the decision", "B1",
        "A process that dies between the two decides again, or never.",
        (Swap(Ledger, "append", _each_apart),), 60, climates.DYING,
    ),
)  # fmt: skip
