"""The history of a job in sentences: each event of its record, with the evidence that it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple, assert_never

from dispatch.core.explaining import describe
from dispatch.model.answers import Declarations
from dispatch.model.journal import (
    Accepted,
    Adopted,
    AnyEvent,
    Awaiting,
    BoundsGrew,
    Ceased,
    Decided,
    Ended,
    Entry,
    Forgot,
    HoldAsked,
    Intended,
    Intent,
    Missed,
    NodesBack,
    Observed,
    Outcome,
    Proof,
    ReleaseAsked,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.status import Evidence, Observation, Verdict

PROOFS = {
    Proof.CLEANED: "the scheduler has cleaned up on every node",
    Proof.NODES_BACK: "its nodes have responded since, for as long as they need to kill what they should not run",
    Proof.NEVER_RAN: "it never ran",
    Proof.ASSUMED_GONE: "assumed, not proven",
}
OUTCOMES = {
    Outcome.LANDED: "landed",
    Outcome.NOT_LANDED: "did not land",
    Outcome.BUSY: "refused for now",
    Outcome.REJECTED: "refused for good",
    Outcome.UNKNOWN: "has an outcome that nobody can tell any more",
}


class Told(NamedTuple):
    """One event in words: when, who wrote it, one sentence, and the evidence that it rests on."""

    at: datetime
    by: str
    text: str
    evidence: tuple[str, ...] = ()


def tell_history(entries: Iterable[Entry]) -> list[Told]:
    """Tell every event of a record, in order."""
    intents: dict[str, Intent] = {}
    told: list[Told] = []
    known: set[str] = set()
    for entry in entries:
        if isinstance(entry.event, Intended):
            intents[entry.event.intent.id] = entry.event.intent
        by = f"{entry.actor.user}@{entry.actor.host}"
        # A verdict rests on what was observed just before; it is told once.
        evidence = tuple(fact for fact in evidence_of(entry.event) if fact not in known)
        known.update(evidence)
        told.append(Told(entry.at, by, tell(entry.event, intents), evidence))
    return told


def tell(event: AnyEvent, intents: dict[str, Intent]) -> str:
    """Tell one event; the intents are those before it, by id."""
    match event:
        case Accepted():
            return f"accepted for the cluster {event.cluster.alias} ({event.cluster.adapter})"
        case Intended():
            return _intended(event.intent)
        case Settled() | Missed():
            return _settled(event, intents.get(event.intent))
        case Observed() | Vanished() | Forgot() | Adopted():
            return _seen(event)
        case Decided():
            return _decided(event)
        case Awaiting() | NodesBack() | Ceased():
            return _ceasing(event)
        case BoundsGrew():
            return _bounds(event.declarations)
        case HoldAsked() | ReleaseAsked() | StopAsked():
            return _asked(event)
        case Ended():
            return f"the job ended: {verdict_words(event.verdict)}"
        case _:
            assert_never(event)


def _bounds(declared: Declarations) -> str:
    return (
        f"the bounds that count from here on: a call takes at most {declared.call_bound}, the controller forgets at most "
        f"{declared.save_window}, evidence stays {declared.evidence_window}, a kill takes {declared.kill_wait}, clocks "
        f"differ by {declared.clock_skew}"
    )


def evidence_of(event: AnyEvent) -> tuple[str, ...]:
    """List the evidence that an event rests on, a line each."""
    match event:
        case Observed() | Adopted():
            return tuple(map(_fact, event.observation.verdict.evidence))
        case Decided() | Ended():
            return tuple(map(_fact, event.verdict.evidence))
        case _:
            return ()


def verdict_words(verdict: Verdict) -> str:
    """Tell a verdict: its state, and its cause with what belongs to it."""
    if verdict.cause is None and verdict.proven:
        return str(verdict.state)
    words = describe(verdict)
    return words if words.startswith(verdict.state) else f"{verdict.state}, {words}"


def moment(at: datetime) -> str:
    """Write a moment as RFC 3339 in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _fact(evidence: Evidence) -> str:
    return f"{evidence.source} says {evidence.field}={evidence.value} at {moment(evidence.read_at)}"


def _intended(intent: Intent) -> str:
    which = f" (instance {intent.instance})" if intent.instance is not None else ""
    return f"about to {intent.verb} submission {intent.submission}{which}, by {moment(intent.deadline)} at the latest"


def _settled(event: Settled | Missed, intent: Intent | None) -> str:
    call = f"the {intent.verb} of submission {intent.submission}" if intent else "a call"
    if isinstance(event, Missed):
        return f"a read after the last moment of {call} does not show it"
    text = f"{call} {OUTCOMES[event.outcome]}"
    if event.ref is not None and intent is not None and intent.verb is Verb.START:
        text += f", as {event.ref}"
    return text + (f": {event.reason}" if event.reason else "")


def _seen(event: Observed | Vanished | Forgot | Adopted) -> str:
    match event:
        case Observed():
            return f"submission {event.submission}: {_observation(event.observation)}"
        case Vanished():
            return f"submission {event.submission} is not shown by the scheduler, which proves nothing yet"
        case Forgot():
            return f"the controller forgot what it had acknowledged of submission {event.submission}: {event.why}"
        case Adopted():
            where = event.observation.ref
            return f"found {where} of submission {event.submission}, which the record did not know, and adopted it"


def _observation(seen: Observation) -> str:
    text = verdict_words(seen.verdict)
    if seen.nodes:
        text += f" on {', '.join(seen.nodes)}"
    if seen.restarts:
        text += f", restart {seen.restarts}"
    return text + (", its processes are being cleaned up" if seen.cleaning else "")


def _decided(event: Decided) -> str:
    text = f"execution {event.submission}.{event.restarts} ended: {verdict_words(event.verdict)}; decided: {event.action}"
    if event.rule is not None:
        text += f" by rule {event.rule + 1}"
    if event.due is not None:
        text += f", not before {moment(event.due)}"
    if event.exclude:
        text += f", without {', '.join(event.exclude)}"
    # By which rule is said above; every other reason is not.
    why = event.why if event.rule is None or event.why != f"rule {event.rule + 1}" else ""
    return text + (f" ({why})" if why else "")


def _ceasing(event: Awaiting | NodesBack | Ceased) -> str:
    match event:
        case Awaiting():
            where = ", ".join(event.nodes) or "its nodes"
            return f"no proof yet that submission {event.submission} is gone; awaited from {where}"
        case NodesBack():
            return f"every node of submission {event.submission} responds after its end"
        case Ceased():
            why = f" ({event.why})" if event.why else ""
            return f"submission {event.submission} is gone: {PROOFS[event.proof]}{why}"


def _asked(event: HoldAsked | ReleaseAsked | StopAsked) -> str:
    match event:
        case HoldAsked():
            until = f" until {moment(event.until)}" if event.until else ""
            return (
                f"{event.by} wants it held{until} (instance {event.instance}){_because(event.why)}"
            )
        case ReleaseAsked():
            return f"{event.by} lifts hold {event.instance}"
        case StopAsked():
            return f"{event.by} wants it to end{_because(event.why)}"


def _because(why: str) -> str:
    return f": {why}" if why else ""
