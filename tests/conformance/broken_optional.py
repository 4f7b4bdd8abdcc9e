"""Broken adapters whose requeue or watch is wrong."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from conformance.breaking import Breakable, broken
from dispatch.adapters.memory import call_start
from dispatch.adapters.memory.watching import Stream
from dispatch.model.answers import Capability
from dispatch.model.errors import Conflict, Finished
from dispatch.model.status import Observation
from dispatch.spi.adapter import CallMeta


@broken
class CountsNoRestart(Breakable):
    """a requeue that does not raise the restart count"""

    def show(self, seen: Observation) -> Observation:
        return replace(seen, restarts=0)


@broken
class KeepsTheBit(Breakable):
    """a requeue that takes away a requeue bit that was not its own"""

    async def requeue(self, ref: str, meta: CallMeta) -> None:
        await super().requeue(ref, meta)
        self._world.change(self.item(ref), requeue=False)


@broken
class RequeuesThePending(Breakable):
    """a requeue that says of a pending object that all is well"""

    async def requeue(self, ref: str, meta: CallMeta) -> None:
        with suppress(Conflict):
            await super().requeue(ref, meta)


@broken
class RequeuesTheFinal(Breakable):
    """a requeue that says of a final object that all is well"""

    async def requeue(self, ref: str, meta: CallMeta) -> None:
        with suppress(Finished):
            await super().requeue(ref, meta)


@broken
class LateRequeue(Breakable):
    """a late requeue that lands"""

    async def requeue(self, ref: str, meta: CallMeta) -> None:
        with call_start(meta.deadline):
            await super().requeue(ref, meta)


@broken
class RestoresNothing(Breakable):
    """a requeue bit that is left set, whoever restores it"""

    async def restore_requeue_bit(self, ref: str, meta: CallMeta) -> None:  # noqa: ARG002 - that is the fault
        return


class Unasked(Breakable):
    """Does what its answers do not claim."""

    unasked: Capability

    def _require(self, capability: Capability, what: str) -> None:
        if capability is not self.unasked:
            super()._require(capability, what)


@broken
class RequeuesUnproven(Unasked):
    """a requeue that is made although it is not claimed"""

    unasked = Capability.REQUEUE


@broken
class WatchesUnproven(Unasked):
    """a watch that is given although it is not claimed"""

    unasked = Capability.WATCH


class Endless(Stream):
    """A stream that tells its last observation again where it should end."""

    told: Observation | None = None

    async def __anext__(self) -> Observation:
        try:
            self.told = await super().__anext__()
        except StopAsyncIteration:
            if self.told is None:
                raise
        return self.told


class Short(Stream):
    """A stream that tells of two things and ends."""

    count = 0

    async def __anext__(self) -> Observation:
        self.count += 1
        if self.count > 2:
            raise StopAsyncIteration
        return await super().__anext__()


@broken
class WatchesTheNew(Breakable):
    """a watch that leaves out some of what was there before"""

    async def watch(self) -> Stream:
        stream = await super().watch()
        for _ in self._world.objects[1:]:
            await anext(aiter(stream))
        return stream


@broken
class WatchesForEver(Breakable):
    """a watch that drops what its buffer cannot hold, and goes on"""

    async def watch(self) -> Stream:
        stream = await super().watch()
        stream.__class__ = Endless
        return stream


@broken
class WatchesTwoThings(Breakable):
    """a watch that tells of two things and no more"""

    async def watch(self) -> Stream:
        stream = await super().watch()
        stream.__class__ = Short
        return stream
