"""Mutants of reading and settling: what is decided on a read, and what a read proves of a write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from dispatch.core import deciding, ending, landing, reading
from dispatch.core.situation import Situation
from dispatch.model.answers import Declarations
from dispatch.model.journal import AnyEvent, Intended, Intent, Missed, Settled
from dispatch.model.status import Cause, Detail, Listing, State, Verdict
from dispatch.model.steps import Step
from dispatch.model.view import JobView, OpenIntent, Phase, Sighting
from dispatch.shell.engine import Engine
from dispatch.shell.ledger import Ledger
from dispatch.sim import climates
from dispatch.sim.mutants.mutant import Mutant, Swap, constant, instead, without
from dispatch.spi.adapter import Reading

_read, _append, _settle = Engine._read, Ledger.append, landing.settle  # noqa: SLF001 - what is broken


async def _read_then_fold(self: Engine, views: dict[str, JobView]) -> Reading:
    found = await _read(self, views)
    views.update({job: self.ledger.view(job) for job in list(views)})
    return found


def _any_cluster(_: Engine, view: JobView) -> JobView:
    return view


def _append_anyway(self: Ledger, view: JobView, events: Sequence[AnyEvent]) -> JobView | None:
    after = _append(self, view, events)
    if after is None and isinstance(events[0], Intended):
        return _append(self, self.view(view.id), events)
    return after


def _at_first_read(
    known: OpenIntent, listing: Listing, declared: Declarations
) -> Settled | Missed | datetime:
    before = Sighting(sent=listing.sent - declared.call_bound, boot=listing.boot)
    return _settle(replace(known, missed=before, misses=99), listing, declared)


def _of_any_boot(
    known: OpenIntent, listing: Listing, declared: Declarations
) -> Settled | Missed | datetime:
    intent = replace(known.intent, boot=listing.boot)
    return _settle(replace(known, intent=intent), listing, declared)


def _no_bound(intent: Intent, _: Declarations) -> datetime:
    return intent.deadline - timedelta(days=1)


_LOST = Verdict(state=State.FAILED, cause=Cause.NODE_LOST, detail=Detail(reason="it is not shown"))


def _absence_is_an_end(s: Situation) -> Step | None:
    known = s.view.current
    if known is None or known.settled or s.current_seen is not None or known.phase is Phase.GATED:
        return None
    return ending._judge(s, known, _LOST)  # noqa: SLF001 - what is broken


MUTANTS = (
    Mutant(
        "read before the fold", "R1",
        "What a listing shows is older than the record that it is judged with.",
        (Swap(Engine, "_read", _read_then_fold),), 120,
    ),
    Mutant(
        "an intent on whatever version", "R1",
        "The compare-and-set is the lock: who loses it must not call.",
        (Swap(Ledger, "append", _append_anyway),), 60,
    ),
    Mutant(
        "one read settles", "R2",
        "A controller does not work in order: one read that does not show a write proves nothing.",
        (Swap(deciding, "settle", _at_first_read),), 200, climates.HANGING,
    ),
    Mutant(
        "the bounds of long ago", "T5",
        "A call may take longer now than when the job was accepted.",
        (without(reading.widen_bounds),), 200, climates.SLOWING,
    ),
    Mutant(
        "any cluster behind the alias", "T2",
        "What another cluster does not show has not ended.",
        (Swap(Engine, "_checked", _any_cluster),), 30, climates.MISLED,
    ),
    Mutant(
        "no landing bound", "R3",
        "What has not landed yet may still land.",
        (Swap(landing, "landing_bound", _no_bound),), 200, climates.LATE,
    ),
    Mutant(
        "an open under another boot did not land", "O2",
        "It may have run and been forgotten with the controller.",
        (Swap(deciding, "settle", _of_any_boot),), 30, climates.FORGETFUL_SILENT,
    ),
    Mutant(
        "what was read before is no answer", "O2",
        "What ended before it went has been opened: nobody forgot it.",
        (Swap(deciding, "settle_by_record", constant(None)),), 200, climates.GONE_UNHEARD,
    ),
    Mutant(
        "absence read as end", "E2",
        "What one read does not show has not ended.",
        (instead(ending.note_missing, _absence_is_an_end),), 60,
    ),
    Mutant(
        "absence is judged at once", "E2",
        "The evidence of an end needs its time to come.",
        (Swap(ending, "_is_deleted", constant(True)),), 80, climates.FORGOTTEN,
    ),
)  # fmt: skip
