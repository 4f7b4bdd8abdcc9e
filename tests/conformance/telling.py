"""A memory adapter whose programs say something and which checks jobs before it makes them, with its harness."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from conformance.breaking import Breakable
from dispatch.conformance.memory import MemoryHarness
from dispatch.model.answers import Capability
from dispatch.model.errors import Fault, Invalid, NotFound
from dispatch.model.job import Job
from dispatch.spi.adapter import CallMeta, OutputPlace, StartOrder


class Telling(Breakable):
    """Sound: its programs say what their last argument is; an output has no name with a backslash."""

    settings: dict[str, Any] = {"capabilities": {"Output": {"value": "yes"}}}

    async def read_output(self, place: OutputPlace, offset: int, limit: int) -> bytes:
        self._require(Capability.OUTPUT, "read output")
        return self.said(place)[offset : offset + limit]

    def said(self, place: OutputPlace) -> bytes:
        """The whole output."""
        begun = [item for item in self._world.by_job.get(place.id, ()) if item.executions]
        if not begun:
            raise NotFound("There is no output yet.")
        return begun[-1].order.job.command[-1].encode()

    def check(self, job: Job) -> None:
        if job.output is not None and "\\" in job.output:
            fault = Fault(path="output", found=job.output, allowed="no backslash")
            raise Invalid("The job has one fault.", faults=(fault,))

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        self.check(order.job)
        return await super().start(order, meta)


class TellingHarness(MemoryHarness):
    """The harness of such an adapter."""

    def telling_job(self, text: str) -> Job:
        return Job(command=("say", text))

    def faulty_job(self) -> Job:
        return replace(self.job(), output="a\\b")


def harness_of(kind: type[Telling]) -> TellingHarness:
    """The harness of one of these."""
    return TellingHarness(kind, **kind.settings)
