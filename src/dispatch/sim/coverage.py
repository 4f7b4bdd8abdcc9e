"""What was reached: rows of the decision table, moves of objects, and cases of the fold."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from dispatch.core import deciding, ending, reading, starting, stopping
from dispatch.core.automaton import MOVES, OPEN_MOVES, Move
from dispatch.core.folding import fold
from dispatch.core.sighting import move_by
from dispatch.model.journal import (
    AnyEvent,
    Ceased,
    Decided,
    Entry,
    Forgot,
    Intended,
    Observed,
    Settled,
    Verb,
)
from dispatch.model.steps import Rest, Step
from dispatch.model.view import JobView, Phase
from dispatch.sim.folds import all_cases, cases_of
from dispatch.sim.unreached import UNREACHED


class Coverage:
    """Counts what was reached."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()

    def stepped(self, _: JobView, step: Step) -> None:
        """Count the row that answered."""
        self.rows[step.row] += 1


def read_record(entries: Iterable[Entry]) -> Iterator[tuple[str | None, list[str]]]:
    """Name what each event of a record does: the move of an object that it is, if one, and the cases of the fold."""
    view: JobView | None = None
    for entry in entries:
        before, view = view, fold([entry], view)
        if before is not None:
            yield _moved(before, entry.event), list(cases_of(before, entry.event, view))


def _moved(view: JobView, event: AnyEvent) -> str | None:
    move, submission = _move(view, event) or (None, 0)
    known = view.objects.get(submission)
    # What was never opened and is gone makes no move: it is dropped, which is a case of the fold.
    return name_of(move, known.phase) if move and known and known.phase in MOVES[move] else None


def _move(view: JobView, event: AnyEvent) -> tuple[Move, int] | None:
    match event:
        case Intended(intent=intent) if intent.verb is Verb.OPEN:
            return Move.OPEN_INTENDED, intent.submission
        case Settled():
            return _settled(view, event)
        case Observed(submission=submission, observation=observation):
            return move_by(view.objects[submission], observation), submission
        case Forgot(submission=submission):
            return Move.FORGOT, submission
        case Decided(submission=submission):
            return Move.JUDGED, submission
        case Ceased(submission=submission):
            return Move.CEASED, submission
        case _:
            return None


def _settled(view: JobView, event: Settled) -> tuple[Move, int] | None:
    for one in view.intents:
        if one.intent.id == event.intent and one.intent.verb is Verb.OPEN:
            return OPEN_MOVES[event.outcome], one.intent.submission
    for known in view.objects.values():
        if event.intent in known.opens:
            return OPEN_MOVES[event.outcome], known.submission
    return None


def all_rows() -> frozenset[str]:
    """Every row that can answer, by the names in the source of the table."""
    named: set[str] = {Rest().row}
    for module in (deciding, ending, reading, starting, stopping):
        named.update(_ROW.findall(inspect.getsource(module)))
    return frozenset(named)


def all_names() -> frozenset[str]:
    """Everything that can be reached."""
    return all_rows() | all_moves() | all_cases()


def missed(reached: Iterable[str]) -> list[str]:
    """What was not reached and could have been, in order; ``UNREACHED`` says why the rest cannot."""
    return sorted(all_names().difference(reached, UNREACHED))


_ROW = re.compile(r'(?:row=|stopped\(s, )"([^"]+)"')


def all_moves() -> frozenset[str]:
    """Every move from every phase that the automaton allows, as ``Outcome.moves`` names them."""
    return frozenset(name_of(move, phase) for move, phases in MOVES.items() for phase in phases)


def name_of(move: Move, phase: Phase) -> str:
    """The name under which a move from a phase is counted."""
    return f"{phase}: {move.value}"
