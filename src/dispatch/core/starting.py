"""The first object and the next: start, hold, open, release."""

from __future__ import annotations

from dispatch.core.sighting import shows_hold
from dispatch.core.situation import Situation
from dispatch.core.stopping import stopped
from dispatch.model.journal import Ended, HoldAsked, ReleaseAsked, Verb
from dispatch.model.policy import HOLD_BY_CESSATION
from dispatch.model.status import By, Cause, Detail, Gate, HoldSeen, Observation, State, Verdict
from dispatch.model.steps import Append, Call, Look, Step
from dispatch.model.view import Hold, ObjectView, Phase


def expire_hold(s: Situation) -> Step | None:
    """A hold with a time ends by itself."""
    hold = s.view.hold
    if hold is None or hold.until is None or s.now < hold.until:
        return None
    return Append(
        events=(ReleaseAsked(instance=hold.instance, by=f"until {hold.until:%Y-%m-%dT%H:%M:%SZ}"),),
        row="hold ends",
    )


def end_refused(s: Situation) -> Step | None:
    """A start that was refused for good ends the job, unless an object of it is there all the same."""
    if s.view.refusal is None or not _wants_start(s):
        return None
    if step := stopped(s, "end refused"):
        return step
    verdict = Verdict(
        state=State.FAILED, cause=Cause.REJECTED, detail=Detail(reason=s.view.refusal)
    )
    return Append(events=(Ended(verdict=verdict),), row="end refused")


def _wants_start(s: Situation) -> bool:
    known = s.view.current
    return known is None or known.phase is Phase.CEASED


def begin(s: Situation) -> Step | None:
    """Start submission N, where there is none, or where the one before has ceased and its due time has come."""
    if not _wants_start(s):
        return None
    if step := stopped(s, "stopped before it started"):
        return step
    decision = s.view.last_decision
    if decision is not None and decision.due is not None:
        # Never early, also where the end was recorded by a clock that is behind the one which is read now (12, B1).
        due = decision.due + s.view.header.declarations.clock_skew
        if s.listing.sent < due:
            return Look(row="await due", why=f"backing off: {decision.why}", at=s.local(due))
    return Call(
        verb=Verb.START,
        submission=s.view.next_submission,
        why=decision.why if decision else "",
        row="start",
    )


def open_gate(s: Situation) -> Step | None:
    """Open the current object, its hold placed before; one that an administrator holds is left to him (12, O5)."""
    known, seen = s.view.current, s.current_seen
    if known is None or seen is None or known.phase is not Phase.GATED:
        return None
    if seen.hold is not None and seen.hold.by is By.ADMINISTRATOR:
        return Look(row="held by an administrator", why="an administrator holds the gated object")
    if step := _place_hold(s, seen) or _await_saved_hold(s, known):
        return step
    return Call(verb=Verb.OPEN, submission=known.submission, ref=known.ref, row="open")


def _place_hold(s: Situation, seen: Observation) -> Step | None:
    hold = s.view.hold
    if hold is None or not _is_of_the_scheduler(hold) or shows_hold(seen, hold):
        return None
    if s.view.hold_refusals >= MOST_REFUSALS:
        # The object has had that instance already, in what a record that was set back has forgotten (12, B5): it takes a higher one.
        again = HoldAsked(
            instance=s.view.last_instance + 1, by=hold.by, why=hold.why, until=hold.until
        )
        return Append(events=(again,), row="hold anew")
    return Call(
        verb=Verb.HOLD,
        submission=seen.key.submission,
        ref=seen.ref,
        instance=hold.instance,
        why=hold.why,
        row="hold",
    )


MOST_REFUSALS = 2
"""Refusals of a hold after which it is asked for under a higher instance, which does no harm where that was not the reason."""


def _is_of_the_scheduler(hold: Hold) -> bool:
    """The hold for missing proof keeps the next object from being started at all; it is none of the scheduler's."""
    return hold.by != HOLD_BY_CESSATION


def _await_saved_hold(s: Situation, known: ObjectView) -> Step | None:
    """An open goes beneath a hold only once no controller can forget the hold and carry out the open after that."""
    hold = s.view.hold
    if hold is None or not _is_of_the_scheduler(hold) or known.held is None:
        return None
    saved = known.held.seen_by + s.view.header.declarations.save_window
    if s.listing.sent >= saved:
        return None
    return Look(
        row="await saved hold",
        why="it is held; a crash could still undo that, and an open would let it run",
        at=s.local(saved),
    )


def keep_holds(s: Situation) -> Step | None:
    """Place the hold that is wanted, and lift ours that is not, on an object that waits in the queue.

    One that runs is left to run: the hold means no further execution (12, B6).
    """
    known, seen = s.view.current, s.current_seen
    if (
        known is None
        or seen is None
        or known.phase is not Phase.OPEN
        or seen.state is not State.PENDING
    ):
        return None
    if step := _place_hold(s, seen):
        return step
    if s.view.hold is None and seen.hold is not None and _held_by_us_alone(seen.hold, seen.gate):
        return Call(
            verb=Verb.RELEASE,
            submission=known.submission,
            ref=seen.ref,
            instance=seen.hold.instance,
            row="release",
        )
    return None


def _held_by_us_alone(hold: HoldSeen, gate: Gate) -> bool:
    """Whether our hold can be lifted. A release puts the gate back beneath anybody else's, as on what was never opened.

    It would read as an open that was forgotten. What others hold does not start, so that the release can wait for theirs.
    """
    return hold.instance is not None and hold.by is None and gate is Gate.OPEN
