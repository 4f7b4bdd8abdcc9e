"""Broken adapters whose hold or release is wrong."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from conformance.breaking import Breakable, broken
from dispatch.adapters.memory.slurm_reading import hold_instance
from dispatch.model.errors import Conflict, Finished, NotFound
from dispatch.model.status import By
from dispatch.spi.adapter import CallMeta, HoldMeta


@broken
class OpenLiftsHolds(Breakable):
    """an open that lifts the hold with the gate"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        await super().open(ref, meta)
        if hold_instance(self.item(ref)) == 3:
            self._world.change(self.item(ref), begin=None)


@broken
class HoldsTheGatedOnly(Breakable):
    """a hold that does nothing once the gate is open"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        if self.item(ref).record.stage.value != "pending" or self.item(ref).record.flag is not None:
            await super().hold(ref, meta)


@broken
class NeverReleases(Breakable):
    """a release that lifts nothing of an opened object"""

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        before = self.item(ref).record.begin
        opened = self.item(ref).record.flag is None
        await super().release(ref, instance, meta)
        if opened:
            self._world.change(self.item(ref), begin=before)


@broken
class ReleaseOpens(Breakable):
    """a release that opens the gate"""

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        await super().release(ref, instance, meta)
        self._world.change(self.item(ref), flag=None, begin=None)


@broken
class TakesEveryFlagForTheGate(Breakable):
    """a release that closes the gate of what somebody else holds too"""

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        await super().release(ref, instance, replace(meta, opened=False))


@broken
class IgnoresTheInstance(Breakable):
    """a release that lifts whatever hold there is"""

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        await super().release(ref, hold_instance(self.item(ref)) or instance, meta)


@broken
class ReleasesNothingGladly(Breakable):
    """a release that says of no hold that it was lifted"""

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        if hold_instance(self.item(ref)) is None and self.item(ref).live == []:
            with suppress(Conflict):
                await super().release(ref, instance, meta)
        else:
            await super().release(ref, instance, meta)


@broken
class OneHoldForEver(Breakable):
    """a hold that is refused where there is one"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        if hold_instance(self.item(ref)) is not None:
            raise Conflict("it is held already")
        await super().hold(ref, meta)


@broken
class LateHoldWins(Breakable):
    """an earlier hold that lands late and takes the place of a later one"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        try:
            await super().hold(ref, meta)
        except Conflict:
            if self.item(ref).record.execution is not None:
                raise
            self._world.change(self.item(ref), begin=self.item(ref).order.base + meta.instance)


@broken
class HoldsTheRunning(Breakable):
    """a hold that says of a running object that it is held"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        with suppress(Conflict):
            await super().hold(ref, meta)


@broken
class HoldsTheEnded(Breakable):
    """a hold that says of an ended object that it is held"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        with suppress(Finished):
            await super().hold(ref, meta)


@broken
class ReleasesTheEnded(Breakable):
    """a release that says of an ended object that it may start"""

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        with suppress(Finished):
            await super().release(ref, instance, meta)


@broken
class HoldsTheUnknown(Breakable):
    """a hold that says of an unknown object that it is held"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        with suppress(NotFound):
            await super().hold(ref, meta)


@broken
class HoldsSiblings(Breakable):
    """a hold that is placed on every object of the job"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        for item in self._world.by_job[self.item(ref).order.id]:
            await super().hold(self._world.shape.ref(item), meta)


@broken
class OpenLiftsTheirs(Breakable):
    """an open that lifts an administrator's hold"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        with suppress(NotFound):
            if self.item(ref).record.flag is By.ADMINISTRATOR:
                self._world.change(self.item(ref), flag=By.OWNER)
        await super().open(ref, meta)


@broken
class ReleaseLiftsTheirs(Breakable):
    """a release that lifts an administrator's hold"""

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        if self.item(ref).record.flag is By.ADMINISTRATOR:
            self._world.change(self.item(ref), flag=None)
        await super().release(ref, instance, meta)
