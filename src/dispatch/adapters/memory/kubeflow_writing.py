"""What we write to Kubeflow: each write one patch, but for the stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, cast

from dispatch.adapters.memory.cleaning import blame, plan_cleaning
from dispatch.adapters.memory.native import compile_restarts, most_restarts
from dispatch.adapters.memory.records import Stage, TrainJobRecord
from dispatch.adapters.memory.slurm_reading import HOLDS
from dispatch.model.errors import Conflict, Finished, Invalid, Unsupported
from dispatch.model.status import By, Cause

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import WorldObject
    from dispatch.adapters.memory.shape import Steps
    from dispatch.adapters.memory.world import World
    from dispatch.model.plan import Plan
    from dispatch.model.policy import Policy
    from dispatch.spi.adapter import HoldMeta, StartOrder


class KubeflowWrites(ABC):
    """The writes of the Kubeflow shape."""

    def __init__(self, world: World) -> None:
        self.world = world

    @abstractmethod
    def ref(self, item: WorldObject) -> str:
        """Name the object."""

    @abstractmethod
    def name(self, item: WorldObject) -> str:
        """Give the TrainJob's name."""

    def submit(self, order: StartOrder) -> Steps[str]:
        """Create a suspended TrainJob with its gate; a name that exists is refused."""
        record = TrainJobRecord(
            submitted=self.world.now,
            begin=None,
            flag=None,
            requeue=False,
            state="Suspended",
            reason="AdmissionGated",
            max_restarts=most_restarts(order.native),
        )
        for other in self.world.by_job.get(order.id, ()):
            if other.queued and other.order.submission == order.submission:
                raise Conflict(
                    f"There is a TrainJob {self.name(other)} already.",
                    todo="Read it back: it is this one where the attempt is the same.",
                )
        ref = self.ref(self.world.create(order, record))
        yield
        return ref

    def open(self, item: WorldObject) -> Steps[None]:
        """Remove the gate; it cannot be put back, and a hold stays."""
        self.refuse_ended(item, "opened")
        if item.record.flag is By.ADMINISTRATOR:
            raise Conflict(
                f"An administrator holds {self.ref(item)}.",
                todo="Ask for its release; it was not opened.",
            )
        if _mine(item).gated:
            self.world.change(item, gated=False, state="Pending", reason="PendingEvaluation")
        yield

    def stop(self, item: WorldObject) -> Steps[None]:
        """Suspend it, and then delete it; one that has ended is left as it is (12, B5)."""
        if item.record.stage is Stage.ENDED:
            return
        self.world.change(item, stopping=True)
        if item.record.stage is Stage.RUNNING:
            self.evict(item, Cause.CANCELLED, "Suspended")
        yield
        self.delete(item, "owner")
        yield

    def hold(self, item: WorldObject, meta: HoldMeta) -> Steps[None]:
        """Deactivate the Workload, which ends a running execution, and write beside it whose hold it is."""
        if not 0 < meta.instance < HOLDS:
            raise Invalid(
                f"A hold has no instance {meta.instance}.", todo=f"Take one from 1 to {HOLDS - 1}."
            )
        self.refuse_ended(item, "held")
        last = _mine(item).last_instance
        if last >= meta.instance:
            raise Conflict(
                f"{self.ref(item)} has had hold {last}, so hold {meta.instance} is stale.",
                todo="Read again.",
            )
        self.world.change(item, hold=meta, last_instance=meta.instance)
        if item.record.stage is Stage.RUNNING:
            self.evict(item, Cause.HELD, "Deactivated")
        yield

    def release(self, item: WorldObject, instance: int, *, opened: bool) -> Steps[None]:
        """Activate the Workload where its annotations name the instance; its gate is a field of its own."""
        del opened
        self.refuse_ended(item, "released")
        hold = _mine(item).hold
        if hold is None or hold.instance != instance:
            found = f"hold {hold.instance}" if hold else "no hold of ours"
            raise Conflict(
                f"{self.ref(item)} has {found}, not hold {instance}.", todo="Read again."
            )
        self.world.change(item, hold=None, reason="Reactivated")
        yield

    def revive(self, item: WorldObject) -> Steps[None]:
        """Cannot be: a TrainJob that has ended never runs again."""
        raise Unsupported(
            f"{self.ref(item)} cannot be requeued: Kubeflow knows no requeue.",
            todo="Start the next submission.",
        )

    def restore_bit(self, item: WorldObject) -> Steps[None]:
        """Cannot be: there is no requeue bit."""
        raise Unsupported(f"{self.ref(item)} has no requeue bit: Kubeflow knows none.")

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        """``maxRestarts`` of the JobSet."""
        return compile_restarts(policy, plan)

    # --------------------------------------------------- what writes bring about

    def refuse_ended(self, item: WorldObject, done: str) -> None:
        """Raise ``Finished`` where it has ended."""
        if item.record.stage is Stage.ENDED:
            raise Finished(f"{self.ref(item)} has ended, so it was not {done}.")

    def evict(self, item: WorldObject, cause: Cause, reason: str) -> None:
        """Suspend what runs: pending again, while its pods terminate."""
        blame(self.world, item, cause)
        self.world.change(
            item,
            stage=Stage.PENDING,
            state="Suspended",
            reason=reason,
            cleaning=self.with_pods(item),
            nodes=(),
            failed_nodes=(),
            lost_at=None,
            started=None,
        )
        plan_cleaning(self.world, item)

    def delete(self, item: WorldObject, who: str) -> None:
        """Delete in the foreground: it is shown until its last pod is gone, and then never again."""
        blame(self.world, item, Cause.CANCELLED)
        running = item.record.stage is Stage.RUNNING
        self.world.change(
            item,
            stage=Stage.ENDED,
            state="Deleting",
            reason="",
            ended=self.world.now,
            cancelled_by=who,
            deleting=True,
            cleaning=self.with_pods(item) if running else item.record.cleaning,
        )
        plan_cleaning(self.world, item)
        self.vanish(item)

    def vanish(self, item: WorldObject) -> None:
        """Let a deleted object be gone once it has no pod left."""
        if _mine(item).deleting and item.queued and not item.record.cleaning:
            self.world.purge(item)

    def with_pods(self, item: WorldObject) -> tuple[str, ...]:
        """List the nodes on which a pod of it may be left: all but those that are surely off."""
        nodes = self.world.machines.nodes
        return tuple(n for n in item.record.nodes if not nodes[n].fenced)


def _mine(item: WorldObject) -> TrainJobRecord:
    return cast("TrainJobRecord", item.record)
