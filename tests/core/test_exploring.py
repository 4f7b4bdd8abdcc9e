"""Every interleaving of a tiny world keeps the promises; and each planted mutant is caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from core.explorer import explore
from core.world import Bounds
from dispatch.core import ceasing, deciding, ending, landing, reading
from dispatch.core.automaton import MOVES, Move
from dispatch.core.situation import Situation, final_verdict, known_as
from dispatch.core.stopping import stopped
from dispatch.model.answers import Declarations
from dispatch.model.journal import Ceased, Outcome, Proof, Settled, Verb
from dispatch.model.status import Gate, Listing, Observation
from dispatch.model.steps import Call, Step
from dispatch.model.view import JobView, ObjectView, OpenIntent, Phase

CRASH = Bounds(engines=1, ticks=3, crashes=1)
UNFENCED = Bounds(engines=1, ticks=3, crashes=1, lost_replies=1, fenced=False)
NODE = Bounds(engines=1, ticks=4, lost_nodes=1)
LATE = Bounds(engines=1, ticks=3, lost_replies=1, hung=True)
TWO = Bounds(engines=2, ticks=2, deaths=1)
STOP = Bounds(engines=1, ticks=2, stop=True, crashes=1)


@pytest.mark.parametrize(
    ("bounds", "ends"),
    [
        pytest.param(CRASH, 150, id="a controller that crashes"),
        pytest.param(UNFENCED, 300, id="a controller that crashes, and no ticket"),
        pytest.param(NODE, 100, id="a node that is lost"),
        pytest.param(LATE, 100, id="a lost reply, and calls that outlive their bounds"),
        pytest.param(TWO, 50, id="two engines, one of which dies"),
        pytest.param(STOP, 300, id="a stop, and a controller that crashes"),
        pytest.param(Bounds(engines=2, ticks=2, stop=True), 300, id="a stop, and two engines"),
    ],
)
def test_no_interleaving_breaks_a_promise_or_loses_the_job(bounds: Bounds, ends: int) -> None:
    found = explore(bounds, ends=ends)
    assert not found.bad, "\n".join([found.bad, *found.trace])
    assert found.states > 1_000  # the bounds leave something to explore


# --- mutants: each puts one fault back, in this test alone

Patch = Callable[[pytest.MonkeyPatch], None]


def _row_before_intents(patch: pytest.MonkeyPatch, row: Callable[[Situation], Step | None]) -> None:
    rows = (deciding.ROWS[0], row, *deciding.ROWS[1:])
    patch.setattr(deciding, "ROWS", rows)


def open_before_record(patch: pytest.MonkeyPatch) -> None:
    """Open whatever gated object is there, without waiting for the record to name it."""

    def row(s: Situation) -> Step | None:
        for seen in s.ours:
            if seen.gate is Gate.CLOSED and not seen.state.ended and not s.view.stop:
                opening = [i for i in s.view.intents if i.intent.ref == seen.ref]
                if not opening:
                    n = seen.key.submission
                    return Call(verb=Verb.OPEN, submission=n, ref=seen.ref, row="mutant")
        return None

    _row_before_intents(patch, row)


def absence_is_an_end(patch: pytest.MonkeyPatch) -> None:
    """Take an object that a read does not show for one that has ended and left nothing."""

    def gone(s: Situation) -> Step | None:
        known = s.view.current
        if known and known.phase is Phase.OPEN and s.current_seen is None and not s.view.intents:
            found = Call(verb=Verb.START, submission=known.submission + 1, row="mutant")
            return found if not s.view.stop else None
        return None

    _row_before_intents(patch, gone)
    # What was superseded while it may run is awaited too, which would make good for it.
    patch.setattr(ceasing, "_MAY_RUN", frozenset({Phase.ENDED}))


def no_landing_bound(patch: pytest.MonkeyPatch) -> None:
    """Settle a write as not landed by the first read that does not show it."""

    def settle(known: OpenIntent, listing: Listing, declared: Declarations) -> Any:
        what, _ = landing.shown(known.intent, listing)
        if what is landing.Shown.LANDED:
            return landing.settle(known, listing, declared)
        return Settled(intent=known.intent.id, outcome=Outcome.NOT_LANDED)

    patch.setattr(deciding, "settle", settle)


def stop_acknowledged_early(patch: pytest.MonkeyPatch) -> None:
    """Say that the job is stopped as soon as its object has been read as ended."""

    def row(s: Situation) -> Step | None:
        seen = s.current_seen
        quiet = not s.view.intents and not s.view.verdict
        return stopped(s, "mutant") if quiet and seen and seen.state.ended else None

    _row_before_intents(patch, row)


def boot_ignored_for_opens(patch: pytest.MonkeyPatch) -> None:
    """Believe a controller that restarted when it says that an open did not land."""

    def settle(known: OpenIntent, listing: Listing, declared: Declarations) -> Any:
        intent = replace(known.intent, boot=listing.boot)
        return landing.settle(replace(known, intent=intent), listing, declared)

    patch.setattr(deciding, "settle", settle)


def sweep_during_a_start(patch: pytest.MonkeyPatch) -> None:
    """Stop a gated object that the record does not know, though a start is intended."""

    def row(s: Situation) -> Step | None:
        for seen in s.ours:
            unknown = known_as(s.view, seen) is None and not seen.state.ended
            stopping = any(i.intent.verb is Verb.STOP for i in s.view.intents)
            if unknown and seen.gate is Gate.CLOSED and not stopping:
                n = seen.key.submission
                return Call(verb=Verb.STOP, submission=n, ref=seen.ref, row="mutant")
        return None

    _row_before_intents(patch, row)


def a_spent_number_again(patch: pytest.MonkeyPatch) -> None:
    """Start the number of the last object again, though it was opened, and heed none that has it already."""
    again = property(lambda view: view.current.submission if view.current else 1)
    patch.setattr(JobView, "next_submission", again)

    def has_nobody(s: Situation, seen: Observation) -> bool:
        return seen.key.submission not in s.view.objects

    patch.setattr(reading, "_may_have_its_number", has_nobody)


def cessation_is_not_awaited(patch: pytest.MonkeyPatch) -> None:
    """Go on as soon as the end is judged."""

    def cease(view: JobView, known: ObjectView, listing: Listing) -> Ceased:
        return Ceased(submission=known.submission, proof=Proof.CLEANED)

    patch.setattr(ending, "cease", cease)


def what_was_forgotten_never_ran(patch: pytest.MonkeyPatch) -> None:
    """Take a tainted object that ended without nodes for one that never ran."""

    def never_ran(known: ObjectView, *, fence: bool) -> bool:
        del fence
        return known.ended is not None and known.seen is not None and known.seen.started is None

    patch.setattr(ceasing, "never_ran", never_ran)


def a_forgotten_open_is_repeated(patch: pytest.MonkeyPatch) -> None:
    """Take an opened object that is gated again for one that was never opened."""
    patch.setitem(MOVES, Move.SEEN_GATED, {**MOVES[Move.SEEN_GATED], Phase.OPEN: Phase.GATED})


def no_save_window(patch: pytest.MonkeyPatch) -> None:
    """Judge an end by the read that first shows it."""

    def judge(s: Situation) -> Step | None:
        known, seen = s.view.current, s.current_seen
        if known is None or seen is None or known.phase is not Phase.ENDED:
            return None
        return ending._judge(s, known, final_verdict(known, seen.verdict))

    rows = tuple(judge if row is ending.judge else row for row in deciding.ROWS)
    patch.setattr(deciding, "ROWS", rows)


@pytest.mark.parametrize(
    ("mutant", "bounds"),
    [
        (open_before_record, LATE),
        (absence_is_an_end, CRASH),
        (no_landing_bound, UNFENCED),
        (stop_acknowledged_early, STOP),
        (boot_ignored_for_opens, UNFENCED),
        (sweep_during_a_start, TWO),
        (a_spent_number_again, NODE._replace(fenced=False)),
        (cessation_is_not_awaited, NODE),
        (what_was_forgotten_never_ran, CRASH._replace(lost_nodes=1, ticks=2)),
        (a_forgotten_open_is_repeated, UNFENCED),
        (no_save_window, STOP),
    ],
)
def test_a_planted_mutant_is_caught(
    monkeypatch: pytest.MonkeyPatch, mutant: Patch, bounds: Bounds
) -> None:
    mutant(monkeypatch)
    found = explore(bounds, limit=300_000)
    assert found.bad, f"{found.states} states, and nothing is amiss"
