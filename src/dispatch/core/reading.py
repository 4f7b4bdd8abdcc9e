"""What a read says: recorded before anything is decided on it."""

from __future__ import annotations

from dispatch.core.ceasing import never_ran
from dispatch.core.sighting import has_run, hold_of
from dispatch.core.situation import Situation, known_as, sweepable
from dispatch.model.journal import Adopted, AnyEvent, BoundsGrew, Forgot, Observed
from dispatch.model.status import Cause, Gate, Observation, State
from dispatch.model.steps import Append, Step
from dispatch.model.view import JobView, ObjectView, Phase


def widen_bounds(s: Situation) -> Step | None:
    """Record that the cluster's bounds have grown: a call may take longer now than when the job was accepted (12, T5)."""
    recorded, read = s.view.header.declarations, s.listing.declarations
    if read is None or read == recorded or s.view.verdict is not None:
        return None
    wide = recorded.widened(read)
    if wide == recorded:
        return None
    return Append(events=(BoundsGrew(declarations=wide),), row="widen bounds")


def record_what_was_read(s: Situation) -> Step | None:
    """Append every read that differs from the recorded one, before anything is decided on it."""
    events: list[AnyEvent] = []
    for seen in s.listing.observations:
        known = known_as(s.view, seen)
        if known is None or (known.settled and seen.state.ended) or not _is_news(s, known, seen):
            continue
        events.append(_observed(s, known.submission, seen))
        if why := _forgotten(s, known, seen):
            events.append(Forgot(submission=known.submission, why=why))
    return Append(events=tuple(events), row="record what was read") if events else None


def _observed(s: Situation, submission: int, seen: Observation) -> Observed:
    return Observed(
        submission=submission,
        observation=seen,
        sent=s.listing.sent,
        boot=s.listing.boot,
        answered=s.listing.answered,
    )


def _is_news(s: Situation, known: ObjectView, seen: Observation) -> bool:
    if known.seen is None or known.missing is not None:
        return True
    # An end must be read under the boot that is up, for a save window, to be sure (12, E2); a hold on a gate, too.
    since = known.ended if seen.state.ended else known.held if known.phase is Phase.GATED else None
    new_boot = since is not None and since.boot != s.listing.boot
    return new_boot or _tells(known.seen) != _tells(seen)


def _tells(seen: Observation) -> tuple[object, ...]:
    """What of an observation makes a difference; evidence read again at another time does not."""
    verdict = seen.verdict
    facts = tuple(
        (fact.source, fact.field, fact.value) for fact in verdict.evidence if verdict.state.ended
    )
    return (
        verdict.state, verdict.cause, verdict.detail, verdict.proven, facts, seen.restarts, seen.gate, seen.hold,
        seen.cleaning, seen.final, seen.requeue, seen.nodes, seen.started, seen.ended,
    )  # fmt: skip


PUT_BACK = frozenset({Cause.PREEMPTED, Cause.EVICTED, Cause.AWAITING_READMISSION})
"""Why a scheduler that counts no restart for it has put a started object back into its queue (Kueue): nothing is forgotten."""


def _forgotten(s: Situation, known: ObjectView, seen: Observation) -> str:
    """Say what the controller has forgotten, where the read shows that the same execution is, or was, made again (12, O3)."""
    if not s.view.header.declarations.save_window:
        # It forgets nothing. It may have put the object back and run it again between two reads, and counts no restart then.
        return ""
    if known.settled or known.phase is Phase.TAINTED or seen.gate is Gate.CLOSED:
        return ""
    if seen.state is State.PENDING and seen.cause is Cause.FORGOTTEN:
        return "the controller forgot the start"  # told by its start ticket: nobody had to see it running
    ran = known.ran
    if ran is None:
        return ""
    if seen.restarts < ran.restarts:
        return "the controller forgot a requeue"
    if seen.restarts > ran.restarts:
        return ""
    if seen.state is State.PENDING:
        return "" if seen.cause in PUT_BACK else "the controller forgot the start"
    if has_run(seen) and None not in (seen.started, ran.started) and seen.started != ran.started:
        return "the controller forgot the start and started it again"
    return ""


def adopt(s: Situation) -> Step | None:
    """Adopt an object of ours that the record does not know: the record is behind (12, O1)."""
    for seen in s.ours:
        if sweepable(s.view, seen) or not _may_have_its_number(s, seen):
            continue
        adopted = Adopted(
            submission=seen.key.submission, attempt=seen.key.attempt, observation=seen
        )
        if not seen.state.ended:
            return Append(events=(adopted, *_doubts(seen)), row="adopt")
        # One that ran and has ended spends its N all the same: its epoch must not repeat, nor a success run again (12, E6).
        if has_run(seen) and _is_the_first_that_ran(s.view, seen.key.submission):
            return Append(events=(adopted, _observed(s, adopted.submission, seen)), row="adopt")
    return None


def _is_the_first_that_ran(view: JobView, submission: int) -> bool:
    """Whether nothing of that number is known to have run, nor anything of a later one to have been opened."""
    known = view.objects.get(submission)
    return submission >= view.next_submission or (known is not None and known.ran is None)


def _may_have_its_number(s: Situation, seen: Observation) -> bool:
    """Whether the record has no other object of that number of which anything could run, or ever ran and may be left.

    Two objects have one number where a record was set back more than once: each time it has met another one.
    """
    known = s.view.objects.get(seen.key.submission)
    if known is None:
        return True
    gone = known.phase is Phase.CEASED or never_ran(known, fence=s.listing.fence)
    return known.ref != seen.ref and (gone or known.phase is Phase.GATED)


def _doubts(seen: Observation) -> tuple[Forgot, ...]:
    """Say so where nobody can tell whether an object was ever opened, since it waits under our hold: it is not released.

    The hold has taken one half of the gate, and an administrator's hold may have taken the other (12, O5).
    """
    if seen.state is not State.PENDING or seen.gate is Gate.CLOSED or hold_of(seen) is None:
        return ()
    return (Forgot(submission=seen.key.submission, why="the record did not know it"),)


def notice_forgetting(s: Situation) -> Step | None:
    """Notice an open that the controller has forgotten; the object is never opened again (12, O3)."""
    known, seen = s.view.current, s.current_seen
    if known is None or seen is None or known.phase is not Phase.OPEN or seen.state.ended:
        return None
    if seen.gate is not Gate.CLOSED or _held_by_a_person_too(s, known, seen):
        return None
    forgot = Forgot(submission=known.submission, why="the controller forgot the open")
    return Append(events=(forgot,), row="forgotten")


def _held_by_a_person_too(s: Situation, known: ObjectView, seen: Observation) -> bool:
    """Whether a person has held what we hold: that reads as a gate beneath our hold, and only a crash can bring it back."""
    return hold_of(seen) is not None and s.listing.boot == known.opened_under
