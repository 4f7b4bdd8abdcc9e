"""From what Slurm says of a job to an observation: a table, read from raw text alone."""

from __future__ import annotations

from functools import lru_cache
from signal import Signals, strsignal
from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Stage
from dispatch.model.epoch import Epoch
from dispatch.model.status import (
    By,
    Cause,
    Detail,
    Evidence,
    Gate,
    HoldSeen,
    Observation,
    Source,
    State,
    Verdict,
)

if TYPE_CHECKING:
    from datetime import datetime

    from dispatch.adapters.memory.machines import StartTicket
    from dispatch.adapters.memory.records import Record, WorldObject
    from dispatch.adapters.memory.world import World

HOLDS = 1_000_000
"""Instances of holds lie below this, so that a begin time can be told from a person's."""


def is_token(base: int, begin: int) -> bool:
    """Whether a begin time is that of our gate, or of a hold of ours."""
    return base <= begin < base + HOLDS


def hold_instance(item: WorldObject) -> int | None:
    """Read the instance of our hold from the begin time."""
    begin, base = item.record.begin, item.order.base
    return begin - base if begin is not None and base < begin < base + HOLDS else None


def observation(world: World, item: WorldObject, ref: str) -> Observation:
    """Read an object from the queue, or from accounting once the queue has forgotten it."""
    record = item.record
    ended = record.stage is Stage.ENDED
    return Observation(
        ref=ref,
        key=item.key,
        verdict=verdict_of(world, item),
        restarts=record.restarts,
        gate=gate_of(item),
        hold=None if ended else _hold(item),
        cleaning=bool(record.cleaning),
        final=ended and (record.purged or not record.requeue),
        requeue=record.requeue,
        nodes=record.cleaning if record.stage is Stage.PENDING else record.nodes,
        submitted=record.submitted,
        started=record.started,
        ended=record.ended,
    )


def gate_of(item: WorldObject) -> Gate:
    """Read the gate: it stands in the begin time, or, beneath a hold placed before the Open, in the hold flag (12, O5)."""
    record = item.record
    beneath = record.flag is By.OWNER and hold_instance(item) is not None
    closed = record.stage is Stage.PENDING and (record.begin == item.order.base or beneath)
    return Gate.CLOSED if closed else Gate.OPEN


def _hold(item: WorldObject) -> HoldSeen | None:
    flag, instance = item.record.flag, hold_instance(item)
    by = flag
    if flag is By.OWNER and (instance is not None or item.record.begin == item.order.base):
        by = None  # the flag of our own gate
    return HoldSeen(instance=instance, by=by) if by is not None or instance is not None else None


def verdict_of(world: World, item: WorldObject) -> Verdict:
    """Work out state, cause, detail and evidence."""
    record = item.record
    source = Source.ACCOUNTING if record.purged else Source.QUEUE
    match record.stage:
        case Stage.PENDING:
            return _pending(world, item)
        case Stage.RUNNING:
            # A hold flag set on a running job shows in its reason, and nowhere else (07, b).
            reason = _held_reason(record) or record.reason
            return Verdict(
                state=State.RUNNING, evidence=_evidence(source, world.now, record, reason)
            )
        case Stage.ENDED:
            return _ended(world, item, source)


def _evidence(source: Source, at: datetime, record: Record, reason: str) -> tuple[Evidence, ...]:
    return _facts(
        source, at, record.state, reason, record.exit_code if record.stage is Stage.ENDED else None
    )


@lru_cache(maxsize=512)
def _facts(
    source: Source, at: datetime, state: str, reason: str, exit_code: str | None
) -> tuple[Evidence, ...]:
    """A listing says the same of thousands of objects, so that its facts are made once."""
    fields = (("job_state", state), ("state_reason", reason), ("exit_code", exit_code))
    return tuple(
        Evidence(source=source, field=name, value=value, read_at=at)
        for name, value in fields
        if value is not None
    )


def _pending(world: World, item: WorldObject) -> Verdict:
    record = item.record
    reason, cause, by = _pending_reason(world, item)
    detail = Detail(by=by, reason=reason, nodes=record.failed_nodes)
    evidence = _evidence(Source.QUEUE, world.now, record, reason)
    if (ticket := _ticket(world, item)) and not record.cleaning:
        # The job script started in this epoch, and the controller shows it waiting: it has forgotten the start.
        cause, detail = Cause.FORGOTTEN, Detail(nodes=ticket.nodes, reason=reason)
        evidence = (*evidence, _ticket_evidence(world, "started"))
    return Verdict(state=State.PENDING, cause=cause, detail=detail, evidence=evidence)


