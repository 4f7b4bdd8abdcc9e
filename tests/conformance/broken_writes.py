"""Broken adapters whose gate, open, stop, hold or release is wrong."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from conformance.breaking import Breakable, broken
from dispatch.adapters.memory import call_start
from dispatch.adapters.memory.slurm_reading import hold_instance
from dispatch.conformance.bench import STORE
from dispatch.model.errors import Finished, NotFound, OutcomeUnknown
from dispatch.model.status import Observation
from dispatch.spi.adapter import CallMeta, HoldMeta, StartOrder


@broken
class LeakingGate(Breakable):
    """a gate that opens by itself when nobody does anything"""

    looks = 0

    async def inspect(self, ref: str) -> Observation:
        self.looks += 1
        if self.writes == ["start"] and self.looks > 3:
            self._world.change(self.item(ref), flag=None, begin=None)
        return await super().inspect(ref)


@broken
class OpensSiblings(Breakable):
    """an open that opens every object of the job"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        await super().open(ref, meta)
        for item in self._world.by_job[self.item(ref).order.id]:
            if self._world.shape.ref(item) != ref:
                self._world.change(item, flag=None, begin=None)


@broken
class OpenRestarts(Breakable):
    """an open that starts a running object anew"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        if self.env.truth(ref).live:
            self.env.requeue_externally(ref)
        await super().open(ref, meta)


@broken
class OpensTheEnded(Breakable):
    """an open that says of an ended object that all is well"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        with suppress(Finished):
            await super().open(ref, meta)


@broken
class OpensTheUnknown(Breakable):
    """an open that says of an unknown object that all is well"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        with suppress(NotFound):
            await super().open(ref, meta)


@broken
class GateIsAFlag(Breakable):
    """a gate that is a hold flag alone, which a release by hand lifts"""

    async def inspect(self, ref: str) -> Observation:
        with suppress(NotFound):
            item = self.item(ref)
            if item.record.flag is None and item.record.begin == item.order.base:
                self._world.change(item, begin=None)
        return await super().inspect(ref)


@broken
class OpensItsOwnOnly(Breakable):
    """an open that works for the process that made the object alone"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        if not self.writes and self.item(ref).queued:
            raise NotFound(f"this process did not make {ref}")
        await super().open(ref, meta)


@broken
class FindsByIdAlone(Breakable):
    """a write that finds its object by the id alone, which was given again"""

    def now_at(self, ref: str) -> str:
        item = self._world.queue.get(int(ref.split(":", maxsplit=1)[0]))
        return self._world.shape.ref(item) if item else ref

    async def open(self, ref: str, meta: CallMeta) -> None:
        await super().open(self.now_at(ref), meta)

    async def stop(self, ref: str, meta: CallMeta) -> None:
        await super().stop(self.now_at(ref), meta)


@broken
class SwapsTheStore(Breakable):
    """a start that signs every object with one store"""

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        return await super().start(replace(order, store=STORE), meta)


@broken
class LeavesTheHeld(Breakable):
    """a stop that does nothing to a held object"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        if hold_instance(self.item(ref)) is None:
            await super().stop(ref, meta)


@broken
class StopsTwo(Breakable):
    """a stop that ends every object of the job"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        await super().stop(ref, meta)
        for item in self._world.by_job[self.item(ref).order.id]:
            self._world.shape.cancel(item, "owner")


@broken
class LeavesTheBit(Breakable):
    """a stop that leaves the requeue bit set"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        was_set = self.item(ref).record.requeue
        await super().stop(ref, meta)
        self._world.change(self.item(ref), requeue=was_set)


@broken
class MindsASecondStop(Breakable):
    """a stop that fails where the object has ended"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        item = self.item(ref)
        if item.queued and item.record.state in {"CANCELLED", "COMPLETED"}:
            raise Finished("it has ended")
        await super().stop(ref, meta)


@broken
class UndoesASuccess(Breakable):
    """a late stop that turns a success into a cancellation"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        await super().stop(ref, meta)
        if self.item(ref).record.state == "COMPLETED":
            self._world.change(self.item(ref), state="CANCELLED")


@broken
class StopsTheUnknown(Breakable):
    """a stop that says of an unknown object that all is well"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        with suppress(NotFound):
            await super().stop(ref, meta)


# -------------------------------------------------------------------- calls and replies


@broken
class LateStart(Breakable):
    """a late start that lands"""

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        with call_start(meta.deadline):
            return await super().start(order, meta)


@broken
class LateOpen(Breakable):
    """a late open that lands"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        with call_start(meta.deadline):
            await super().open(ref, meta)


@broken
class LateStop(Breakable):
    """a late stop that lands"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        with call_start(meta.deadline):
            await super().stop(ref, meta)


@broken
class LateHold(Breakable):
    """a late hold that lands"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        with call_start(meta.deadline):
            await super().hold(ref, meta)


@broken
class LateRelease(Breakable):
    """a late release that lands"""

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        with call_start(meta.deadline):
            await super().release(ref, instance, meta)


@broken
class ComparesAtTheClient(Breakable):
    """a deadline that is compared when the call is queued, and not where its command runs"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        with call_start(self._world.clock.now()):
            await super().open(ref, meta)


@broken
class RetriesACreate(Breakable):
    """a start that is simply tried again when its reply is lost"""

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        try:
            return await super().start(order, meta)
        except OutcomeUnknown:
            await super().start(order, meta)
            raise


@broken
class BelievesAnOpen(Breakable):
    """an open that counts as landed when its reply is lost"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        with suppress(OutcomeUnknown):
            await super().open(ref, meta)


@broken
class BelievesAStop(Breakable):
    """a stop that counts as landed when its reply is lost"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        with suppress(OutcomeUnknown):
            await super().stop(ref, meta)


@broken
class BelievesAHold(Breakable):
    """a hold that counts as landed when its reply is lost"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        with suppress(OutcomeUnknown):
            await super().hold(ref, meta)


@broken
class CrashLeavesTheBit(Breakable):
    """a stop that dies between the end and the requeue bit"""

    async def stop(self, ref: str, meta: CallMeta) -> None:
        try:
            await super().stop(ref, meta)
        except OutcomeUnknown:
            item = self.item(ref)
            if item.record.state != "CANCELLED":
                self._world.shape.cancel(item, "owner")
                self._world.change(item, requeue=True)
            raise
