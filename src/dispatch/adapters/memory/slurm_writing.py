"""What we write to Slurm, each write in the steps that its commands are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING

from dispatch.adapters.memory.native import compile_requeue, requeues_natively
from dispatch.adapters.memory.records import Record, Stage
from dispatch.adapters.memory.slurm_reading import HOLDS, hold_instance, is_token
from dispatch.model.errors import Conflict, Finished, Invalid
from dispatch.model.status import By

if TYPE_CHECKING:
    from datetime import datetime

    from dispatch.adapters.memory.records import WorldObject
    from dispatch.adapters.memory.shape import Steps
    from dispatch.adapters.memory.world import World
    from dispatch.model.plan import Plan
    from dispatch.model.policy import Policy
    from dispatch.spi.adapter import HoldMeta, StartOrder


class SlurmWrites(ABC):
    """The writes of the Slurm shape."""

    def __init__(self, world: World) -> None:
        self.world = world

    @abstractmethod
    def ref(self, item: WorldObject) -> str:
        """Name the object."""

    @abstractmethod
    def cancel(self, item: WorldObject, who: str) -> None:
        """End the job by ``scancel``."""

    @abstractmethod
    def _requeue(self, item: WorldObject) -> None:
        """Bring it back to pending."""

    def submit(self, order: StartOrder) -> Steps[str]:
        """``sbatch --hold --begin=<base>``, read back."""
        if order.base <= self._second():
            raise Invalid(
                f"The gate of {order.id} would open by itself: its begin time {order.base} is not in the future.",
                todo="Take a base of HoldBase seconds after now.",
            )
        record = Record(
            submitted=whole(self.world.now),
            begin=order.base,
            flag=By.OWNER,
            requeue=self.world.settings.revival or requeues_natively(order.native),
            reason="JobHeldUser",
        )
        ref = self.ref(self.world.create(order, record))
        yield
        return ref

    def open(self, item: WorldObject) -> Steps[None]:
        """``scontrol release``, then ``StartTime=now`` where the gate's begin time still stands (12, O5)."""
        self._refuse_ended(item, "opened")
        if item.record.flag is By.ADMINISTRATOR:
            raise Conflict(
                f"An administrator holds {self.ref(item)}.",
                todo="Ask for its release; it was not opened.",
            )
        if item.record.flag is By.OWNER and self._is_token(item):
            self.world.change(item, flag=None)
            yield
        if item.record.begin == item.order.base:
            self.world.change(item, begin=None)
        yield

    def stop(self, item: WorldObject) -> Steps[None]:
        """``Requeue=0`` and then ``scancel``; nothing where it has ended."""
        if item.record.stage is Stage.ENDED:
            return
        self.world.change(item, requeue=False)
        yield
        self.cancel(item, "owner")
        yield

    def hold(self, item: WorldObject, meta: HoldMeta) -> Steps[None]:
        """``StartTime=<base + instance>`` on a pending job."""
        if not 0 < meta.instance < HOLDS:
            raise Invalid(
                f"A hold has no instance {meta.instance}.", todo=f"Take one from 1 to {HOLDS - 1}."
            )
        self._refuse_ended(item, "held")
        if item.record.stage is not Stage.PENDING:
            raise Conflict(
                f"{self.ref(item)} is no longer pending.",
                todo="A hold takes effect before a start only.",
            )
        current = hold_instance(item)
        if current is not None and current >= meta.instance:
            raise Conflict(
                f"{self.ref(item)} has hold {current}, so hold {meta.instance} is stale.",
                todo="Read again.",
            )
        self.world.change(item, begin=item.order.base + meta.instance)
        yield

    def release(self, item: WorldObject, instance: int, *, opened: bool) -> Steps[None]:
        """Lift ``StartTime`` where it is that of the instance; what was never opened gets its gate back.

        What was opened and is flagged is held by others; with its gate back it would look as if it had not been opened.
        """
        self._refuse_ended(item, "released")
        current = hold_instance(item)
        if current != instance:
            found = f"hold {current}" if current else "no hold of ours"
            raise Conflict(
                f"{self.ref(item)} has {found}, not hold {instance}.", todo="Read again."
            )
        if opened and item.record.flag is not None:
            raise Conflict(
                f"Somebody else holds {self.ref(item)} too.", todo="Ask for its release."
            )
        self.world.change(item, begin=None if item.record.flag is None else item.order.base)
        yield

    def revive(self, item: WorldObject) -> Steps[None]:
        """``Requeue=1``, ``scontrol requeue`` and ``StartTime=now``, ``Requeue=`` as it was; it counts as an Open (12, B3)."""
        record = item.record
        if record.stage is Stage.RUNNING:
            raise Conflict(f"{self.ref(item)} runs.", todo="Only what has ended is run again.")
        if record.flag is By.ADMINISTRATOR:
            raise Conflict(f"An administrator holds {self.ref(item)}.", todo="Ask for its release.")
        ended = record.stage is Stage.ENDED
        if ended and not (record.requeue or self.world.settings.revive_ended):
            raise Finished(
                f"{self.ref(item)} ended with its requeue bit off: it can never run again."
            )
        self.world.change(item, requeue=True)
        yield
        if ended:
            self._requeue(item)
            held = hold_instance(item) is not None
            ours = record.flag is By.OWNER and self._is_token(item)
            self.world.change(
                item,
                flag=None if ours else record.flag,
                begin=item.record.begin if held else None,
                requeue=record.requeue,
            )
        else:
            self.world.change(item, requeue=record.requeue)
            raise Conflict(f"{self.ref(item)} is pending already.", todo="Open it instead.")
        yield

    def restore_bit(self, item: WorldObject) -> Steps[None]:
        """``Requeue=0``, which an ended job refuses."""
        self._refuse_ended(item, "updated")
        self.world.change(item, requeue=False)
        yield

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        """``--requeue``, which counts nothing: a rule with a limit or a backoff cannot be said with it (12, B2)."""
        return compile_requeue(policy, plan)

    def _refuse_ended(self, item: WorldObject, done: str) -> None:
        if item.record.stage is Stage.ENDED:
            raise Finished(f"{self.ref(item)} has ended, so it was not {done}.")

    def _is_token(self, item: WorldObject) -> bool:
        """Whether the begin time is the gate's or that of a hold of ours."""
        begin = item.record.begin
        return begin is not None and is_token(item.order.base, begin)

    def _second(self) -> int:
        return int(self.world.now.timestamp())


def whole(moment: datetime) -> datetime:
    """Cut a moment to its second, as Slurm does."""
    return moment - timedelta(microseconds=moment.microsecond)
