"""A backend of a process that can die before, during and after each of its calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Self, TypeVar, cast

from dispatch.model.answers import Answers, ClusterIdentity, Declarations
from dispatch.model.errors import DispatchError
from dispatch.model.job import Job
from dispatch.model.plan import Plan
from dispatch.model.policy import Policy
from dispatch.model.status import NodeReport, Observation
from dispatch.spi.adapter import (
    Backend,
    CallMeta,
    CessationSignal,
    Checker,
    Holder,
    HoldMeta,
    IdentityWeakener,
    Lister,
    Living,
    MultiFinder,
    MultiWriter,
    NativePolicyCompiler,
    OutputPlace,
    OutputReader,
    Reading,
    Requeuer,
    StartOrder,
    Watch,
    Watcher,
)
from dispatch.testing.points import Points

T = TypeVar("T")


class FaultyBackend:
    """A backend whose calls are points; it implements ``dispatch.spi.adapter.Backend``.

    It offers exactly the optional protocols that the backend within offers.
    """

    def __new__(cls, backend: Backend, points: Points) -> Self:  # noqa: ARG004 - __init__ takes them
        """Make an object of the class that has the optional protocols of ``backend``."""
        parts = [part for protocol, part in _OPTIONAL.items() if isinstance(backend, protocol)]
        # A check of a protocol looks at the class (from 3.12 on at nothing else), so that delegation would not do.
        return cast("Self", object.__new__(type(cls.__name__, (*parts, cls), {})))

    def __init__(self, backend: Backend, points: Points) -> None:
        self.inner = backend
        self.points = points

    @property
    def identity(self) -> ClusterIdentity:
        """The identity of the cluster within."""
        return self.inner.identity

    @property
    def answers(self) -> Answers:
        """What the backend within answers."""
        return self.inner.answers

    @property
    def declarations(self) -> Declarations:
        """What the backend within declares."""
        return self.inner.declarations

    async def _call(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        self.points.reach(f"{name}, before")
        reply = await self.points.during(f"{name}, during", call)
        self.points.reach(f"{name}, after")
        return reply

    async def _read(self, call: Callable[[], Awaitable[T]]) -> T:
        """Read, between two points; there is no effect to die in the middle of."""
        self.points.reach("read, before")
        reading = await call()
        self.points.reach("read, after")
        return reading

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        """Create an object, at three points."""
        return await self._call("call start", lambda: self.inner.start(order, meta))

    async def open(self, ref: str, meta: CallMeta) -> None:
        """Lift a gate, at three points."""
        await self._call("call open", lambda: self.inner.open(ref, meta))

    async def stop(self, ref: str, meta: CallMeta) -> None:
        """End an object, at three points."""
        await self._call("call stop", lambda: self.inner.stop(ref, meta))

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        """Read one job, between two points."""
        return await self._read(lambda: self.inner.find(job, known))

    async def inspect(self, ref: str) -> Observation:
        """Read one object, between two points."""
        return await self._read(lambda: self.inner.inspect(ref))

    async def close(self) -> None:
        """Let go of everything."""
        self.points.alive()
        await self.inner.close()

    def __repr__(self) -> str:
        return f"FaultyBackend({self.inner!r}, {self.points!r})"


class _Holding(FaultyBackend):
    async def hold(self, ref: str, meta: HoldMeta) -> None:
        inner = cast("Holder", self.inner)
        await self._call("call hold", lambda: inner.hold(ref, meta))

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        inner = cast("Holder", self.inner)
        await self._call("call release", lambda: inner.release(ref, instance, meta))


class _Requeuing(FaultyBackend):
    async def requeue(self, ref: str, meta: CallMeta) -> None:
        inner = cast("Requeuer", self.inner)
        await self._call("call requeue", lambda: inner.requeue(ref, meta))

    async def restore_requeue_bit(self, ref: str, meta: CallMeta) -> None:
        inner = cast("Requeuer", self.inner)
        await self._call("call restore requeue bit", lambda: inner.restore_requeue_bit(ref, meta))


class _Compiling(FaultyBackend):
    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        self.points.alive()
        return cast("NativePolicyCompiler", self.inner).compile_native(policy, plan)


class _Watching(FaultyBackend):
    async def watch(self) -> Watch:
        inner = cast("Watcher", self.inner)
        return await self._read(inner.watch)


class _Weakening(FaultyBackend):
    async def weakness(self, ref: str) -> str | None:
        inner = cast("IdentityWeakener", self.inner)
        return await self._read(lambda: inner.weakness(ref))


class _Listing(FaultyBackend):
    async def list_living(self) -> tuple[Living, ...]:
        inner = cast("Lister", self.inner)
        return await self._read(inner.list_living)


class _Checking(FaultyBackend):
    def check(self, job: Job) -> None:
        self.points.alive()
        cast("Checker", self.inner).check(job)


class _Finding(FaultyBackend):
    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        inner = cast("MultiFinder", self.inner)
        return await self._read(lambda: inner.find_many(jobs, known))


class _Writing(FaultyBackend):
    """Many writes in one call: it can break off, or lose a reply, at each of them."""

    async def _each(
        self, name: str, calls: Sequence[Callable[[], Awaitable[Sequence[T | DispatchError]]]]
    ) -> list[T | DispatchError]:
        self.points.reach(f"{name}, before")
        made: list[T | DispatchError] = []
        for call in calls:
            try:
                made += await self.points.during(f"{name}, during", call)
            except DispatchError as error:
                made.append(error)
        self.points.reach(f"{name}, after")
        return made

    async def start_many(
        self, orders: Sequence[StartOrder], meta: CallMeta
    ) -> list[str | DispatchError]:
        inner = cast("MultiWriter", self.inner)
        calls = [partial(inner.start_many, (order,), meta) for order in orders]
        return await self._each("call start many", calls)

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> list[DispatchError | None]:
        inner = cast("MultiWriter", self.inner)
        calls = [partial(inner.open_many, (ref,), meta) for ref in refs]
        return await self._each("call open many", calls)


class _Signalling(FaultyBackend):
    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        inner = cast("CessationSignal", self.inner)
        return await self._read(lambda: inner.nodes(names, ref))


class _Reading(FaultyBackend):
    async def read_output(self, place: OutputPlace, offset: int, limit: int) -> bytes:
        inner = cast("OutputReader", self.inner)
        return await self._read(lambda: inner.read_output(place, offset, limit))


_OPTIONAL: dict[Any, type[FaultyBackend]] = {
    Holder: _Holding,
    Requeuer: _Requeuing,
    NativePolicyCompiler: _Compiling,
    Watcher: _Watching,
    IdentityWeakener: _Weakening,
    Lister: _Listing,
    Checker: _Checking,
    MultiFinder: _Finding,
    MultiWriter: _Writing,
    CessationSignal: _Signalling,
    OutputReader: _Reading,
}
