"""What must not live: stopped by a person's request, superseded, orphaned, or of uncertain state."""

from __future__ import annotations

from dispatch.core.situation import Situation, is_gone, known_as, sweepable
from dispatch.model.journal import Ended, Verb
from dispatch.model.status import Cause, Detail, Observation, State, Verdict
from dispatch.model.steps import Append, Call, Look, Rest, Step
from dispatch.model.view import JobView, Phase


def stop_what_lives(s: Situation) -> Step | None:
    """After a request to stop, stop every object of ours, beside an open intent too (12, E2 and E3)."""
    if s.view.stop is None or s.view.verdict is not None:
        return None
    return _stop_first(s, s.ours, "a stop was asked for")


def _stop_first(s: Situation, victims: list[Observation], why: str) -> Call | None:
    stopping = {known.intent.ref for known in s.view.intents if known.intent.verb is Verb.STOP}
    for seen in victims:
        # An ended object whose requeue bit is set can be stopped no further; it is waited for.
        if seen.ref not in stopping and not seen.state.ended and not s.waits_for_retry:
            return Call(
                verb=Verb.STOP, submission=seen.key.submission, ref=seen.ref, why=why, row="stop"
            )
    return None


def rest(s: Situation) -> Step | None:
    """An ended job is done, but for what lives of it: orphans, and what a controller that crashed brought back (12, T1)."""
    if s.view.verdict is None:
        return None
    alive = [seen for seen in s.ours if not seen.state.ended]
    if not alive:
        return Rest()
    return _stop_first(s, alive, "the job has ended") or Look(
        row="await stop", why=s.view.retry_why, at=s.retry
    )


def sweep(s: Situation) -> Step | None:
    """Stop the gated objects of ours that the record has superseded, or never learnt of while starting (12, T1)."""
    return _stop_first(
        s, [seen for seen in s.ours if sweepable(s.view, seen)], "superseded, and never opened"
    )


def stop_superseded(s: Situation) -> Step | None:
    """Stop what is live though its verdict is recorded, a later submission exists, or a write of it is uncertain.

    What is wanted instead is never written onto such an object: the job goes on as the next submission (12, E7).
    """
    victims = [seen for seen in s.ours if not seen.state.ended and _is_superseded(s.view, seen)]
    return _stop_first(s, victims, "superseded, or a write of it is uncertain") or (
        Look(row="await stop", why=s.view.retry_why or "an object is being stopped", at=s.retry)
        if victims
        else None
    )


def _is_superseded(view: JobView, seen: Observation) -> bool:
    known = known_as(view, seen)
    if known is None:
        # Another object has its number: it can be neither adopted nor opened, and would wait for ever. One that runs comes to its end.
        return seen.key.submission in view.objects and seen.state is State.PENDING
    return known.settled or known.phase is Phase.TAINTED or known is not view.current


def wait_for_others(s: Situation) -> Step | None:
    """Any other object of the job that may live or run again blocks it: it counts as a live execution (12, O1 and E1)."""
    for seen in s.listing.observations:
        known = known_as(s.view, seen)
        if is_gone(seen) or (known is not None and known is s.view.current and not known.settled):
            continue
        if known is None and not seen.state.ended:
            why = f"object {seen.ref}, which this record does not know, is live"
        else:
            why = f"object {seen.ref} has ended, but is not cleaned up or may run again"
        return Look(row="blocked by another object", why=why)
    return None


def stopped(s: Situation, row: str) -> Step | None:
    """End a job that a person has asked to stop and of which nothing is left that could run."""
    stop = s.view.stop
    if stop is None:
        return None
    detail = Detail(who=stop.by, reason=stop.why or None)
    verdict = Verdict(state=State.CANCELLED, cause=Cause.STOPPED, detail=detail)
    return Append(events=(Ended(verdict=verdict),), row=row)
