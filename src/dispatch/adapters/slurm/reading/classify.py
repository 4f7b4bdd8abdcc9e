"""From the evidence on one object to what is observed of it: pure, by tables."""

from __future__ import annotations

from msgspec.structs import replace

from dispatch.adapters.slurm.reading.ending import ENDED, of_end_alone
from dispatch.adapters.slurm.reading.facts import Facts, Seen, evidence, look, moment
from dispatch.adapters.slurm.reading.hostlist import expand
from dispatch.adapters.slurm.reading.rules import first_of
from dispatch.adapters.slurm.reading.tables import Kind
from dispatch.adapters.slurm.reading.tickets import Ended
from dispatch.adapters.slurm.reading.waiting import PENDING, gate_of, hold_of
from dispatch.model.status import (
    Cause,
    Detail,
    Evidence,
    Gate,
    Observation,
    Source,
    State,
    Verdict,
)


def classify(facts: Facts) -> Observation | None:
    """Classify one object; ``None`` where nothing but accounting's or the script's unfinished business is known of it.

    Such an object is not seen: the queue does not know it, and nobody says that it ended. Absence is not an end.
    """
    if facts.queue is not None:
        return _observe(look(facts), final=not facts.queue.requeue)
    if facts.runs:
        seen = look(facts)
        # The controller has answered without it, so it can never run again.
        if _state_of(seen).ended:
            return _observe(seen, final=True)
        return _of_ticket(facts, seen.ended, seen.restarts, seen.nodes) if seen.ended else None
    mine = [end for end in facts.tickets.ends if end.attempt == facts.ref.attempt]
    last = max(mine, key=lambda end: end.epoch, default=None)
    started = last and facts.tickets.start_of(last.epoch, facts.ref.number, facts.ref.attempt)
    if last is None or any(start.epoch > last.epoch for start in facts.tickets.starts):
        return None
    return _of_ticket(
        facts, last, last.epoch.restarts, started.nodes or started.node if started else ""
    )


def _of_ticket(facts: Facts, end: Ended, restarts: int, nodes: str) -> Observation:
    said = Evidence(
        source=Source.TICKET,
        field="end",
        value=f"status={end.status} signal={end.signal} told={end.told} at {end.at}",
        read_at=facts.read_at,
    )
    started = facts.tickets.start_of(end.epoch, facts.ref.number, facts.ref.attempt)
    names = expand(nodes)
    verdict = replace(of_end_alone(end, one_node=len(names) == 1), evidence=(said,))
    return Observation(
        ref=str(facts.ref),
        key=facts.key,
        verdict=verdict,
        restarts=restarts,
        final=True,
        nodes=names,
        started=moment(started.at) if started else None,
        ended=moment(end.at),
    )


def _observe(seen: Seen, *, final: bool) -> Observation:
    facts, queue = seen.facts, seen.facts.queue
    verdict = _verdict(seen)
    pending, ended = verdict.state is State.PENDING, verdict.state.ended
    begin = seen.start if pending else None
    return Observation(
        ref=str(facts.ref),
        key=facts.key,
        verdict=replace(verdict, evidence=evidence(seen)),
        restarts=seen.restarts,
        gate=gate_of(seen) if pending else Gate.OPEN,
        hold=hold_of(seen, facts.ref.instance(begin)) if not ended else None,
        cleaning=seen.has("COMPLETING"),
        final=ended and final,
        requeue=queue is not None and queue.requeue,
        nodes=expand(seen.nodes),
        submitted=moment(queue.submitted if queue else seen.run.submitted if seen.run else 0),
        started=None if pending or seen.never_ran else moment(seen.start),
        ended=moment(seen.end) if ended else None,
    )


def _state_of(seen: Seen) -> State:
    """The state, before its cause: that of the base, or of the flag where no base is shown (22.05, accounting)."""
    told = next((code for code in seen.codes if code.kind is Kind.BASE), None)
    told = told or next(iter(seen.codes), None)
    return told.state if told else State.UNKNOWN


def _verdict(seen: Seen) -> Verdict:
    match _state_of(seen):
        case State.PENDING:
            return first_of(PENDING, seen)
        case State.RUNNING:
            return _running(seen)
        case State.UNKNOWN:
            raw = " ".join((*(code.name for code in seen.codes), *seen.unknown)) or "no state"
            why = next((code.why for code in seen.codes), "") or "dispatch does not know this state"
            detail = Detail(reason=f"{raw}: {why}")
            return Verdict(state=State.UNKNOWN, cause=Cause.UNKNOWN, detail=detail, proven=False)
        case _:
            return first_of(ENDED, seen)


def _running(seen: Seen) -> Verdict:
    why = "; ".join(code.why for code in seen.codes if code.why)
    queue = seen.facts.queue
    # In the grace time of a preemption this is the only sign; the state stays RUNNING.
    hint = Cause.PREEMPTED if queue is not None and queue.preempted > seen.start > 0 else None
    return Verdict(state=State.RUNNING, detail=Detail(reason=why or None, suspected=hint))
