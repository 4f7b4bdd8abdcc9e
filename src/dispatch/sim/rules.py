"""What must hold beside the plain words of S1 to S9: the rules of the protocol whose breach costs no second copy at once.

Each is a pure function of a history and of what has just been added to it, as in ``invariants``, under the number that it
sharpens. It answers what is broken, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatch.model.answers import Action
from dispatch.model.journal import (
    Decided,
    Ended,
    Intended,
    Intent,
    Observed,
    Outcome,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.status import Cause
from dispatch.sim.history import Begun, History, Told, Written
from dispatch.sim.invariants import opened_by_a_person


def _intents(history: History) -> Iterator[tuple[Told, Intent]]:
    for told in history.told(Intended):
        if isinstance(told.event, Intended):
            yield told, told.event.intent


def _did_not_land(history: History) -> set[str]:
    """The ids of the intents that are recorded as without any effect, now and ever."""
    last = {event.intent: event.outcome for event in history.events(Settled)}
    refused = (Outcome.NOT_LANDED, Outcome.BUSY, Outcome.REJECTED)
    return {intent for intent, outcome in last.items() if outcome in refused}


def made_though_not_landed(history: History, attempt: str) -> str | None:
    """S8: what is recorded as a start that did not land never lands (12, R2 and R3)."""
    refused = _did_not_land(history)
    for _, intent in _intents(history):
        if intent.verb is Verb.START and intent.attempt == attempt and intent.id in refused:
            return (
                f"the start of submission {intent.submission} lands, and is recorded as not landed"
            )
    return None


def began_though_not_opened(history: History, new: Begun) -> str | None:
    """S2: nothing runs of which every Open is recorded as not landed (12, R2 to R4)."""
    refused = _did_not_land(history)
    opens = [
        intent.id
        for _, intent in _intents(history)
        if intent.verb is Verb.OPEN and intent.ref == new.ref
    ]
    if not opens or not refused.issuperset(opens):
        return None
    if opened_by_a_person(history, new.ref):
        return None
    return f"{new.ref} runs, and each Open of it is recorded as not landed"


def is_wrong_about_an_open(history: History, new: Written) -> str | None:
    """S8: an Open after which its object has run is not recorded as not landed (12, O2)."""
    event = new.entry.event
    if not isinstance(event, Settled) or event.outcome is not Outcome.NOT_LANDED:
        return None
    opens = {i.id: i for _, i in _intents(history) if i.verb is Verb.OPEN}
    opened = opens.get(event.intent)
    if opened is None or opened.ref in history.opened_by_hand or history.set_back:
        return None
    ran = any(begun.ref == opened.ref for begun in history.begun)
    others = {i.id for i in opens.values() if i.ref == opened.ref} - _did_not_land(history)
    return (
        f"{opened.ref} has run, and each Open of it is recorded as not landed"
        if ran and not others
        else None
    )


def did_another_thing(history: History, new: Written) -> str | None:
    """S4: what a rule holds or fails is not run again."""
    one, policy = new.entry.event, history.header.job.policy
    if not isinstance(one, Decided) or one.rule is None or one.action is not Action.RESUBMIT:
        return None
    rule = policy.rules[one.rule] if policy else None
    if rule is None or Action.RESUBMIT in (rule.do, rule.or_else):
        return None
    return f"rule {one.rule + 1} says {rule.do}, and the job is run again"


def opened_again(history: History, new: Written) -> str | None:
    """S5: what has run is not opened again: its epoch would repeat (12, O3)."""
    event = new.entry.event
    if not isinstance(event, Intended) or event.intent.verb is not Verb.OPEN or history.set_back:
        return None
    ref = event.intent.ref
    if ref in history.opened_by_hand or all(begun.ref != ref for begun in history.begun):
        return None
    return f"{ref} has run, and is opened again"


def charged_for_nothing(history: History, new: Written) -> str | None:
    """S4: a fault of the controller, and a launch that was refused, are charged to nobody (12, O4 and B1)."""
    one = new.entry.event
    if not isinstance(one, Decided) or one.verdict.cause not in (Cause.FENCED, Cause.FORGOTTEN):
        return None
    if one.action is Action.FAIL and not history.told(StopAsked):
        return f"{one.verdict.cause} ends the job"
    return None if one.budget is None else f"{one.verdict.cause} is charged to {one.budget}"


def went_on_after_a_success(history: History, new: Written) -> str | None:
    """S8: who has read that the newest execution succeeded lets nothing run any more (12, E6)."""
    event = new.entry.event
    if not isinstance(event, Intended) or event.intent.verb not in (Verb.START, Verb.OPEN):
        return None
    ref = history.successes.get(new.entry.actor.host)
    if ref is None or ref == event.intent.ref or history.set_back:
        return None
    opened = [intent for _, intent in _intents(history) if intent.verb is Verb.OPEN]
    newest = max((i.submission for i in opened if i is not event.intent), default=0)
    if not any(i.ref == ref and i.submission == newest for i in opened):
        return None
    return f"{event.intent.verb} was intended, though {ref} was read to have succeeded"


def waited_with_a_stop(history: History, new: Written) -> str | None:
    """Liveness: a stop is not kept waiting by the unknown outcome of an open (12, E3)."""
    event = new.entry.event
    if not isinstance(event, Settled) or event.reason != "read back" or not history.told(StopAsked):
        return None
    asked = history.told(StopAsked)[0].place
    opened = next(
        ((told, i) for told, i in _intents(history) if i.id == event.intent), (None, None)
    )
    told, intent = opened
    if told is None or intent is None or intent.verb is not Verb.OPEN or told.place > asked:
        return None
    seen = [e for e in history.events(Observed) if e.submission == intent.submission]
    if history.set_back or history.told(Ended) or (seen and seen[-1].observation.state.ended):
        return None
    if any(i.verb is Verb.STOP for told, i in _intents(history) if told.place > asked):
        return None
    return f"the stop of submission {intent.submission} waited until its open was settled"


ON_WRITTEN = (
    (Decided, "S4", charged_for_nothing),
    (Decided, "S4", did_another_thing),
    (Settled, "S8", is_wrong_about_an_open),
    (Intended, "S5", opened_again),
    (Intended, "S8", went_on_after_a_success),
    (Settled, "liveness", waited_with_a_stop),
)
