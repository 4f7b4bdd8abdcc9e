"""The rules by which a waiting object is judged, and how its gate and its holds are told apart (12, O5)."""

from __future__ import annotations

from dispatch.adapters.slurm.reading.facts import Seen
from dispatch.adapters.slurm.reading.hostlist import expand
from dispatch.adapters.slurm.reading.rules import Rule, always
from dispatch.adapters.slurm.reading.tables import waiting_for
from dispatch.model.status import By, Cause, Detail, Gate, HoldSeen, State, Verdict

_LAUNCH_HELD = frozenset({"launch failed requeued held", "launch_failed_requeued_held"})


def gate_of(seen: Seen) -> Gate:
    """Whether the gate of a waiting object is closed."""
    instance = seen.facts.ref.instance(seen.start)
    # A hold that was placed before the Open stands in the gate's begin time; the hold flag then tells that the Open is
    # still to come (12, O5).
    closed = instance == 0 or (
        instance is not None and seen.reason in {"JobHeldUser", "JobHeldAdmin"}
    )
    return Gate.CLOSED if closed else Gate.OPEN


def hold_of(seen: Seen, instance: int | None) -> HoldSeen | None:
    """The hold on an object, ours by its instance, or somebody's."""
    if seen.reason == "JobHeldAdmin":
        return HoldSeen(instance=instance or None, by=By.ADMINISTRATOR)
    if instance:
        return HoldSeen(instance=instance)
    if instance == 0:
        return None
    if _user_held(seen):
        return HoldSeen(by=None if _launch_held(seen) else By.OWNER)
    flagged = seen.has("SPECIAL_EXIT", "REQUEUE_HOLD", "RESV_DEL_HOLD") or _held_otherwise(seen)
    return HoldSeen() if flagged else None


def _user_held(seen: Seen) -> bool:
    return seen.reason == "JobHeldUser"


def _launch_held(seen: Seen) -> bool:
    return seen.description in _LAUNCH_HELD or seen.reason in _LAUNCH_HELD


def _held_otherwise(seen: Seen) -> bool:
    row = waiting_for(seen.reason)
    return row is not None and row.cause in {Cause.HELD, Cause.LAUNCH_FAILED}


def _begin_of_somebody(seen: Seen) -> bool:
    return seen.reason == "BeginTime" and seen.start > seen.facts.read_at.timestamp()


def _begin_has_come(seen: Seen) -> bool:
    # Slurm leaves the reason until it looks at the job again, as after a release of ours.
    return seen.reason == "BeginTime"


def _requeued(seen: Seen) -> bool:
    return seen.has("COMPLETING") or (
        seen.restarts > 0 and seen.reason in {"BeginTime", "None", "Cleaning", ""}
    )


def _forgotten(seen: Seen) -> bool:
    return seen.started_before is not None and not seen.has("COMPLETING")


def _instance(seen: Seen) -> int | None:
    return seen.facts.ref.instance(seen.start)


def _pending(cause: Cause | None, reason: str, **more: By | None) -> Verdict:
    return Verdict(
        state=State.PENDING, cause=cause, detail=Detail(reason=reason or None, by=more.get("by"))
    )


def _pending_forgotten(seen: Seen) -> Verdict:
    ticket, end = seen.started_before, seen.ended
    assert ticket is not None
    reason = "the job script started in this epoch, but the controller shows it waiting: it forgot the start"
    if end is not None:
        reason += f"; the script ended with status {end.status}"
    detail = Detail(
        nodes=expand(ticket.nodes or ticket.node),
        reason=reason,
        exit_code=end.status if end else None,
    )
    return Verdict(state=State.PENDING, cause=Cause.FORGOTTEN, detail=detail)


def _pending_requeued(seen: Seen) -> Verdict:
    before = seen.before
    told = None
    if before is not None:
        told = next((name for name in before.states if name in {"PREEMPTED", "NODE_FAIL"}), None)
    match told:
        case "PREEMPTED":
            detail = Detail(reason="it was preempted and requeued", suspected=Cause.PREEMPTED)
        case "NODE_FAIL":
            lost = before.failed_node or before.nodes if before else ""
            detail = Detail(
                reason="a node of it failed, and it was requeued",
                suspected=Cause.NODE_LOST,
                nodes=expand(lost),
            )
        case _:
            queue = seen.facts.queue
            lost = seen.failed_node
            hint = (
                Cause.NODE_LOST if lost else Cause.PREEMPTED if queue and queue.preempted else None
            )
            detail = Detail(
                reason=f"it was requeued ({seen.reason})", suspected=hint, nodes=expand(lost)
            )
    return Verdict(state=State.PENDING, cause=Cause.REQUEUED, detail=detail)


def _pending_by_flag(seen: Seen) -> Verdict:
    code = next(
        code
        for code in seen.codes
        if code.name in {"SPECIAL_EXIT", "REQUEUE_HOLD", "RESV_DEL_HOLD"}
    )
    return _pending(code.cause, code.why)


def _pending_by_reason(seen: Seen) -> Verdict:
    row = waiting_for(seen.reason)
    assert row is not None
    return _pending(row.cause, f"{seen.reason}: {row.why}")


PENDING: tuple[Rule, ...] = (
    Rule("the script started, and the controller forgot it", _forgotten, _pending_forgotten),
    Rule("its last run is being cleaned up", lambda s: s.has("COMPLETING"), _pending_requeued),
    Rule(
        "its launch failed",
        _launch_held,
        lambda _: _pending(Cause.LAUNCH_FAILED, "its launch failed, and Slurm holds it"),
    ),
    Rule(
        "an administrator holds it",
        lambda s: s.reason == "JobHeldAdmin",
        lambda _: _pending(Cause.ADMIN_HELD, "an administrator holds it", by=By.ADMINISTRATOR),
    ),
    Rule(
        "a flag says that it is held",
        lambda s: s.has("SPECIAL_EXIT", "REQUEUE_HOLD", "RESV_DEL_HOLD"),
        _pending_by_flag,
    ),
    Rule(
        "its gate is closed",
        lambda s: _instance(s) == 0,
        lambda _: _pending(Cause.GATED, "its gate is closed"),
    ),
    Rule(
        "we hold it",
        lambda s: bool(_instance(s)),
        lambda s: _pending(Cause.HELD, f"hold {_instance(s)} is on it"),
    ),
    Rule(
        "its owner holds it",
        _user_held,
        lambda _: _pending(Cause.HELD, "somebody held it under the owner's name", by=By.OWNER),
    ),
    Rule("it was requeued", _requeued, _pending_requeued),
    Rule(
        "it has a begin time of somebody's",
        _begin_of_somebody,
        lambda _: _pending(Cause.HELD, "somebody set a begin time"),
    ),
    Rule("its begin time has come", _begin_has_come, lambda _: _pending(None, "")),
    Rule("its reason tells", lambda s: waiting_for(s.reason) is not None, _pending_by_reason),
    Rule(
        "a reason that nobody knows",
        always,
        lambda s: _pending(
            Cause.UNKNOWN, f"{s.reason or 'no reason'}: dispatch does not know this reason"
        ),
    ),
)
"""In this order."""
