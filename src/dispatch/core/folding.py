"""Fold a record into the view of its job."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_never

from msgspec.structs import replace

from dispatch.core.automaton import MOVES, OPEN_MOVES, Move
from dispatch.core.sighting import (
    PUT_BACK,
    has_run,
    hold_of,
    move_by,
    nodes_with,
    shows_the_same_hold,
    shows_the_same_run,
    skips_a_run,
    waits_for_the_same,
)
from dispatch.model.answers import Action
from dispatch.model.epoch import SCALE
from dispatch.model.errors import CorruptRecord
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
    ReleaseAsked,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.policy import HOLD_BY_CESSATION
from dispatch.model.status import Gate, Observation
from dispatch.model.view import Hold, JobView, ObjectView, OpenIntent, Phase, Sighting, Stop


def fold(entries: Iterable[Entry], view: JobView | None = None) -> JobView:
    """Fold the entries, in order, onto a view; ``CorruptRecord`` names the first that cannot follow.

    With no view the entries begin with the header; otherwise with the version after the view's.
    """
    for entry in entries:
        expected = view.version + 1 if view else 1
        if entry.version != expected:
            raise CorruptRecord(
                f"The record goes on with version {entry.version} where {expected} is due."
            )
        if view is None:
            view = _begin(entry)
        else:
            view = replace(_apply(view, entry), version=entry.version)
    if view is None:
        raise CorruptRecord("The record is empty.")
    return view


def _begin(entry: Entry) -> JobView:
    if not isinstance(entry.event, Accepted):
        raise CorruptRecord(f"The record begins with {_name(entry.event)} where the header is due.")
    return JobView(version=1, header=entry.event, accepted_at=entry.at, user=entry.actor.user)


def _name(event: AnyEvent) -> str:
    return type(event).__name__


def _apply(view: JobView, entry: Entry) -> JobView:
    event = entry.event
    match event:
        case Accepted():
            raise CorruptRecord("The record has a second header.")
        case Intended():
            return _intended(view, event)
        case Settled():
            return _settled(view, event)
        case Missed():
            return _missed(view, event)
        case Observed():
            return _observed(view, event)
        case Vanished():
            return _with(view, event.submission, _vanished, event)
        case Forgot():
            return _forgot(view, event)
        case Decided():
            return _decided(view, entry, event)
        case Awaiting():
            return _with(view, event.submission, _awaiting, event)
        case NodesBack():
            return _with(
                view,
                event.submission,
                lambda known, _: replace(known, nodes_back=event.answered or event.sent),
                event,
            )
        case Ceased():
            return _ceased(view, event)
        case Adopted():
            return _adopted(view, event)
        case BoundsGrew():
            return _widened(view, event)
        case HoldAsked() | ReleaseAsked() | StopAsked():
            return _asked(view, event)
        case Ended():
            if view.verdict:
                raise CorruptRecord("The record ends twice.")
            return replace(view, verdict=event.verdict, ended_at=entry.at)
        case _:
            assert_never(event)


# --- objects


def _object(view: JobView, submission: int) -> ObjectView:
    try:
        return view.objects[submission]
    except KeyError:
        raise CorruptRecord(
            f"The record speaks of submission {submission}, which it never started."
        ) from None


def _put(view: JobView, known: ObjectView) -> JobView:
    return replace(view, objects={**view.objects, known.submission: known})


def _move(known: ObjectView, move: Move) -> ObjectView:
    try:
        return replace(known, phase=MOVES[move][known.phase])
    except KeyError:
        raise CorruptRecord(
            f"Submission {known.submission} is {known.phase}, yet {move.value}."
        ) from None


def _with(
    view: JobView, submission: int, change: Callable[[ObjectView, Any], ObjectView], event: AnyEvent
) -> JobView:
    return _put(view, change(_object(view, submission), event))


# --- writes


def _intended(view: JobView, event: Intended) -> JobView:
    intent = event.intent
    view = replace(
        view, intents=(*view.intents, OpenIntent(intent=intent)), retry_at=None, retry_why=""
    )
    match intent.verb:
        case Verb.START:
            if not 0 < intent.submission < SCALE or (intent.attempt is None or intent.base is None):
                raise CorruptRecord(
                    f"The record intends a start of submission {intent.submission} without its marks."
                )
            return view
        case Verb.OPEN:
            known = _move(_object(view, intent.submission), Move.OPEN_INTENDED)
            return _put(view, replace(known, opened_under=intent.boot))
        case Verb.STOP | Verb.HOLD | Verb.RELEASE:
            return view
        case _:
            assert_never(intent.verb)


def _settled(view: JobView, event: Settled) -> JobView:
    opened = next((known.intent for known in view.intents if known.intent.id == event.intent), None)
    if opened is None:
        return _learnt_late(view, event)
    # After a request to stop nothing but a stop is tried again.
    again = event.retry_at if view.stop is None or opened.verb is Verb.STOP else None
    view = replace(
        view,
        intents=tuple(known for known in view.intents if known.intent.id != event.intent),
        retry_at=again,
        retry_why=event.reason if again else "",
    )
    if opened.verb is Verb.OPEN:
        return _put(view, _open_settled(_object(view, opened.submission), event))
    if opened.verb is Verb.HOLD:
        refused = event.outcome is Outcome.NOT_LANDED and event.retry_at is not None
        return replace(view, hold_refusals=view.hold_refusals + 1 if refused else 0)
    if opened.verb is not Verb.START:
        return _stop_settled(view, opened, event.outcome) if opened.verb is Verb.STOP else view
    if event.outcome is Outcome.REJECTED:
        return replace(view, refusal=event.reason)
    if event.outcome is not Outcome.LANDED:
        return view
    if event.ref is None or opened.attempt is None or opened.base is None:
        raise CorruptRecord(
            f"The start of submission {opened.submission} landed without a reference."
        )
    return _put(
        view,
        ObjectView(
            submission=opened.submission,
            attempt=opened.attempt,
            ref=event.ref,
            base=opened.base,
            boot=opened.boot,
        ),
    )


def _stop_settled(view: JobView, stop: Intent, outcome: Outcome) -> JobView:
    known = view.objects.get(stop.submission)
    if outcome not in (Outcome.LANDED, Outcome.UNKNOWN) or known is None or known.ref != stop.ref:
        return view
    intended = stop.deadline - view.header.declarations.call_window
    return _put(view, replace(known, stopped=Sighting(sent=intended, boot=stop.boot)))


def _open_settled(known: ObjectView, event: Settled) -> ObjectView:
    known = _move(known, OPEN_MOVES[event.outcome])
    match event.outcome:
        case Outcome.UNKNOWN:
            return replace(known, why=known.why or event.reason or "its open may have landed")
        case Outcome.NOT_LANDED:
            return replace(known, opens=(*known.opens, event.intent))
        case _:
            return known


def _learnt_late(view: JobView, event: Settled) -> JobView:
    """Another process has settled the write already by reading; landed beats unknown beats not landed (12, R4).

    It matters for an open alone. The object of a start is found by its key, the effect of every other write is seen.
    """
    for known in view.objects.values():
        if event.intent in known.opens and event.outcome in (Outcome.LANDED, Outcome.UNKNOWN):
            return _put(view, _open_settled(known, event))
    return view


def _missed(view: JobView, event: Missed) -> JobView:
    def missed(known: OpenIntent) -> OpenIntent:
        if known.intent.id != event.intent:
            return known
        sighting = _sighting(event)
        # Reads under another boot start the count again (12, R2).
        same = known.missed is None or known.missed.boot == event.boot
        return replace(known, missed=sighting, misses=known.misses + 1 if same else 1)

    return replace(view, intents=tuple(missed(known) for known in view.intents))


# --- reads


def _observed(view: JobView, event: Observed) -> JobView:
    return _put(view, _seen(_object(view, event.submission), event.observation, _sighting(event)))


def _sighting(event: Missed | Observed | Vanished) -> Sighting:
    return Sighting(sent=event.sent, boot=event.boot, answered=event.answered)


def _seen(known: ObjectView, observation: Observation, read: Sighting) -> ObjectView:
    ended = known.ended
    if not observation.state.ended:
        ended = None
    elif (
        ended is None or ended.boot != read.boot or not shows_the_same_run(known.seen, observation)
    ):
        ended = read
    held = known.held if shows_the_same_hold(known.seen, observation) else None
    if hold_of(observation) is not None and (held is None or held.boot != read.boot):
        held = read
    before, known = known, _move(known, move_by(known, observation))
    if known.phase is Phase.TAINTED and before.phase is Phase.ENDED:
        known = replace(known, why=known.why or _why_it_is_back(known, read))
    known = replace(
        known,
        seen=observation,
        seen_at=read.sent,
        ran=observation if has_run(observation) else known.ran,
        ran_on=nodes_with(known.ran_on, observation),
        ran_unseen=known.ran_unseen or skips_a_run(known, observation),
        ended=ended,
        held=held,
        missing=None,
        boot=read.boot,
    )
    return known if waits_for_the_same(before, known) else replace(known, nodes_back=None)


def _why_it_is_back(known: ObjectView, read: Sighting) -> str:
    """Why a read shows an end no more: under the boot that showed it nothing is forgotten."""
    same = known.ended is not None and known.ended.boot == read.boot
    return PUT_BACK if same else "the controller forgot its end"


def _vanished(known: ObjectView, event: Vanished) -> ObjectView:
    return replace(known, missing=_sighting(event))


def _forgot(view: JobView, event: Forgot) -> JobView:
    known = _object(view, event.submission)
    if known.phase is Phase.GATED:
        # It was never opened and is gone: its N is not spent, and is started again under a new attempt (12, O6).
        rest = {n: other for n, other in view.objects.items() if n != event.submission}
        return replace(view, objects=rest)
    why = known.why or event.why or "the controller forgot a write of it"
    return _put(view, replace(_move(known, Move.FORGOT), why=why))


# --- ends


def _decided(view: JobView, entry: Entry, event: Decided) -> JobView:
    known = _move(_object(view, event.submission), Move.JUDGED)
    free = event.budget is None and event.action is Action.RESUBMIT
    return replace(
        _put(view, known),
        decisions=(*view.decisions, (entry.at, event)),
        lost_starts=view.lost_starts + 1 if free else 0,
        cessation_waived_by=None,
    )


def _awaiting(known: ObjectView, event: Awaiting) -> ObjectView:
    since = known.awaiting_since or event.sent
    return replace(known, awaiting=event.nodes, awaiting_since=since, nodes_back=None)


def _ceased(view: JobView, event: Ceased) -> JobView:
    known = replace(
        _move(_object(view, event.submission), Move.CEASED), proof=event.proof, awaiting=()
    )
    # The hold that waited for this proof has no reason any more.
    held = view.hold if view.hold and view.hold.by != HOLD_BY_CESSATION else None
    return replace(_put(view, known), hold=held)


def _adopted(view: JobView, event: Adopted) -> JobView:
    observation = event.observation
    # One that is still gated may have been opened and forgotten before the record was set back: it is never opened.
    phase = Phase.TAINTED if observation.gate is Gate.CLOSED else Phase.OPEN
    adopted = ObjectView(
        submission=event.submission,
        attempt=event.attempt,
        ref=observation.ref,
        base=0,
        phase=phase,
        adopted=True,
        seen=observation,
        ran=observation if has_run(observation) else None,
        ran_on=nodes_with((), observation),
        ran_unseen=observation.restarts > 0,
        why="the record did not know it" if phase is Phase.TAINTED else "",
    )
    return _put(view, adopted)


def _widened(view: JobView, event: BoundsGrew) -> JobView:
    # Bounds never shrink, whatever the event says (12, T5).
    declarations = view.header.declarations.widened(event.declarations)
    # Reads that were no later than the bound of before, or nearer to one another than it is now, tell nothing (12, R2).
    unread = tuple(OpenIntent(intent=known.intent) for known in view.intents)
    return replace(view, header=replace(view.header, declarations=declarations), intents=unread)


# --- people


def _asked(view: JobView, event: HoldAsked | ReleaseAsked | StopAsked) -> JobView:
    match event:
        case HoldAsked():
            if event.instance <= view.last_instance:
                raise CorruptRecord(f"Hold {event.instance} comes after hold {view.last_instance}.")
            hold = Hold(instance=event.instance, by=event.by, why=event.why, until=event.until)
            return replace(view, hold=hold, last_instance=event.instance, hold_refusals=0)
        case ReleaseAsked():
            if view.hold is None or view.hold.instance != event.instance:
                return view
            waived = event.by if view.hold.by == HOLD_BY_CESSATION else view.cessation_waived_by
            return replace(view, hold=None, cessation_waived_by=waived)
        case StopAsked():
            # Whatever was refused for now is not wanted any more; the stop need not wait for its time.
            stop = view.stop or Stop(by=event.by, why=event.why)
            return replace(view, stop=stop, retry_at=None, retry_why="")
        case _:
            assert_never(event)