def _pending_reason(world: World, item: WorldObject) -> tuple[str, Cause | None, By | None]:
    record, job = item.record, item.order.job
    gated, ours = record.begin == item.order.base, hold_instance(item) is not None
    held = _held_reason(record)
    if record.flag is By.ADMINISTRATOR:
        return held, Cause.ADMIN_HELD, By.ADMINISTRATOR
    if gated or ours:
        return held or "BeginTime", Cause.GATED if gated else Cause.HELD, None
    if record.flag is not None:
        return held, Cause.HELD, record.flag
    begins = record.begin is not None and record.begin > int(world.now.timestamp())
    if begins or record.cleaning:
        return "BeginTime", Cause.REQUEUED if record.restarts else Cause.HELD, None
    if job.nodes > len(world.machines.nodes) - len(item.order.exclude):
        return "PartitionNodeLimit", Cause.UNSATISFIABLE, None
    if world.is_full() or len(world.free_nodes(item)) < job.nodes:
        return "Resources", Cause.NO_CAPACITY, None
    return "None", Cause.REQUEUED if record.restarts else None, None


def _held_reason(record: Record) -> str:
    return {None: "", By.ADMINISTRATOR: "JobHeldAdmin"}.get(record.flag, "JobHeldUser")


def _ended(world: World, item: WorldObject, source: Source) -> Verdict:
    record = item.record
    evidence = _evidence(source, world.now, record, record.reason)
    ticket = _ticket(world, item)
    overtaken = record.fenced or record.refused or _is_missing(record) or not record.nodes
    if ticket and ticket.end and (overtaken or record.state == "NODE_FAIL"):
        evidence = (*evidence, _ticket_evidence(world, f"ended {ticket.end}"))
        # Where Slurm tells of a launch of its own, the program's end is the job script's (12, E5). Where it tells of a lost
        # node, a success is (12, E6), and on one node every end; on several a part may have failed because its peer was lost.
        if overtaken or ticket.end == "0:0" or len(ticket.nodes) == 1:
            return by_exit(ticket.end, evidence)
        return _lost_or_failed(record, ticket.end, evidence)
    if ticket and not record.nodes:
        # Slurm says that it never ran, and the job script that it started: processes of it may live.
        evidence = (*evidence, _ticket_evidence(world, "started"))
        state = State.CANCELLED if record.state == "CANCELLED" else State.FAILED
        detail = Detail(nodes=ticket.nodes, reason="the controller forgot its start")
        return Verdict(state=state, cause=Cause.FORGOTTEN, detail=detail, evidence=evidence)
    if record.fenced:
        taken = (
            f"epoch {item.order.submission}.{record.restarts} or a later one has started already"
        )
        detail = Detail(nodes=ticket.nodes if ticket else (), reason=taken)
        return _failed(Cause.FENCED, detail, (*evidence, _ticket_evidence(world, taken)))
    if record.refused or _is_missing(record):
        return _unproven(record, evidence)
    match record.state:
        case "COMPLETED" | "FAILED" | "OUT_OF_MEMORY":
            extra = (
                (_ticket_evidence(world, f"ended {ticket.end}"),) if ticket and ticket.end else ()
            )
            return by_exit(record.exit_code, (*evidence, *extra))
        case "CANCELLED":
            return _cancelled(world, record, evidence)
        case "NODE_FAIL":
            return _failed(
                Cause.NODE_LOST, Detail(nodes=record.failed_nodes, reason=record.reason), evidence
            )
        case "PREEMPTED":
            return _failed(Cause.PREEMPTED, Detail(), evidence)
        case "TIMEOUT":
            return _failed(Cause.TIMEOUT, Detail(reason=record.reason), evidence)
        case other:
            return _failed(Cause.UNKNOWN, Detail(reason=other), evidence, proven=False)


def _failed(
    cause: Cause, detail: Detail, evidence: tuple[Evidence, ...], *, proven: bool = True
) -> Verdict:
    return Verdict(state=State.FAILED, cause=cause, detail=detail, evidence=evidence, proven=proven)


