"""The end of the current object: noticed, judged, and proven to be one."""

from __future__ import annotations

from datetime import datetime

from dispatch.core.ceasing import awaited, begin_kill_wait, cease
from dispatch.core.recovery import decide
from dispatch.core.situation import Situation, final_verdict
from dispatch.core.stopping import stopped
from dispatch.model.answers import Action
from dispatch.model.journal import AnyEvent, Ended, Forgot, HoldAsked, Proof, Vanished
from dispatch.model.status import Cause, Detail, Observation, State, Verdict
from dispatch.model.steps import Append, Look, Step
from dispatch.model.view import ObjectView, Phase, Sighting


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
        vanished = Vanished(
            submission=known.submission,
            sent=s.listing.sent,
            boot=s.listing.boot,
            answered=s.listing.answered,
        )
        return Append(events=(vanished,), row="note missing")
    gated, deleted = known.phase is Phase.GATED, _is_deleted(s, known, known.missing)
    brief = max(declared.call_bound, declared.save_window)
    wait = brief if gated or deleted else declared.evidence_window
    if s.listing.sent < known.missing.seen_by + wait:
        moment = s.local(known.missing.seen_by + wait)
        return Look(
            row="await evidence", why="neither the queue nor accounting shows the object", at=moment
        )
    if gated:
        why = "the controller lost the object before its open"
        return Append(events=(Forgot(submission=known.submission, why=why),), row="start lost")
    if deleted:
        return _judge(s, known, final_verdict(known, _DELETED))
    return _judge(s, known, _vanished_verdict(s, known, known.missing))


def _is_deleted(s: Situation, known: ObjectView, missing: Sighting) -> bool:
    """Whether our stop has deleted the object, as on a scheduler where a stop does: then it is final, and gone by its ref.

    It lived when the stop was decided on, by a read that was sent before. An end of its own would still be shown within the
    evidence window, so that one which is gone sooner, under the same boot, was deleted (12, E2).
    """
    if known.stopped is None or known.stopped.boot != missing.boot:
        return False
    declared = s.view.header.declarations
    return missing.sent + declared.call_bound < known.stopped.sent + declared.evidence_window


_DELETED = Verdict(
    state=State.CANCELLED,
    cause=Cause.CANCELLED,
    detail=Detail(reason="it was stopped, and is gone sooner than an end of its own would be"),
)


def _vanished_verdict(s: Situation, known: ObjectView, missing: Sighting) -> Verdict:
    """Nobody knows what became of it, unless it vanished with its controller, too soon to be anything but forgotten."""
    window = s.view.header.declarations.evidence_window
    forgotten = (
        known.boot != missing.boot
        and known.seen_at is not None
        and missing.sent < known.seen_at + window
    )
    cause = Cause.FORGOTTEN if forgotten else Cause.UNKNOWN
    reason = (
        "the controller has restarted and no longer knows the object"
        if forgotten
        else "all evidence is gone"
    )
    return Verdict(state=State.UNKNOWN, cause=cause, detail=Detail(reason=reason), proven=False)


def note_nodes_back(s: Situation) -> Step | None:
    """Let the kill wait pass beside the save window, where another execution is to follow (12, E4)."""
    back = begin_kill_wait(s.view, s.listing)
    return None if back is None else Append(events=(back,), row="nodes back")


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
    sure = ended.seen_by + s.view.header.declarations.save_window
    if s.listing.sent < sure:
        return Look(
            row="await save window",
            why="it has ended; a crash could still undo that",
            at=s.local(sure),
        )
    return _judge(s, known, final_verdict(known, seen.verdict))


def _judge(s: Situation, known: ObjectView, verdict: Verdict) -> Step:
    """Record the verdict, what is done about it and the charge in one append (12, B1)."""
    if verdict.state is State.SUCCEEDED:
        return Append(events=(Ended(verdict=verdict),), row="judge")
    decided = decide(s.view, known, verdict, s.listing.sent)
    events: list[AnyEvent] = [decided]
    if decided.action is Action.FAIL:
        events.append(Ended(verdict=decided.verdict))
    # A hold that ends by itself does not do for one that wants a person.
    if decided.action is Action.HOLD and (s.view.hold is None or s.view.hold.until is not None):
        instance = s.view.last_instance + 1
        events.append(
            HoldAsked(instance=instance, by=f"policy: {decided.why}", why=verdict.cause or "")
        )
    return Append(events=tuple(events), row="judge")


def learn_of_success(s: Situation) -> Step | None:
    """End the job where an execution that was given up came to its own success before any other could run (12, E6).

    A lost node may finish its work while its cessation is waited for; only its end ticket tells.
    """
    for _, known in sorted(s.view.objects.items(), reverse=True):
        if not known.spent or known.proof is Proof.NEVER_RAN:
            continue  # it has never run: what of it still waits is stopped once the job has ended
        seen = next((seen for seen in s.ours if seen.ref == known.ref), None)
        if not known.settled or seen is None or seen.state is not State.SUCCEEDED:
            return None
        return Append(events=(Ended(verdict=seen.verdict),), row="late success")
    return None


def prove_cessation(s: Situation) -> Step | None:
    """Let the next start or open wait until every earlier execution is proven gone (12, E4)."""
    known, current = awaited(s.view), s.view.current
    if known is None or (known is not current and not _goes_on(current)):
        return None
    if step := stopped(s, "stopped between executions"):
        return step
    match cease(s.view, known, s.listing):
        case None:
            return Look(row="await cessation", why=_awaited(known))
        case datetime() as moment:
            return Look(row="await cessation", why=_awaited(known), at=s.local(moment))
        case event:
            return Append(events=(event,), row="cessation")


def _goes_on(current: ObjectView | None) -> bool:
    """Whether what comes next is to open the current object, to start another, or to end."""
    return current is not None and current.phase in (
        Phase.GATED,
        Phase.JUDGED,
        Phase.CEASED,
    )


def _awaited(known: ObjectView) -> str:
    if known.nodes_back is not None:
        return "no proof yet that the last execution is gone: its nodes respond, and have yet to kill what they should not run"
    which = (
        f"nodes {', '.join(known.awaiting)} respond"
        if known.awaiting
        else "all nodes where it could have run respond"
    )
    return f"no proof yet that the last execution is gone: waiting until {which}"
