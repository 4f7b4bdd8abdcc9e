"""Broken adapters that say wrong things of themselves, write where they may not, or refuse in wrong words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from conformance.breaking import Breakable, broken, enter
from dispatch.adapters.memory.settings import Settings
from dispatch.adapters.memory.world import World
from dispatch.adapters.memory.writing import perform
from dispatch.conformance.memory import MemoryHarness
from dispatch.model.answers import (
    Action,
    Answer,
    Answers,
    Capability,
    ClusterIdentity,
    Declarations,
    Tristate,
)
from dispatch.model.errors import (
    Busy,
    OutcomeUnknown,
    ReadOnly,
    Rejected,
    Unavailable,
    Unsupported,
)
from dispatch.model.status import NodeReport, Observation
from dispatch.spi.adapter import CallMeta, HoldMeta, StartOrder

YES = Answer(value=Tristate.YES)


class Claiming(Breakable):
    """Answers otherwise than the world."""

    def claim(self, answers: Answers) -> Answers:
        """Change the answers."""
        return answers

    @property
    def answers(self) -> Answers:
        return self.claim(super().answers)


@broken
class ClaimsOutput(Claiming):
    """a yes without a method for it"""

    def claim(self, answers: Answers) -> Answers:
        return replace(answers, capabilities={**answers.capabilities, Capability.OUTPUT: YES})


@broken
class NoReasons(Claiming):
    """a no without a reason"""

    def claim(self, answers: Answers) -> Answers:
        bare = {name: replace(one, reason="") for name, one in answers.capabilities.items()}
        return replace(answers, capabilities=bare)


@broken
class NativeAlone(Claiming):
    """a native yes whose rule is no"""

    def claim(self, answers: Answers) -> Answers:
        return replace(answers, native={Action.RESTART: YES})


@broken
class ChangesItsMind(Claiming):
    """an answer that changes under a job"""

    def claim(self, answers: Answers) -> Answers:
        return answers if len(self.writes) < 2 else replace(answers, features={})


@broken
class SettlesByOneRead(Breakable):
    """a declaration that one read settles a call"""

    @property
    def declarations(self) -> Declarations:
        return replace(super().declarations, settling_reads=1)


@broken
class ManyNames(Breakable):
    """a cluster whose name is another for each view"""

    @property
    def identity(self) -> ClusterIdentity:
        return replace(super().identity, name=f"cluster {id(self)}")


@broken
class ReadsNothing(Breakable):
    """a read-only backend that refuses to read"""

    async def inspect(self, ref: str) -> Observation:
        if self._read_only:
            raise ReadOnly("nothing is done")
        return await super().inspect(ref)


@broken
class WritesReadOnly(Breakable):
    """a read-only backend that opens gates"""

    async def open(self, ref: str, meta: CallMeta) -> None:
        if self._read_only:
            await self.writing().open(ref, meta)
        else:
            await super().open(ref, meta)


@broken
class HoldsReadOnly(Breakable):
    """a read-only backend that places holds"""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        if self._read_only:
            await self.writing().hold(ref, meta)
        else:
            await super().hold(ref, meta)


@broken
class HoldsUnproven(Breakable):
    """a hold that is placed although the probe has not proven it"""

    def _require(self, capability: Capability, what: str) -> None:
        if capability is not Capability.HOLD:
            super()._require(capability, what)


@broken
class StartsUngated(Breakable):
    """a start where no gate is proven"""

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        if self.answers.capability(Capability.GATE).yes or self._read_only:
            return await super().start(order, meta)
        return perform(self._world.shape.submit(order))


@broken
class TellsOfNodesUnproven(Breakable):
    """nodes that are told of although that is not proven"""

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        with suppress(Unsupported):
            return await super().nodes(names, ref)
        return self._world.node_reports(names)


@broken
class KnowsEveryNode(Breakable):
    """a node that nobody knows and that responds"""

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        reports = await super().nodes(names, ref)
        return tuple(
            replace(one, responding=True) if one.state == "UNKNOWN" else one for one in reports
        )


@broken
class BusyIsAway(Breakable):
    """a refusal for now that reads as a cluster that is away"""

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        try:
            return await super().start(order, meta)
        except Busy as error:
            raise Unavailable(error.what) from error


@broken
class RejectedIsBusy(Breakable):
    """a refusal for good that reads as one for now"""

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        try:
            return await super().start(order, meta)
        except Rejected as error:
            raise Busy(error.what) from error


@broken
class UndeliveredIsUnknown(Breakable):
    """a write that reaches nobody and reads as perhaps landed"""

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        try:
            return await super().start(order, meta)
        except Unavailable as error:
            raise OutcomeUnknown(error.what) from error


@broken
class ServesWhenClosed(Breakable):
    """a closed backend that goes on"""

    async def close(self) -> None:
        return


class Lenient(Breakable):
    """settings that are passed over where nobody knows them"""


class LenientHarness(MemoryHarness):
    async def open_with(self, settings: dict[str, Any]) -> Lenient:  # noqa: ARG002 - that is the fault
        return Lenient(World(Settings(), self.clock))


enter(Lenient, lambda: LenientHarness(Lenient))
