"""The ground truth of a memory world, as values: what a test compares a record with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import TrainJobRecord
from dispatch.model.base import Instant, Value
from dispatch.model.epoch import Epoch
from dispatch.model.status import By, Cause, Observation

if TYPE_CHECKING:
    from dispatch.adapters.memory.machines import Clash
    from dispatch.adapters.memory.records import Execution, WorldObject
    from dispatch.adapters.memory.world import World


class ExecutionTruth(Value):
    """Processes as they really are. ``cause`` is the true one; none for a success and for what runs untroubled."""

    serial: int
    ref: str
    job: str
    epoch: int
    """``DISPATCH_EPOCH``."""
    attempt: str
    """``DISPATCH_ATTEMPT``: opaque and unique."""
    nodes: tuple[str, ...]
    alive: tuple[str, ...]
    """The nodes on which processes of it are left."""
    started: Instant
    ended: Instant | None = None
    cause: Cause | None = None
    end: str | None = None
    """How the program ended by itself, as ``code:signal``; none where it was killed or runs."""

    @property
    def live(self) -> bool:
        """Whether any process of it is left."""
        return bool(self.alive)


class Overlap(Value):
    """Two executions of one job that lived at once: what must never be."""

    job: str
    at: Instant
    first: ExecutionTruth
    second: ExecutionTruth


class Ticket(Value):
    """The mark of a started epoch, and how its program ended, where it has."""

    epoch: int
    attempt: str
    end: str | None = None


class ObjectTruth(Value):
    """An object as it really is, and as the scheduler shows it (``observation``; none where it shows nothing).

    ``held_for``, ``held_until`` and ``hold_reason`` (who placed our hold, until when, why) stay empty in the Slurm shape,
    which keeps only the instance of a hold. ``held_by`` is who else holds it, by the scheduler's own flag.
    """

    ref: str
    name: str
    job: str
    submission: int
    observation: Observation | None
    queued: bool
    """The controller itself knows it: neither purged nor forgotten."""
    forgotten: bool
    requeue: bool
    begin: int | None
    held_by: By | None = None
    hold_instance: int | None = None
    held_for: str = ""
    held_until: Instant | None = None
    hold_reason: str = ""
    cancelled_by: str | None = None
    executions: tuple[ExecutionTruth, ...] = ()
    overlaps: int = 0

    @property
    def live(self) -> int:
        """How many executions of it have processes left."""
        return sum(execution.live for execution in self.executions)


def execution_truth(world: World, execution: Execution) -> ExecutionTruth:
    """Tell the truth of an execution."""
    return ExecutionTruth(
        serial=execution.serial,
        ref=world.shape.ref(world.objects[execution.object - 1]),
        job=execution.job,
        epoch=execution.epoch.number,
        attempt=execution.attempt,
        nodes=execution.nodes,
        alive=tuple(sorted(execution.alive)),
        started=execution.started,
        ended=execution.ended,
        cause=execution.cause,
        end=execution.end,
    )


def object_truth(world: World, item: WorldObject) -> ObjectTruth:
    """Tell the truth of an object."""
    record = item.record
    hold = record.hold if isinstance(record, TrainJobRecord) else None
    mine = {execution.serial for execution in item.executions}
    return ObjectTruth(
        ref=world.shape.ref(item),
        name=record.name or world.shape.name(item),
        job=item.order.id,
        submission=item.order.submission,
        observation=world.shape.observe(item) if world.visible(item) else None,
        queued=item.queued,
        forgotten=item.forgotten,
        requeue=record.requeue,
        begin=record.begin,
        held_by=record.flag,
        hold_instance=world.shape.instance(item),
        held_for=hold.by if hold else "",
        held_until=hold.until if hold else None,
        hold_reason=hold.why if hold else "",
        cancelled_by=record.cancelled_by,
        executions=tuple(execution_truth(world, execution) for execution in item.executions),
        overlaps=sum(
            clash.first in mine or clash.second in mine for clash in world.machines.clashes
        ),
    )


def overlap(world: World, clash: Clash) -> Overlap:
    """Tell the truth of an overlap, as its executions are now."""
    first, second = (
        execution_truth(world, world.machines.executions[n - 1])
        for n in (clash.first, clash.second)
    )
    return Overlap(job=clash.job, at=clash.at, first=first, second=second)


def tickets_of(world: World, job: str) -> tuple[Ticket, ...]:
    """Tell which epochs of a job have started."""
    taken: dict[Epoch, Ticket] = {
        epoch: Ticket(
            epoch=epoch.number,
            attempt=world.machines.executions[mark.execution - 1].attempt,
            end=mark.end,
        )
        for epoch, mark in world.machines.tickets.get(job, {}).items()
    }
    return tuple(taken[epoch] for epoch in sorted(taken))