OUT_OF_MEMORY_EXIT = "0:125"
LAUNCH_EXIT = "0:53"
"""What Slurm says where slurmd could not start the job script."""


def raw_end(exit_code: str) -> tuple[str, str]:
    """The state and reason that Slurm gives a program that ended by itself (07, f)."""
    code, signal = (int(part) for part in exit_code.split(":"))
    if exit_code == OUT_OF_MEMORY_EXIT:
        return "OUT_OF_MEMORY", "OutOfMemory"
    if signal:
        return "FAILED", f"RaisedSignal:{signal}({strsignal(signal) or signal})"
    return ("FAILED", "NonZeroExitCode") if code else ("COMPLETED", "None")


def by_exit(exit_code: str, evidence: tuple[Evidence, ...]) -> Verdict:
    """Classify an end by its ``code:signal``; exit 137 hints at a kill for memory, and proves none."""
    code, signal = (int(part) for part in exit_code.split(":"))
    if exit_code == LAUNCH_EXIT:
        return _failed(
            Cause.LAUNCH_FAILED, Detail(reason="slurmd could not start the job script"), evidence
        )
    if exit_code == OUT_OF_MEMORY_EXIT:
        return _failed(Cause.OUT_OF_MEMORY, Detail(reason="OutOfMemory"), evidence)
    if signal:
        return _failed(Cause.SIGNALLED, Detail(signal=signal_name(signal)), evidence)
    if code:
        hint = Cause.OUT_OF_MEMORY if code == 137 else None
        return _failed(Cause.NON_ZERO_EXIT, Detail(exit_code=code, suspected=hint), evidence)
    return Verdict(state=State.SUCCEEDED, detail=Detail(exit_code=0), evidence=evidence)


def signal_name(number: int) -> str:
    """Name a signal without ``SIG``; one that this system does not know keeps its number."""
    try:
        return Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)


def _cancelled(world: World, record: Record, evidence: tuple[Evidence, ...]) -> Verdict:
    """Tell who cancelled it, which only accounting knows (07, f)."""
    who = record.cancelled_by if world.has_accounting else None
    by = None if who is None else {"owner": By.OWNER, "root": By.ADMINISTRATOR}.get(who, By.OTHER)
    if who is not None:
        killer = Evidence(
            source=Source.ACCOUNTING, field="kill_request_user", value=who, read_at=world.now
        )
        evidence = (*evidence, killer)
    detail = Detail(by=by, who=who)
    return Verdict(state=State.CANCELLED, cause=Cause.CANCELLED, detail=detail, evidence=evidence)


def _is_missing(record: Record) -> bool:
    """Whether Slurm says ``NODE_FAIL`` and names no node: the job was missing from one that answers."""
    return record.state == "NODE_FAIL" and not record.failed_nodes


def _unproven(record: Record, evidence: tuple[Evidence, ...]) -> Verdict:
    """An end that neither a ticket nor a batch step nor a lost node proves (12, E5)."""
    code = int(record.exit_code.split(":")[0])
    suspected = Cause.NODE_LOST if record.state == "NODE_FAIL" else Cause.NON_ZERO_EXIT
    detail = Detail(exit_code=code, reason=record.reason, suspected=suspected)
    return _failed(Cause.UNKNOWN, detail, evidence, proven=False)


def _lost_or_failed(record: Record, end: str, evidence: tuple[Evidence, ...]) -> Verdict:
    """An end of the program's and a lost node, and nothing that says which came first."""
    detail = Detail(
        exit_code=int(end.split(":", maxsplit=1)[0]),
        nodes=record.failed_nodes,
        reason="the script ended, and Slurm tells of a lost node: nothing says which came first",
        suspected=Cause.NODE_LOST,
    )
    return _failed(Cause.UNKNOWN, detail, evidence, proven=False)


def _ticket(world: World, item: WorldObject) -> StartTicket | None:
    """Read this object's own ticket of its last epoch, where there are tickets."""
    if not world.settings.fence:
        return None
    epoch = Epoch(item.order.submission, item.record.restarts)
    ticket = world.machines.tickets.get(item.order.id, {}).get(epoch)
    return ticket if ticket and ticket.object == item.serial else None


def _ticket_evidence(world: World, text: str) -> Evidence:
    return Evidence(source=Source.TICKET, field="ticket", value=text, read_at=world.now)
