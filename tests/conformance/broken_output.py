"""Broken adapters whose output, or whose check of a job, is wrong."""

from __future__ import annotations

from conformance.breaking import Breakable, enter
from conformance.telling import Telling, harness_of
from dispatch.model.answers import Capability
from dispatch.model.errors import Fault, Invalid, NotFound
from dispatch.model.job import Job
from dispatch.spi.adapter import CallMeta, OutputPlace, StartOrder


def broken(kind: type[Telling]) -> type[Telling]:
    """Enter a broken one."""
    enter(kind, lambda: harness_of(kind))
    return kind


@broken
class TellsTooMuch(Telling):
    """an output of which more is read than was asked for"""

    async def read_output(self, place: OutputPlace, offset: int, limit: int) -> bytes:
        return await super().read_output(place, offset, limit + 1)


@broken
class TellsItsLastByteForEver(Telling):
    """an output that goes on beyond its end"""

    async def read_output(self, place: OutputPlace, offset: int, limit: int) -> bytes:
        return await super().read_output(place, offset, limit) or self.said(place)[-1:]


@broken
class TellsOfOneJob(Telling):
    """an output that is that of the newest job alone"""

    def said(self, place: OutputPlace) -> bytes:
        own = super().said(place)
        begun = [item for item in self._world.objects if item.executions]
        return own if place.id == begun[-1].order.id else own[:0]


@broken
class TellsNothingYet(Telling):
    """an output that is empty before it is there"""

    def said(self, place: OutputPlace) -> bytes:
        try:
            return super().said(place)
        except NotFound:
            return b""


@broken
class TellsUnproven(Telling):
    """an output that is read although it is not claimed"""

    def _require(self, capability: Capability, what: str) -> None:
        if capability is not Capability.OUTPUT:
            super()._require(capability, what)


@broken
class ChecksTooMuch(Telling):
    """a check that finds fault with every job"""

    def check(self, job: Job) -> None:
        fault = Fault(path="command", found=str(job.command), allowed="another")
        raise Invalid("The job has one fault.", faults=(fault,))

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        Telling.check(self, order.job)
        return await Breakable.start(self, order, meta)


@broken
class ChecksTooLittle(Telling):
    """a check that every job passes"""

    def check(self, job: Job) -> None:  # noqa: ARG002 - that is the fault
        return
