"""What must hold beside the plain words of S1 to S9: the rules of the protocol whose breach costs no second copy at once.

Each is a pure function of a history and of what has just been added to it, as in ``invariants``, under the number that it
sharpens. It answers what is broken, or nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from dispatch.model.answers import Action, Declarations
from dispatch.model.journal import (
    BoundsGrew,
    Ceased,
    Decided,
    Ended,
    Intended,
    Intent,
    Missed,
    Observed,
    Outcome,
    Proof,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.status import Cause, State
from dispatch.sim import policy_rules
from dispatch.sim.history import Begun, History, Told, Written
from dispatch.sim.invariants import opened_by_a_person


def _intents(history: History) -> Iterator[tuple[Told, Intent]]:
    for told in history.told(Intended):
        if isinstance(told.event, Intended):
            yield told, told.event.intent


def _did_not_land(history: History) -> set[str]:
    """The ids of the intents that are recorded as without any effect: landed beats not landed, in any order (12, R4)."""
    without, with_effect = set[str](), set[str]()
    for event in history.events(Settled):
        refused = event.outcome in (Outcome.NOT_LANDED, Outcome.BUSY, Outcome.REJECTED)
        (without if refused else with_effect).add(event.intent)
    return without - with_effect


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


# --- restated: what costs nothing at once, since another rule makes up for it


def _declared(history: History) -> Declarations:
    """The bounds of the header, as wide as they have grown (12, T5)."""
    declared = history.header.declarations
    for grown in history.events(BoundsGrew):
        declared = declared.widened(grown.declarations)
    return declared


def _intent_of(history: History, number: str) -> Intent | None:
    return next((intent for _, intent in _intents(history) if intent.id == number), None)


def read_before_its_bound(history: History, new: Written) -> str | None:
    """S8: a read tells that a write did not land only after its landing bound, by the clock that checked it (12, R3)."""
    event = new.entry.event
    if not isinstance(event, Missed) or history.set_back:
        return None
    intent, declared = _intent_of(history, event.intent), _declared(history)
    if intent is None:
        return None
    bound = intent.deadline + declared.call_bound + declared.clock_skew
    if event.sent > bound:
        return None
    return f"a read {bound - event.sent} before its landing bound tells that {intent.verb} did not land"


def settled_by_too_few_reads(history: History, new: Written) -> str | None:
    """S8: so many reads as are declared tell so, all under one boot, each a call bound after the one before (12, R2)."""
    event = new.entry.event
    if (
        not isinstance(event, Settled)
        or event.outcome is not Outcome.NOT_LANDED
        or not (event.reason or "").endswith("reads do not show it")
        or history.set_back
    ):
        return None
    declared = _declared(history)
    missed = [one for one in history.events(Missed) if one.intent == event.intent]
    boots = [one.boot for one in missed]
    last = missed[-(declared.settling_reads - 1) :]
    if len(last) < declared.settling_reads - 1 or len({*boots[-len(last) :]}) > 1:
        return f"{len(missed) + 1} reads settle what takes {declared.settling_reads} under one boot"
    reads = [*((one.sent, one.answered or one.sent) for one in last)]
    for (_, before), (after, _) in itertools.pairwise(reads):
        if after < before + declared.call_bound:
            return f"two reads, {after - before} apart, are taken for two"
    return None


def wrote_beside_an_open_write(history: History, new: Written) -> str | None:
    """S2: while the outcome of a write is unknown nothing else is written, but the stop that a person asked for (12, E3)."""
    event = new.entry.event
    if not isinstance(event, Intended) or history.set_back:
        return None
    settled = {one.intent for one in history.events(Settled)}
    still = [i for _, i in _intents(history) if i is not event.intent and i.id not in settled]
    asked = event.intent.verb is Verb.STOP and history.told(StopAsked)
    for one in still:
        if not asked or (one.verb, one.ref) == (Verb.STOP, event.intent.ref):
            return f"{event.intent.verb} was intended while the outcome of {one.verb} is unknown"
    return None


def judged_within_the_save_window(history: History, new: Written) -> str | None:
    """S6: an end is judged a save window after it was first read, under the boot that is up (12, E2)."""
    one = new.entry.event
    if not isinstance(one, Decided) or history.set_back:
        return None
    reads = [e for e in history.events(Observed) if e.submission == one.submission]
    first = None
    for read in reversed(reads):
        if not read.observation.state.ended or read.boot != reads[-1].boot:
            break
        first = read
    if first is None:
        return None
    sure = (first.answered or first.sent) + _declared(history).save_window
    if new.at + history.skew >= sure:
        return None
    return f"the end of submission {one.submission} is judged {sure - new.at} before it is sure"


def judged_before_evidence_could_come(history: History, new: Written) -> str | None:
    """S8: what is not shown any more is given up once evidence of its end has had the time to come, and no earlier."""
    one = new.entry.event
    if not isinstance(one, Decided) or one.verdict.state is not State.UNKNOWN or history.set_back:
        return None
    gone = [told for told in history.told(Vanished) if _is_of(told, one.submission)]
    read = [told.place for told in history.told(Observed) if _is_of(told, one.submission)]
    if not gone or max(read, default=0) > gone[-1].place:
        return None
    vanished = gone[-1].event
    assert isinstance(vanished, Vanished)
    due = (vanished.answered or vanished.sent) + _declared(history).evidence_window
    if new.at + history.skew >= due:
        return None
    return f"submission {one.submission} is given up {due - new.at} before its evidence had to come"


def _is_of(told: Told, submission: int) -> bool:
    return isinstance(told.event, Observed | Vanished) and told.event.submission == submission


def proved_wrongly(history: History, new: Written) -> str | None:
    """S1: what is recorded as proven to be gone has no process left (12, E4)."""
    event = new.entry.event
    if not isinstance(event, Ceased) or event.proof is Proof.ASSUMED_GONE:
        return None
    seen = history.recorded.get(event.submission)
    for begun in history.begun if seen else ():
        execution = begun.execution
        if execution.live and seen and begun.ref == seen.ref:
            nodes = ", ".join(sorted(execution.alive))
            return f"submission {event.submission} is proven gone ({event.proof}), and lives on {nodes}"
    return None


ON_WRITTEN = (
    (Decided, "S4", charged_for_nothing),
    (Decided, "S4", did_another_thing),
    (Settled, "S8", is_wrong_about_an_open),
    (Intended, "S5", opened_again),
    (Intended, "S8", went_on_after_a_success),
    (Settled, "liveness", waited_with_a_stop),
    (Missed, "S8", read_before_its_bound),
    (Settled, "S8", settled_by_too_few_reads),
    (Intended, "S2", wrote_beside_an_open_write),
    (Decided, "S6", judged_within_the_save_window),
    (Decided, "S8", judged_before_evidence_could_come),
    (Ceased, "S1", proved_wrongly),
    *policy_rules.ON_WRITTEN,
)
