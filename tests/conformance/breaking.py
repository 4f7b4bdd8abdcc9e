"""How a broken adapter is written down: the memory adapter with one thing wrong, and a sentence that says what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.adapters.memory.records import WorldObject
from dispatch.adapters.memory.world import World
from dispatch.conformance.memory import MemoryHarness
from dispatch.model.errors import DispatchError
from dispatch.model.status import Observation, Verdict
from dispatch.spi.adapter import CallMeta, HoldMeta, Reading, StartOrder

BROKEN: dict[str, Callable[[], MemoryHarness]] = {}


class Breakable(MemoryBackend):
    """The memory adapter, with places at which one thing can go wrong."""

    settings: dict[str, Any] = {}

    def __init__(self, world: World, *, alias: str = "memory", read_only: bool = False) -> None:
        super().__init__(world, alias=alias, read_only=read_only)
        self.writes: list[str] = []

    def show(self, seen: Observation) -> Observation:
        """Change what is shown of an object."""
        return seen

    def item(self, ref: str) -> WorldObject:
        """The object of a ref in the world."""
        return self._world.named(ref)

    def sound(self) -> MemoryBackend:
        """A sound view that may do what this one may."""
        return MemoryBackend(self._world, alias="conformance", read_only=self._read_only)

    def writing(self) -> MemoryBackend:
        """A sound view that may write."""
        return MemoryBackend(self._world, alias="conformance")

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        self.writes.append("start")
        return await super().start(order, meta)

    async def open(self, ref: str, meta: CallMeta) -> None:
        self.writes.append("open")
        await super().open(ref, meta)

    async def stop(self, ref: str, meta: CallMeta) -> None:
        self.writes.append("stop")
        await super().stop(ref, meta)

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        self.writes.append("hold")
        await super().hold(ref, meta)

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        self.writes.append("release")
        await super().release(ref, instance, meta)

    async def requeue(self, ref: str, meta: CallMeta) -> None:
        self.writes.append("requeue")
        await super().requeue(ref, meta)

    # What is broken in single writes is broken there alone: each fault is caught by few checks.

    async def start_many(
        self, orders: Sequence[StartOrder], meta: CallMeta
    ) -> list[str | DispatchError]:
        self.writes.append("start_many")
        return await self.sound().start_many(orders, meta)

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> list[DispatchError | None]:
        self.writes.append("open_many")
        return await self.sound().open_many(refs, meta)

    async def inspect(self, ref: str) -> Observation:
        return self.show(await super().inspect(ref))

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        return self.shown(await super().find(job, known))

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        return self.shown(await super().find_many(jobs, known))

    def shown(self, reading: Reading) -> Reading:
        """Show every object of a reading as ``show`` does."""
        return replace(reading, observations=tuple(map(self.show, reading.observations)))


def broken(kind: type[Breakable]) -> type[Breakable]:
    """Enter a broken adapter under the sentence of its docstring."""
    return enter(kind, lambda: MemoryHarness(kind, **kind.settings))


def enter(kind: type[Breakable], harness: Callable[[], MemoryHarness]) -> type[Breakable]:
    """Enter a broken adapter with a harness of its own."""
    sentence = (kind.__doc__ or "").strip()
    assert sentence, kind
    assert sentence not in BROKEN, sentence
    BROKEN[sentence] = harness
    return kind


def verdict(seen: Observation, **changes: Any) -> Observation:
    """The observation with another verdict."""
    return replace(seen, verdict=replace(seen.verdict, **changes))


def detail(seen: Observation, **changes: Any) -> Observation:
    """The observation with another detail of its verdict."""
    return verdict(seen, detail=replace(seen.verdict.detail, **changes))


def instead(seen: Observation, given: Verdict) -> Observation:
    """The observation with that verdict in place of its own."""
    return replace(seen, verdict=given)
