"""What the fold made of each event, by name: every case in which it does one thing rather than another.

The moves of objects are counted apart (``coverage``), by the phase that each starts from.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dispatch.model.answers import Action
from dispatch.model.journal import (
    Adopted,
    AnyEvent,
    Awaiting,
    Ceased,
    Decided,
    Forgot,
    HoldAsked,
    Intended,
    Missed,
    Observed,
    Outcome,
    Proof,
    ReleaseAsked,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.policy import HOLD_BY_CESSATION
from dispatch.model.status import Gate
from dispatch.model.view import JobView, Phase


def cases_of(before: JobView, event: AnyEvent, after: JobView) -> Iterator[str]:
    """Name what the fold made of an event, and for what reason a read settled a write."""
    kind = type(event).__name__
    what: str | None = None
    match event:
        case Intended(intent=intent):
            what = intent.verb
        case Settled():
            yield from _settled(before, event, after)
            return
        case Missed():
            what = _missed(before, event)
        case Observed():
            what = _observed(before, event)
        case Vanished(submission=n):
            what = AGAIN if before.objects[n].missing else FIRST
        case Forgot(submission=n):
            what = "never opened" if before.objects[n].phase is Phase.GATED else "opened"
        case Decided():
            what = _decided(event)
        case Awaiting(submission=n):
            what = AGAIN if before.objects[n].awaiting_since else FIRST
        case Ceased(proof=proof):
            if before.hold and not after.hold:
                yield "Ceased: its hold is lifted"
            what = proof
        case Adopted(submission=n, observation=seen):
            if n in before.objects:
                yield "Adopted: in the place of another"
            what = "gated" if seen.gate is Gate.CLOSED else "open"
        case HoldAsked() | ReleaseAsked() | StopAsked():
            what = _asked(before, event)
        case _:
            pass
    yield f"{kind}: {what}" if what else kind


FIRST, AGAIN = "the first", "again"


def _settled(before: JobView, event: Settled, after: JobView) -> Iterator[str]:
    known = next((one.intent for one in before.intents if one.intent.id == event.intent), None)
    if known is None:
        doubted = any(event.intent in one.opens for one in before.objects.values())
        late = doubted and event.outcome in (Outcome.LANDED, Outcome.UNKNOWN)
        yield f"Settled: late, {f'an open {event.outcome} after all' if late else 'and nothing new'}"
        return
    yield f"Settled: {known.verb} {event.outcome}"
    if event.retry_at is not None:
        yield f"Settled: {'to be tried again' if after.retry_at else 'not tried again, after a stop'}"
    if event.reason.startswith("read back"):
        yield f"settle: {known.verb} {event.reason}"
    elif event.reason.endswith("reads do not show it"):
        yield f"settle: {known.verb} did not land"
    elif event.outcome is Outcome.UNKNOWN:
        yield f"settle: {known.verb} unknown, {event.reason}"


def _missed(before: JobView, event: Missed) -> str:
    known = next((one for one in before.intents if one.intent.id == event.intent), None)
    if known is None:
        return "late"
    if known.missed is None:
        return FIRST
    return AGAIN if known.missed.boot == event.boot else "under another boot"


def _observed(before: JobView, event: Observed) -> str:
    ended = before.objects[event.submission].ended
    if not event.observation.state.ended:
        return "alive" if ended is None else "alive after its end"
    if ended is None:
        return "ended"
    return "ended still" if ended.boot == event.boot else "ended, under another boot"


def _decided(event: Decided) -> str:
    if event.action is not Action.RESUBMIT:
        return event.action
    return f"{event.action}, {'charged' if event.budget else 'at no charge'}"


def _asked(before: JobView, event: HoldAsked | ReleaseAsked | StopAsked) -> str:
    hold = before.hold
    match event:
        case HoldAsked():
            if event.by == HOLD_BY_CESSATION:
                return "for want of proof"
            return "in the place of another" if hold else FIRST
        case ReleaseAsked():
            if hold is None or hold.instance != event.instance:
                return "of a hold that is gone"
            return "instead of proof" if hold.by == HOLD_BY_CESSATION else "of the hold"
        case StopAsked():
            return AGAIN if before.stop else FIRST


def all_cases() -> frozenset[str]:
    """Every case, as ``cases_of`` names them."""
    kinds = {
        "Intended": (*Verb,),
        "Settled": (
            *(f"{verb} {outcome}" for verb, outcome in product(Verb, Outcome)),
            "late, an open landed after all",
            "late, an open unknown after all",
            "late, and nothing new",
            "to be tried again",
            "not tried again, after a stop",
        ),
        "settle": (
            *(f"{verb} {what}" for verb, what in product(Verb, ("read back", "did not land"))),
            *(f"{verb} read back before" for verb in (Verb.OPEN, Verb.STOP)),
            "open unknown, the controller restarted meanwhile",
            *(f"{verb} unknown, its object is gone" for verb in (Verb.OPEN, Verb.STOP)),
        ),
        "Missed": (FIRST, AGAIN, "under another boot", "late"),
        "Observed": (
            "alive", "alive after its end", "ended", "ended still", "ended, under another boot",
        ),
        "Vanished": (FIRST, AGAIN),
        "Forgot": ("never opened", "opened"),
        "Decided": ("resubmit, charged", "resubmit, at no charge", "hold", "fail"),
        "Awaiting": (FIRST, AGAIN),
        "Ceased": (*Proof, "its hold is lifted"),
        "Adopted": ("gated", "open", "in the place of another"),
        "HoldAsked": (FIRST, "in the place of another", "for want of proof"),
        "ReleaseAsked": ("of the hold", "of a hold that is gone", "instead of proof"),
        "StopAsked": (FIRST, AGAIN),
    }  # fmt: skip
    named = {f"{kind}: {what}" for kind, whats in kinds.items() for what in whats}
    return frozenset({*named, "NodesBack", "BoundsGrew", "Ended"})
