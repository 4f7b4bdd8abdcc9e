"""From what Kubernetes says of a TrainJob, its Workload and its pods to an observation."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Stage
from dispatch.adapters.memory.slurm_reading import OUT_OF_MEMORY_EXIT
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

    from dispatch.adapters.memory.records import TrainJobRecord, WorldObject
    from dispatch.adapters.memory.world import World

EVIDENCE_GONE = "the pods that could tell are gone"


def observation(world: World, item: WorldObject, record: TrainJobRecord, ref: str) -> Observation:
    """Read an object from the API server."""
    ended, pending = record.stage is Stage.ENDED, record.stage is Stage.PENDING
    return Observation(
        ref=ref,
        key=item.key,
        verdict=_verdict(world, item, record),
        restarts=record.restarts,
        gate=Gate.CLOSED if record.gated and not ended else Gate.OPEN,
        hold=None if ended else _hold(record),
        cleaning=bool(record.cleaning),
        final=ended,
        nodes=record.cleaning if pending else record.nodes,
        submitted=record.submitted,
        started=record.started,
        ended=record.ended,
    )


def exit_of(text: str) -> int:
    """The exit code that a container shows for an end of ``code:signal``: a signal counts 128 more."""
    code, signal = (int(part) for part in text.split(":"))
    return 137 if text == OUT_OF_MEMORY_EXIT else 128 + signal if signal else code


def _hold(record: TrainJobRecord) -> HoldSeen | None:
    instance = record.hold.instance if record.hold else None
    if instance is None and record.flag is None:
        return None
    return HoldSeen(instance=instance, by=record.flag)


def _verdict(world: World, item: WorldObject, record: TrainJobRecord) -> Verdict:
    evidence = _evidence(world, record)
    match record.stage:
        case Stage.PENDING:
            cause, by = _waiting(world, item, record)
            detail = Detail(by=by, reason=record.reason)
            return Verdict(state=State.PENDING, cause=cause, detail=detail, evidence=evidence)
        case Stage.RUNNING if record.failed_nodes:
            lost = Detail(nodes=record.failed_nodes, reason="its pod is Terminating")
            wedged = _told(State.RUNNING, Cause.NODE_LOST, lost, evidence)
            return _by_pods(world, record.lost_at, wedged)
        case Stage.RUNNING:
            return Verdict(state=State.RUNNING, evidence=evidence)
        case Stage.ENDED:
            return _ended(world, record, evidence)


def _waiting(
    world: World, item: WorldObject, record: TrainJobRecord
) -> tuple[Cause | None, By | None]:
    if record.flag is not None:
        held = Cause.ADMIN_HELD if record.flag is By.ADMINISTRATOR else Cause.HELD
        return held, record.flag
    if record.hold is not None:
        return Cause.HELD, None
    if record.gated:
        return Cause.GATED, None
    if record.reason == "Preempted":
        return Cause.PREEMPTED, None
    if record.reason == "RestartingJobSet":
        return Cause.REQUEUED, None
    if record.cleaning:
        return Cause.AWAITING_READMISSION, None
    if item.order.job.nodes > len(world.machines.nodes) - len(item.order.exclude):
        return Cause.UNSATISFIABLE, None
    full = world.is_full() or len(world.free_nodes(item)) < item.order.job.nodes
    return (Cause.NO_CAPACITY if full else None), None


def _ended(world: World, record: TrainJobRecord, evidence: tuple[Evidence, ...]) -> Verdict:
    at, failed = record.ended, State.FAILED
    match record.state, record.reason:
        case "Complete", _:
            detail = Detail(exit_code=0)
            return Verdict(state=State.SUCCEEDED, detail=detail, evidence=evidence)
        case "Deleting", _:
            return Verdict(state=State.CANCELLED, cause=Cause.CANCELLED, evidence=evidence)
        case _, "DeadlineExceeded":
            return _told(failed, Cause.TIMEOUT, Detail(reason=record.reason), evidence)
        case _, "LaunchFailed":
            detail = Detail(reason="a pod could not start")
            return _told(failed, Cause.LAUNCH_FAILED, detail, evidence)
        case _, "NodeLost":
            lost = Detail(nodes=record.failed_nodes, reason="its pods went with their node")
            return _by_pods(world, at, _told(failed, Cause.NODE_LOST, lost, evidence))
        case _, _:
            cause, detail = _of_program(record.exit_code)
            return _by_pods(world, at, _told(failed, cause, detail, evidence))


def _told(state: State, cause: Cause, detail: Detail, evidence: tuple[Evidence, ...]) -> Verdict:
    return Verdict(state=state, cause=cause, detail=detail, evidence=evidence)


def _of_program(text: str) -> tuple[Cause, Detail]:
    """A pod tells ``OOMKilled`` or an exit code; 128 and more only hints at a signal, and 137 at the memory."""
    if text == OUT_OF_MEMORY_EXIT:
        return Cause.OUT_OF_MEMORY, Detail(exit_code=137, reason="OOMKilled")
    code = exit_of(text)
    hint = Cause.OUT_OF_MEMORY if code == 137 else Cause.SIGNALLED if code > 128 else None
    return Cause.NON_ZERO_EXIT, Detail(exit_code=code, suspected=hint)


def _by_pods(world: World, since: datetime | None, told: Verdict) -> Verdict:
    """A cause that pods tell, for as long as they are there to tell it."""
    settings = world.settings
    window = settings.evidence_window or settings.min_job_age
    if since is not None and world.now >= since + window:
        return Verdict(
            state=told.state,
            cause=Cause.UNKNOWN,
            detail=Detail(reason=EVIDENCE_GONE),
            evidence=told.evidence[:1],
            proven=False,
        )
    return told


def _evidence(world: World, record: TrainJobRecord) -> tuple[Evidence, ...]:
    failed = record.state == "Failed" and record.exit_code
    fields = (
        ("TrainJob", record.state),
        ("reason", record.reason),
        ("exitCode", str(exit_of(record.exit_code)) if failed else ""),
        ("Terminating", ",".join(record.failed_nodes)),
    )
    return _facts(Source.ACCOUNTING if record.purged else Source.QUEUE, world.now, fields)


@lru_cache(maxsize=512)
def _facts(
    source: Source, at: datetime, fields: tuple[tuple[str, str], ...]
) -> tuple[Evidence, ...]:
    """A listing says the same of thousands of objects, so that its facts are made once."""
    return tuple(
        Evidence(source=source, field=name, value=value, read_at=at)
        for name, value in fields
        if value
    )
