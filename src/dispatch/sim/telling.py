"""A run in words: its events, the records at its end and the ground truth, for a person who looks for what went wrong.

Moments are told as seconds since the start of the run, as in the first column of a trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, cast

from dispatch.adapters.memory.truth import ExecutionTruth, ObjectTruth
from dispatch.core.explaining import describe, explain
from dispatch.model.codec import to_builtins
from dispatch.model.journal import (
    Accepted,
    Adopted,
    Decided,
    Ended,
    Entry,
    Intended,
    Intent,
    Observed,
)
from dispatch.model.status import Observation, Verdict
from dispatch.model.view import JobView, ObjectView
from dispatch.testing.clock import START

LEFT_OUT = frozenset({"answered"})
"""When a read was answered: just after it was sent."""


def tell(entry: Entry) -> str:
    """Tell an event in one line."""
    return f"{entry.version} {type(entry.event).__name__} {' '.join(_words(entry.event))}".rstrip()


def _words(event: object) -> Iterator[str]:
    match event:
        case Accepted():
            yield f"store {event.store}"
        case Intended(intent=intent):
            yield from _of_intent(intent)
        case Observed() | Adopted():
            yield f"{event.submission}: {_shown(event.observation)}"
            yield from _fields(event, without={"submission", "observation"})
        case Decided():
            yield f"{event.submission}.{event.restarts} {event.action}: {describe(event.verdict)}"
            yield from _fields(event, without={"submission", "restarts", "action", "verdict"})
        case Ended():
            yield f"{event.verdict.state} {describe(event.verdict)}"
        case _:
            yield from _fields(event)


def _of_intent(intent: Intent) -> Iterator[str]:
    yield f"{intent.verb} {intent.submission}"
    yield from _fields(intent, without={"verb", "submission"})


def _fields(value: Any, without: Iterable[str] = ()) -> Iterator[str]:
    for name in value.__struct_fields__:
        if name in without or name in LEFT_OUT:
            continue
        told = getattr(value, name)
        if told not in (None, "", (), 0):
            yield f"{name} {_text(told)}"


def _text(value: Any) -> str:
    match value:
        case datetime():
            return f"{(value - START).total_seconds():.3f}"
        case tuple():
            return "[" + ", ".join(map(_text, cast("tuple[object, ...]", value))) + "]"
        case Verdict():
            return describe(value)
        case str():
            return _ULID.sub(":…:", str(value))
        case _:
            return str(to_builtins(value))


_ULID = re.compile(":[0-9A-HJKMNP-TV-Z]{26}:")
"""The job in a ref of the memory adapter, which is told beside it."""


def _shown(seen: Observation) -> str:
    parts = [f"{seen.state} {describe(seen.verdict)}" if seen.cause else str(seen.state)]
    parts += [f"R{seen.restarts}", f"gate {seen.gate}"]
    if seen.hold is not None:
        by = f" by {seen.hold.by}" if seen.hold.by else ""
        parts.append(f"hold {seen.hold.instance or 'of others'}{by}")
    parts += [
        word for word, said in (("cleaning", seen.cleaning), ("requeue", seen.requeue)) if said
    ]
    if seen.nodes:
        parts.append(f"on {', '.join(seen.nodes)}")
    parts += [
        f"{name} {_text(at)}"
        for name, at in (("started", seen.started), ("ended", seen.ended))
        if at is not None
    ]
    return ", ".join(parts)


def tell_view(view: JobView) -> Iterator[str]:
    """Tell what a record says, a line each."""
    told = explain(view)
    yield f"  record of {view.version} events: {told.state} {told.headline}"
    for known in view.objects.values():
        yield from _object(known)
    for one in view.intents:
        yield f"    open intent: {' '.join(_of_intent(one.intent))}, missed by {one.misses} reads"
    for name in ("hold", "stop", "retry_at", "refusal", "cessation_waived_by"):
        if (value := getattr(view, name)) is not None:
            said = (
                ", ".join(_fields(value)) if hasattr(value, "__struct_fields__") else _text(value)
            )
            yield f"    {name.replace('_', ' ')}: {said}"
    for at, decided in view.decisions:
        yield f"    decided {_text(at)}: {' '.join(_words(decided))}"


def _object(known: ObjectView) -> Iterator[str]:
    flags = [
        word
        for word, said in (("adopted", known.adopted), ("ran unseen", known.ran_unseen))
        if said
    ]
    why = f" ({known.why})" if known.why else ""
    yield f"    object {known.submission} {_text(known.ref)}: {', '.join([known.phase, *flags])}{why}"
    if known.seen is not None and known.seen_at is not None:
        yield f"      read {_text(known.seen_at)} under {known.boot}: {_shown(known.seen)}"
    for name in ("held", "ended", "missing", "stopped"):
        if (sighting := getattr(known, name)) is not None:
            yield f"      {name} since {_text(sighting.seen_by)} under {sighting.boot}"
    rest = ("opened_under", "ran_on", "awaiting", "nodes_back", "proof")
    facts = [
        f"{name.replace('_', ' ')} {_text(value)}"
        for name in rest
        if (value := getattr(known, name))
    ]
    if facts:
        yield f"      {', '.join(facts)}"


def tell_truth(truth: ObjectTruth) -> Iterator[str]:
    """Tell what truly is, and was, of an object of the cluster, a line each."""
    shown = _shown(truth.observation) if truth.observation is not None else "shown nowhere"
    yield f"  truth of {_text(truth.ref)}: {shown}"
    facts = [f"begin {truth.begin}"] if truth.begin is not None else []
    facts += [f"held by {truth.held_by}"] if truth.held_by else []
    facts += [f"our hold {truth.hold_instance}"] if truth.hold_instance is not None else []
    facts += [f"cancelled by {truth.cancelled_by}"] if truth.cancelled_by else []
    facts += [
        word
        for word, said in (
            ("not in the queue", not truth.queued),
            ("forgotten by the controller", truth.forgotten),
            ("requeue bit", truth.requeue),
        )
        if said
    ]
    if facts:
        yield f"    {', '.join(facts)}"
    yield from map(_execution, truth.executions)


def _execution(truth: ExecutionTruth) -> str:
    ended = f"ended {_text(truth.ended)}" if truth.ended is not None else "has not ended"
    how = [f"cause {truth.cause}"] if truth.cause else []
    how += [f"program {truth.end}"] if truth.end else []
    how += [f"alive on {', '.join(truth.alive)}"] if truth.alive else []
    told = ", ".join([f"started {_text(truth.started)}", ended, *how])
    return f"    execution {truth.epoch} on {', '.join(truth.nodes)}: {told}"
