"""Folding: every pair of move and phase, what a record cannot contain, and what each event leaves in the view."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from core.builders import (
    WHO,
    at,
    ended,
    entry,
    gated,
    header,
    intent,
    opened,
    opening,
    queued,
    ran,
    read,
    record,
    ref,
    running,
    started,
    tell,
)
from dispatch.core.automaton import MOVES, OPEN_MOVES, Move
from dispatch.core.folding import fold
from dispatch.core.sighting import move_of
from dispatch.model.answers import Action
from dispatch.model.errors import CorruptRecord
from dispatch.model.journal import (
    Adopted,
    AnyEvent,
    Ceased,
    Decided,
    Ended,
    Forgot,
    HoldAsked,
    Intended,
    Missed,
    Outcome,
    Proof,
    ReleaseAsked,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.status import Cause, Gate, State, Verdict
from dispatch.model.view import JobView, Phase

FAILED = Verdict(state=State.FAILED, cause=Cause.PREEMPTED)
DECIDED = Decided(submission=1, restarts=0, verdict=FAILED, action=Action.RESUBMIT)
UNKNOWN = Settled(intent="open-1", outcome=Outcome.UNKNOWN, reason="lost")

PATHS: dict[Phase, tuple[AnyEvent, ...]] = {
    Phase.GATED: started(),
    Phase.OPENING: opening(),
    Phase.OPEN: opened(),
    Phase.TAINTED: (*opening(), UNKNOWN),
    Phase.ENDED: (*opened(), read(ended())),
    Phase.JUDGED: (*opened(), read(ended()), DECIDED),
    Phase.CEASED: (*opened(), read(ended()), DECIDED, Ceased(submission=1, proof=Proof.CLEANED)),
}
"""A record that brings an object to each phase."""

EVENTS: dict[Move, tuple[AnyEvent, ...]] = {
    Move.OPEN_INTENDED: (Intended(intent=intent(Verb.OPEN, id="another")),),
    Move.SEEN_GATED: (read(gated()),),
    Move.SEEN_LIVE: (read(queued()),),
    Move.SEEN_ENDED: (read(ended()),),
    Move.FORGOT: (Forgot(submission=1, why="gone"),),
    Move.JUDGED: (DECIDED,),
    Move.CEASED: (Ceased(submission=1, proof=Proof.CLEANED),),
}
"""The event that is each move; the outcomes of an open have a table of their own below."""


@pytest.mark.parametrize("phase", Phase)
def test_each_phase_is_reached_by_a_record(phase: Phase) -> None:
    assert record(*PATHS[phase]).objects[1].phase is phase


@pytest.mark.parametrize(("move", "phase"), [*product(EVENTS, Phase)])
def test_every_move_of_every_phase_is_in_the_table_or_corrupt(move: Move, phase: Phase) -> None:
    view = record(*PATHS[phase])
    after = MOVES[move].get(phase)
    if move is Move.FORGOT and phase is Phase.GATED:
        assert tell(view, *EVENTS[move]).objects == {}
    elif after is None:
        with pytest.raises(CorruptRecord, match=f"Submission 1 is {phase}, yet {move.value}"):
            tell(view, *EVENTS[move])
    else:
        assert tell(view, *EVENTS[move]).objects[1].phase is after


OPENS = (Move.OPEN_LANDED, Move.OPEN_NOT_LANDED, Move.OPEN_UNKNOWN)


@pytest.mark.parametrize(("outcome", "phase"), [*product(Outcome, Phase)])
def test_every_outcome_of_an_open_is_in_the_table(outcome: Outcome, phase: Phase) -> None:
    """Whatever was read, forgotten or decided before its outcome was known, there is a next phase."""
    first = record(*started(), read(gated()), Intended(intent=intent(Verb.OPEN)))
    between: dict[Phase, tuple[AnyEvent, ...]] = {
        Phase.GATED: (Settled(intent="open-1", outcome=Outcome.NOT_LANDED),),
        Phase.OPENING: (),
        Phase.OPEN: (Settled(intent="open-1", outcome=Outcome.NOT_LANDED), read(queued())),
        Phase.TAINTED: (Forgot(submission=1, why="gone"),),
        Phase.ENDED: (read(ended()),),
        Phase.JUDGED: (read(ended()), DECIDED),
        Phase.CEASED: (read(ended()), DECIDED, Ceased(submission=1, proof=Proof.CLEANED)),
    }
    view = tell(first, *between[phase])
    assert view.objects[1].phase is phase
    after = tell(view, Settled(intent="open-1", outcome=outcome)).objects[1].phase
    refused = OPEN_MOVES[outcome] is Move.OPEN_NOT_LANDED
    # What a read has settled as not landed is not changed by learning the same once more.
    same = refused and phase in (Phase.GATED, Phase.OPEN)
    assert after is (phase if same else MOVES[OPEN_MOVES[outcome]][phase])


def test_the_table_has_every_move_and_names_it() -> None:
    assert set(MOVES) == set(Move)
    assert set(EVENTS) | set(OPENS) == set(Move)
    assert set(OPEN_MOVES) == set(Outcome)
    assert all(set(row) <= set(Phase) for row in MOVES.values())


def test_nothing_leads_back_to_gated_but_an_open_that_did_not_land() -> None:
    back = {
        (move, before)
        for move, row in MOVES.items()
        for before, after in row.items()
        if after is Phase.GATED and before is not Phase.GATED
    }
    assert back == {(Move.OPEN_NOT_LANDED, Phase.OPENING)}


def test_a_tainted_object_is_never_open_again() -> None:
    assert {row.get(Phase.TAINTED) for row in MOVES.values()} == {
        Phase.TAINTED, Phase.ENDED, Phase.JUDGED, Phase.CEASED, None,
    }  # fmt: skip


def test_every_tainted_object_says_why() -> None:
    ways: tuple[tuple[AnyEvent, ...], ...] = (
        (*opening(), Settled(intent="open-1", outcome=Outcome.UNKNOWN)),
        (*opened(), Forgot(submission=1, why="")),
        (*opened(), read(ended()), read(gated())),
        (Adopted(submission=1, attempt="a", observation=gated()),),
    )
    for events in ways:
        known = record(*events).objects[1]
        assert known.phase is Phase.TAINTED
        assert known.why


def test_the_first_reason_of_a_taint_stays() -> None:
    view = record(*opened(), read(ended()), Forgot(submission=1, why="first"), read(gated()))
    assert view.objects[1].why == "first"
    assert record(*opening(), Forgot(submission=1, why="first"), UNKNOWN).objects[1].why == "first"
    again = record(*opened(), read(ended()), Forgot(submission=1, why="first"))
    assert tell(again, Forgot(submission=1, why="second")).objects[1].why == "first"


@pytest.mark.parametrize(
    ("seen", "move"),
    [
        (gated(), Move.SEEN_GATED),
        (queued(), Move.SEEN_LIVE),
        (running(), Move.SEEN_LIVE),
        (ended(), Move.SEEN_ENDED),
        (ended(gate=Gate.CLOSED), Move.SEEN_ENDED),
        (replace(queued(), verdict=Verdict(state=State.UNKNOWN)), Move.SEEN_LIVE),
    ],
)
def test_what_a_read_is(seen: object, move: Move) -> None:
    assert move_of(seen) is move  # type: ignore[arg-type]


# --- what a record cannot contain


def corrupt(*events: AnyEvent) -> str:
    with pytest.raises(CorruptRecord) as error:
        record(*events)
    return error.value.what


def test_a_record_begins_with_its_header_and_has_one() -> None:
    with pytest.raises(CorruptRecord, match=r"^The record is empty\.$"):
        fold([])
    with pytest.raises(CorruptRecord, match="begins with StopAsked"):
        fold([entry(1, StopAsked(by="a"))])
    assert corrupt(header()) == "The record has a second header."


def test_versions_follow_one_another() -> None:
    with pytest.raises(CorruptRecord, match="version 2 where 1 is due"):
        fold([entry(2, header())])
    view = record()
    with pytest.raises(CorruptRecord, match="version 3 where 2 is due"):
        fold([entry(3, StopAsked(by="a"))], view)
    assert fold([], view) is view


@pytest.mark.parametrize(
    "event",
    [
        read(queued()),
        Vanished(submission=1, sent=at(0), boot="b1"),
        Forgot(submission=1, why="x"),
        DECIDED,
        Ceased(submission=1, proof=Proof.CLEANED),
        Intended(intent=intent(Verb.OPEN)),
    ],
)
def test_a_record_speaks_of_no_object_that_it_never_started(event: AnyEvent) -> None:
    assert "submission 1, which it never started" in corrupt(event)


@pytest.mark.parametrize(
    "fields", [{"attempt": None}, {"base": None}, {"submission": 0}, {"submission": 1_000_000}]
)
def test_a_start_is_intended_with_its_marks(fields: dict[str, object]) -> None:
    made = replace(intent(Verb.START), **fields)
    assert "without its marks" in corrupt(Intended(intent=made))


def test_a_start_at_the_last_number_is_possible() -> None:
    made = replace(intent(Verb.START), submission=999_999, base=0)
    assert record(Intended(intent=made)).intents[0].intent == made


def test_a_start_that_landed_has_a_reference() -> None:
    events = (
        Intended(intent=intent(Verb.START)),
        Settled(intent="start-1", outcome=Outcome.LANDED),
    )
    assert "without a reference" in corrupt(*events)


def test_holds_are_numbered_upwards() -> None:
    assert "Hold 1 comes after hold 1" in corrupt(
        HoldAsked(instance=1, by="a"), HoldAsked(instance=1, by="a")
    )


def test_a_job_ends_once_and_is_decided_about_once() -> None:
    end = Ended(verdict=FAILED)
    assert corrupt(end, end) == "The record ends twice."
    assert "judged" in corrupt(*opened(), read(ended()), DECIDED, DECIDED)


# --- what is left in the view


def test_the_header_is_in_the_view() -> None:
    view = fold([entry(1, header(), at(5))])
    assert (view.version, view.accepted_at, view.user) == (1, at(5), WHO.user)
    assert view.job.command == ("train",)
    assert (view.current, view.last_decision, view.next_submission) == (None, None, 1)


def test_an_object_that_was_started_is_known_by_its_intent() -> None:
    known = record(*started(boot="b7")).objects[1]
    assert (known.attempt, known.ref, known.base, known.boot) == ("try-1", ref(1), 1_000, "b7")
    assert (known.phase, known.seen, known.adopted, known.why) == (Phase.GATED, None, False, "")


def test_a_read_is_in_the_view_with_its_time_and_boot() -> None:
    known = record(*opened(), read(running(), sent=9, boot="b2")).objects[1]
    assert (known.seen, known.ran, known.seen_at, known.boot) == (running(), running(), at(9), "b2")
    assert known.opened_under == "b1"
    assert known.ended is None


def test_the_last_execution_is_kept_when_something_else_is_read() -> None:
    known = record(*ran(), read(queued(restarts=1))).objects[1]
    assert (known.seen, known.ran) == (queued(restarts=1), running())
    ended_ = record(*opened(), read(ended())).objects[1]
    assert ended_.ran == ended()
    assert record(*opened(), read(ended(ran_for=None))).objects[1].ran is None


def test_the_end_is_dated_by_the_first_read_under_its_boot() -> None:
    view = record(*opened(), read(ended(), sent=5), read(ended(), sent=9))
    assert view.objects[1].ended is not None
    assert view.objects[1].ended.sent == at(5)
    view = tell(view, read(ended(), sent=12, boot="b2"))
    assert view.objects[1].ended is not None
    assert (view.objects[1].ended.sent, view.objects[1].ended.boot) == (at(12), "b2")
    assert tell(view, read(queued(), sent=13)).objects[1].ended is None


def test_what_vanished_is_dated_until_it_shows_again() -> None:
    view = record(*ran(), Vanished(submission=1, sent=at(4), boot="b3"))
    assert view.objects[1].missing is not None
    assert (view.objects[1].missing.sent, view.objects[1].missing.boot) == (at(4), "b3")
    assert tell(view, read(running())).objects[1].missing is None


def test_intents_are_open_until_they_are_settled() -> None:
    view = record(Intended(intent=intent(Verb.START)), Intended(intent=intent(Verb.STOP)))
    assert [known.intent.id for known in view.intents] == ["start-1", "stop-1"]
    view = tell(view, Missed(intent="stop-1", sent=at(60), boot="b1"))
    assert [known.misses for known in view.intents] == [0, 1]
    view = tell(view, Settled(intent="start-1", outcome=Outcome.BUSY, reason="full"))
    assert [known.intent.id for known in view.intents] == ["stop-1"]
    assert (view.retry_at, view.retry_why) == (None, "")


def test_decisions_keep_their_time() -> None:
    view = tell(record(*opened(), read(ended())), DECIDED, when=at(77))
    assert view.decisions == ((at(77), DECIDED),)
    end = tell(view, Ended(verdict=FAILED), when=at(78))
    assert (end.verdict, end.ended_at) == (FAILED, at(78))


def test_a_hold_is_the_newest_that_was_asked_for() -> None:
    view = record(HoldAsked(instance=4, by="alice", why="lunch", until=at(60)))
    assert view.hold is not None
    assert (view.hold.by, view.hold.why, view.hold.until, view.last_instance) == ("alice", "lunch", at(60), 4)  # fmt: skip
    assert tell(view, ReleaseAsked(instance=4, by="b")).last_instance == 4
    assert tell(record(), ReleaseAsked(instance=4, by="b")).hold is None


def test_adopting_says_so() -> None:
    known = record(Adopted(submission=3, attempt="a", observation=running(3))).objects[3]
    assert (known.adopted, known.phase, known.ran, known.why) == (True, Phase.OPEN, running(3), "")
    assert (known.ref, known.attempt, known.base, known.seen) == (ref(3), "a", 0, running(3))
    assert record(Adopted(submission=3, attempt="a", observation=queued(3))).objects[3].ran is None


def test_folding_in_parts_is_folding_at_once() -> None:
    events = (header(), *ran(), read(ended()), DECIDED, Ceased(submission=1, proof=Proof.CLEANED))
    entries = [entry(n, event, at(n)) for n, event in enumerate(events, 1)]
    whole = fold(entries)
    for cut in range(1, len(entries)):
        assert fold(entries[cut:], fold(entries[:cut])) == whole


def test_the_phase_and_more_are_told_by_a_view() -> None:
    view: JobView = record(*ran(restarts=2))
    known = view.objects[1]
    assert (known.spent, known.settled, known.restarts) == (True, False, 2)
    epoch = view.epoch()
    assert epoch is not None
    assert epoch.number == 1_000_002
    assert record().epoch() is None
