"""``next_step``: what to do about a job now. All of the protocol's thinking, as one table of rows; the first that
answers is the step.

A row takes the situation and answers a step, or ``None`` where it has nothing to say. The order of the rows is part of
the protocol: what was read is recorded before anything is decided on it, an open intent is settled before the next, a
stop comes before all that could run the job again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from dispatch.core.ceasing import cease
from dispatch.core.landing import settle
from dispatch.core.recovery import decide
from dispatch.core.situation import Situation, final_verdict, known_as, sweepable
from dispatch.model.answers import Action
from dispatch.model.journal import (
    Adopted,
    AnyEvent,
    Ended,
    Forgot,
    HoldAsked,
    Missed,
    Observed,
    ReleaseAsked,
    Settled,
    Vanished,
    Verb,
)
from dispatch.model.policy import HOLD_BY_CESSATION
from dispatch.model.status import By, Cause, Detail, Gate, Listing, Observation, State, Verdict
from dispatch.model.steps import Append, Call, Look, Rest, Step
from dispatch.model.view import JobView, ObjectView, Phase, Sighting

Row = Callable[[Situation], Step | None]


def next_step(view: JobView, listing: Listing, now: datetime) -> Step:
    """Answer the one thing to do about the job: a call to make, events to append, or a time to look again.

    ``listing`` is a read that was sent after the view was folded (12, R1); ``now`` is this host's clock.
    """
    if listing.version != view.version:
        return Look(
            row="stale listing", why="the record has moved on since the listing was sent", at=now
        )
    situation = Situation(view, listing, now)
    for row in ROWS:
        if (step := row(situation)) is not None:
            return step
    return Look(row="watch", why="nothing to do until something changes")


# --- what was read


def record_what_was_read(s: Situation) -> Step | None:
    """Append every read that differs from the recorded one, before anything is decided on it."""
    events: list[AnyEvent] = []
    for seen in s.listing.observations:
        known = known_as(s.view, seen)
        if known is None or (known.settled and seen.state.ended):
            continue
        new_boot = (
            seen.state.ended and known.ended is not None and known.ended.boot != s.listing.boot
        )
        if (
            known.seen is None
            or known.missing is not None
            or new_boot
            or _tells(known.seen) != _tells(seen)
        ):
            events.append(
                Observed(
                    submission=known.submission,
                    observation=seen,
                    sent=s.listing.sent,
                    boot=s.listing.boot,
                )
            )
    return Append(events=tuple(events), row="record what was read") if events else None


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


# --- stopping


def stop_what_lives(s: Situation) -> Step | None:
    """After a request to stop, stop every object that is not final, beside an open intent too (12, E2 and E3)."""
    if s.view.stop is None or s.view.verdict is not None:
        return None
    return _stop_first(
        s,
        [seen for seen in s.ours if not (seen.state.ended and seen.final)],
        "a stop was asked for",
    )


def _stop_first(s: Situation, victims: list[Observation], why: str) -> Step | None:
    stopping = {known.intent.ref for known in s.view.intents if known.intent.verb is Verb.STOP}
    for seen in victims:
        # An ended object whose requeue bit is set can be stopped no further; it is waited for below.
        if seen.ref not in stopping and not seen.state.ended and not s.waits_for_retry:
            return Call(
                verb=Verb.STOP, submission=seen.key.submission, ref=seen.ref, why=why, row="stop"
            )
    return None


def settle_intents(s: Situation) -> Step | None:
    """Settle what was intended by what was read; while the outcome of a write is unknown, nothing else is written."""
    waits: list[datetime] = []
    for known in s.view.intents:
        match settle(known, s.listing, s.view.header.declarations):
            case Settled() | Missed() as event:
                return Append(events=(event,), row="settle")
            case moment:
                waits.append(moment)
    if not waits:
        return None
    verbs = " and ".join(known.intent.verb for known in s.view.intents)
    return Look(
        row="await landing", why=f"the outcome of {verbs} is not known yet", at=s.local(min(waits))
    )


def rest(s: Situation) -> Step | None:
    """An ended job is done, but for gated objects of it that nobody will open."""
    if s.view.verdict is None:
        return None
    orphans = [seen for seen in s.ours if sweepable(s.view, seen)]
    return _stop_first(s, orphans, "an orphan of an ended job") or Rest()


# --- objects that should not be


def sweep(s: Situation) -> Step | None:
    """Stop the gated objects of ours that the record has superseded, or never learnt of while starting (12, T1)."""
    return _stop_first(
        s, [seen for seen in s.ours if sweepable(s.view, seen)], "superseded, and never opened"
    )


def adopt(s: Situation) -> Step | None:
    """Adopt an object of ours that the record does not know: the record is behind (12, O1)."""
    for seen in s.ours:
        if (
            known_as(s.view, seen) is None
            and seen.key.submission not in s.view.objects
            and not seen.state.ended
        ):
            adopted = Adopted(
                submission=seen.key.submission, attempt=seen.key.attempt, observation=seen
            )
            return Append(events=(adopted,), row="adopt")
    return None


def stop_superseded(s: Situation) -> Step | None:
    """Stop what is live though its verdict is recorded, a later submission exists, or a write of it is uncertain."""
    victims: list[Observation] = []
    for seen in s.ours:
        known = known_as(s.view, seen)
        if known is None or seen.state.ended:
            continue
        if known.settled or known.phase is Phase.TAINTED or known is not s.view.current:
            victims.append(seen)
    return _stop_first(s, victims, "superseded, or a write of it is uncertain") or (
        Look(row="await stop", why=s.view.retry_why or "an object is being stopped", at=s.retry)
        if victims
        else None
    )


def wait_for_strangers(s: Situation) -> Step | None:
    """Any other live object of the job blocks it: it counts as a live execution (12, O1)."""
    strangers = [
        seen
        for seen in s.listing.observations
        if not seen.state.ended and known_as(s.view, seen) is None
    ]
    if not strangers:
        return None
    why = f"object {strangers[0].ref}, which this record does not know, is live"
    return Look(row="blocked by another object", why=why)


def wait_for_retry(s: Situation) -> Step | None:
    """What was refused for now is tried again at its time."""
    if not s.waits_for_retry:
        return None
    return Look(row="await retry", why=s.view.retry_why, at=s.retry)


# --- holds of people


def expire_hold(s: Situation) -> Step | None:
    """A hold with a time ends by itself."""
    hold = s.view.hold
    if hold is None or hold.until is None or s.now < hold.until:
        return None
    return Append(
        events=(ReleaseAsked(instance=hold.instance, by=f"until {hold.until:%Y-%m-%dT%H:%M:%SZ}"),),
        row="hold ends",
    )


# --- the first object, and the next


def end_refused(s: Situation) -> Step | None:
    """A start that was refused for good ends the job."""
    if s.view.refusal is None:
        return None
    verdict = Verdict(
        state=State.FAILED, cause=Cause.REJECTED, detail=Detail(reason=s.view.refusal)
    )
    if s.view.stop is not None:
        verdict = _stopped(s)
    return Append(events=(Ended(verdict=verdict),), row="end refused")


def _stopped(s: Situation) -> Verdict:
    stop = s.view.stop
    detail = Detail(who=stop.by, reason=stop.why or None) if stop else Detail()
    return Verdict(state=State.CANCELLED, cause=Cause.STOPPED, detail=detail)


def begin(s: Situation) -> Step | None:
    """Start submission N, where there is none, or where the one before has ceased and its due time has come."""
    known = s.view.current
    if known is not None and known.phase is not Phase.CEASED:
        return None
    if s.view.stop is not None:
        return Append(events=(Ended(verdict=_stopped(s)),), row="stopped before it started")
    decision = s.view.last_decision
    if (
        known is not None
        and decision is not None
        and decision.due is not None
        and s.listing.sent < decision.due
    ):
        return Look(row="await due", why=f"backing off: {decision.why}", at=s.local(decision.due))
    return Call(
        verb=Verb.START,
        submission=s.view.next_submission,
        why=decision.why if decision else "",
        row="start",
    )


# --- the current object


def note_missing(s: Situation) -> Step | None:
    """Absence is not an end: what a read does not show is noted, and judged only when its evidence had time to come."""
    known = s.view.current
    if known is None or known.settled or s.current_seen is not None:
        return None
    if known.phase is Phase.ENDED and known.seen is not None and known.ended is not None:
        return _judge_when_sure(s, known, known.seen, known.ended)  # purged: gone for good
    declared = s.view.header.declarations
    if known.missing is None or (
        known.phase is Phase.GATED and known.missing.boot != s.listing.boot
    ):
        vanished = Vanished(submission=known.submission, sent=s.listing.sent, boot=s.listing.boot)
        return Append(events=(vanished,), row="note missing")
    gated = known.phase is Phase.GATED
    wait = max(declared.call_bound, declared.save_window) if gated else declared.evidence_window
    if s.listing.sent < known.missing.sent + wait:
        moment = s.local(known.missing.sent + wait)
        return Look(
            row="await evidence", why="neither the queue nor accounting shows the object", at=moment
        )
    if gated:
        why = "the controller lost the object before its open"
        return Append(events=(Forgot(submission=known.submission, why=why),), row="start lost")
    return _judge(s, known, _vanished_verdict(known, known.missing))


def _vanished_verdict(known: ObjectView, missing: Sighting) -> Verdict:
    forgotten = known.boot != missing.boot
    cause = Cause.FORGOTTEN if forgotten else Cause.UNKNOWN
    reason = (
        "the controller has restarted and no longer knows the object"
        if forgotten
        else "all evidence is gone"
    )
    return Verdict(state=State.UNKNOWN, cause=cause, detail=Detail(reason=reason), proven=False)


def open_gate(s: Situation) -> Step | None:
    """Open the current object, its hold placed before; one that an administrator holds is left to him (12, O5)."""
    known, seen = s.view.current, s.current_seen
    if known is None or seen is None or known.phase is not Phase.GATED:
        return None
    if seen.hold is not None and seen.hold.by is By.ADMINISTRATOR:
        return Look(row="held by an administrator", why="an administrator holds the gated object")
    if step := _place_hold(s, seen):
        return step
    return Call(verb=Verb.OPEN, submission=known.submission, ref=known.ref, row="open")


def _place_hold(s: Situation, seen: Observation) -> Step | None:
    hold = s.view.hold
    # The hold for missing proof keeps the next object from being started at all; it is none of the scheduler's.
    if (
        hold is None
        or hold.by == HOLD_BY_CESSATION
        or (seen.hold is not None and seen.hold.instance == hold.instance)
    ):
        return None
    return Call(
        verb=Verb.HOLD,
        submission=seen.key.submission,
        ref=seen.ref,
        instance=hold.instance,
        why=hold.why,
        row="hold",
    )


def notice_forgetting(s: Situation) -> Step | None:
    """Notice an open or a start that the controller has forgotten; the object is never opened again (12, O3)."""
    known, seen = s.view.current, s.current_seen
    if known is None or seen is None or known.phase is not Phase.OPEN or seen.state.ended:
        return None
    why = ""
    if seen.gate is Gate.CLOSED and not _held_by_a_person_too(s, known, seen):
        why = "the controller forgot the open"
    elif known.ran is not None and seen.restarts == known.ran.restarts:
        if seen.state is State.PENDING:
            why = "the controller forgot the start"
        elif seen.started is not None and known.ran.started not in (None, seen.started):
            why = "the controller forgot the start and started it again"
    return (
        Append(events=(Forgot(submission=known.submission, why=why),), row="forgotten")
        if why
        else None
    )


def _held_by_a_person_too(s: Situation, known: ObjectView, seen: Observation) -> bool:
    """Whether a person has held what we hold: that reads as a gate beneath our hold, and only a crash can bring it back."""
    ours = seen.hold is not None and seen.hold.instance is not None
    return ours and s.listing.boot == known.opened_under


def keep_holds(s: Situation) -> Step | None:
    """Place the hold that is wanted, and lift ours that is not, on an object that waits in the queue."""
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
    if s.view.hold is None and seen.hold is not None and seen.hold.instance is not None:
        return Call(
            verb=Verb.RELEASE,
            submission=known.submission,
            ref=seen.ref,
            instance=seen.hold.instance,
            row="release",
        )
    return None


# --- its end


def judge(s: Situation) -> Step | None:
    """Judge an end that was read, once no controller can forget it any more (12, E2)."""
    known, seen = s.view.current, s.current_seen
    if known is None or seen is None or known.phase is not Phase.ENDED or known.ended is None:
        return None
    if seen.cleaning:
        return Look(row="await cleaning", why="the scheduler is still cleaning up after it")
    if not seen.final:
        return Look(
            row="await finality",
            why="its requeue bit is set: anybody may run it again until it is purged",
        )
    return _judge_when_sure(s, known, seen, known.ended)


def _judge_when_sure(s: Situation, known: ObjectView, seen: Observation, ended: Sighting) -> Step:
    sure = ended.sent + s.view.header.declarations.save_window
    if s.listing.sent < sure:
        return Look(
            row="await save window",
            why="it has ended; a crash could still undo that",
            at=s.local(sure),
        )
    return _judge(s, known, final_verdict(known, seen))


def _judge(s: Situation, known: ObjectView, verdict: Verdict) -> Step:
    """Record the verdict, what is done about it and the charge in one append (12, B1)."""
    if verdict.state is State.SUCCEEDED:
        return Append(events=(Ended(verdict=verdict),), row="judge")
    decided = decide(s.view, known, verdict, s.listing.sent)
    events: list[AnyEvent] = [decided]
    if decided.action is Action.FAIL:
        events.append(Ended(verdict=decided.verdict))
    if decided.action is Action.HOLD and s.view.hold is None:
        instance = s.view.last_instance + 1
        events.append(
            HoldAsked(instance=instance, by=f"policy: {decided.why}", why=verdict.cause or "")
        )
    return Append(events=tuple(events), row="judge")


def prove_cessation(s: Situation) -> Step | None:
    """Let the next submission wait until the last execution is proven gone (12, E4)."""
    known = s.view.current
    if known is None or known.phase is not Phase.JUDGED:
        return None
    if s.view.stop is not None:
        return Append(events=(Ended(verdict=_stopped(s)),), row="stopped between executions")
    match cease(s.view, known, s.listing):
        case None:
            return Look(row="await cessation", why=_awaited(known.awaiting))
        case datetime() as moment:
            return Look(row="await cessation", why=_awaited(known.awaiting), at=s.local(moment))
        case event:
            return Append(events=(event,), row="cessation")


def _awaited(nodes: tuple[str, ...]) -> str:
    which = (
        f"nodes {', '.join(nodes)} respond"
        if nodes
        else "all nodes where it could have run respond"
    )
    return f"no proof yet that the last execution is gone: waiting until {which}"


ROWS: tuple[Row, ...] = (
    record_what_was_read,
    stop_what_lives,
    settle_intents,
    rest,
    sweep,
    adopt,
    stop_superseded,
    wait_for_strangers,
    expire_hold,
    end_refused,
    wait_for_retry,
    note_missing,
    open_gate,
    notice_forgetting,
    keep_holds,
    judge,
    prove_cessation,
    begin,
)
"""The decision table, in order."""
