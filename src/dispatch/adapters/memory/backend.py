"""The memory backend: one view of a world, through the same seams as a real cluster."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dispatch.adapters.memory.answers import declarations_of
from dispatch.adapters.memory.calls import refuse_late, started
from dispatch.adapters.memory.env import Env
from dispatch.adapters.memory.listing import living_in
from dispatch.adapters.memory.many import ManyWrites
from dispatch.adapters.memory.settings import Settings, decode_settings
from dispatch.adapters.memory.world import World
from dispatch.adapters.memory.writing import write
from dispatch.model.answers import Answers, Capability, ClusterIdentity, Declarations
from dispatch.model.errors import ReadOnly, Unavailable, Unsupported
from dispatch.spi.adapter import AdapterConfig, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dispatch.adapters.memory.shape import Steps
    from dispatch.adapters.memory.watching import Stream
    from dispatch.model.plan import Plan
    from dispatch.model.policy import Policy
    from dispatch.model.status import NodeReport, Observation
    from dispatch.spi.adapter import CallMeta, HoldMeta, Living, StartOrder
    from dispatch.spi.clock import Clock

T = TypeVar("T")


class SystemClock:
    """The clock of this machine, for a world that is opened without another."""

    def now(self) -> datetime:
        """The time now."""
        return datetime.now(UTC)

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until then, by the event loop's timer."""
        await asyncio.sleep((moment - self.now()).total_seconds())


class MemoryBackend(ManyWrites):
    """A view of a memory world: ``Backend`` and every optional protocol but ``OutputReader``.

    ``env`` drives the scheduler's side and tells the ground truth. Nothing here starts a task, a timer or a thread.
    """

    def __init__(self, world: World, *, alias: str = "memory", read_only: bool = False) -> None:
        self._world = world
        self._read_only = read_only
        self._closed = False
        self._streams: list[Stream] = []
        self._identity = ClusterIdentity(
            alias=alias,
            adapter="memory",
            name=world.settings.cluster_name,
            version=world.settings.shape,
        )
        self._declarations = declarations_of(world.settings)
        self.env = Env(world, partial(MemoryBackend, world, alias=alias))

    @classmethod
    def create(
        cls,
        settings: Settings | None = None,
        *,
        clock: Clock,
        alias: str = "memory",
        read_only: bool = False,
    ) -> MemoryBackend:
        """Make a new world under ``clock``, and give its first view."""
        return cls(World(settings or Settings(), clock), alias=alias, read_only=read_only)

    @property
    def identity(self) -> ClusterIdentity:
        """Which world this is."""
        return self._identity

    @property
    def answers(self) -> Answers:
        """What it can do, as its settings say."""
        return self._world.answers

    @property
    def declarations(self) -> Declarations:
        """The bounds and windows of its settings."""
        return self._declarations

    # ----------------------------------------------------------------- writes

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        """Create a gated object and return its ref. Raises ``Rejected``, ``Busy``, ``Expired``."""
        what = f"submission {order.submission} of {order.id}"
        if not self.answers.capability(Capability.GATE).yes and not self._read_only:
            raise Unsupported(
                f"{what} was not started: the gate is not proven here.",
                todo="Correct `capabilities.Gate`.",
            )
        return self._write("start", what, meta, lambda: self._world.shape.submit(order))

    async def open(self, ref: str, meta: CallMeta) -> None:
        """Lift the gate. Raises ``Finished``, ``NotFound``, ``Conflict`` (an administrator's hold), ``Expired``."""
        self._write("open", ref, meta, lambda: self._world.shape.open(self._world.shown(ref)))

    async def stop(self, ref: str, meta: CallMeta) -> None:
        """End one object for good; one that has ended is no error. Raises ``NotFound``, ``Expired``."""
        self._write("stop", ref, meta, lambda: self._world.shape.stop(self._world.shown(ref)))

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        """Keep a pending object from starting. Raises ``Conflict``, ``Finished``, ``Expired``."""
        self._write(
            "hold",
            ref,
            meta,
            lambda: self._world.shape.hold(self._world.shown(ref), meta),
            needs=Capability.HOLD,
        )

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        """Lift the hold of that instance. Raises ``Conflict``, ``Finished``, ``Expired``."""
        self._write(
            "release",
            ref,
            meta,
            lambda: self._world.shape.release(self._world.shown(ref), instance, opened=meta.opened),
            needs=Capability.HOLD,
        )

    async def requeue(self, ref: str, meta: CallMeta) -> None:
        """Bring an ended object back to pending. Raises ``Conflict``, ``Finished``, ``Unsupported``, ``Expired``."""
        self._write(
            "requeue",
            ref,
            meta,
            lambda: self._world.shape.revive(self._world.shown(ref)),
            needs=Capability.REQUEUE,
        )

    async def restore_requeue_bit(self, ref: str, meta: CallMeta) -> None:
        """Clear a requeue bit that was left set. Raises ``Finished``, ``Unsupported``, ``Expired``."""
        self._write(
            "restoring of the requeue bit",
            ref,
            meta,
            lambda: self._world.shape.restore_bit(self._world.shown(ref)),
            needs=Capability.REQUEUE,
        )

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        """Turn the rules that the plan leaves to the scheduler into ``StartOrder.native``. Raises ``Unsupported``."""
        return self._world.shape.compile_native(policy, plan)

    def _write(
        self,
        verb: str,
        ref: str,
        meta: CallMeta,
        steps: Callable[[], Steps[T]],
        *,
        needs: Capability | None = None,
    ) -> T:
        if self._read_only:
            raise ReadOnly(
                f"{verb} of {ref} was not sent: the backend was opened for reading only."
            )
        if not self.answers.capability(Capability.GATE).yes:
            raise ReadOnly(
                f"{verb} of {ref} was not sent: the gate is not proven here, so nothing is written."
            )
        if needs is not None:
            self._require(needs, f"{verb} {ref}")
        now = self._enter()
        refuse_late(started(now), meta, verb, ref)
        return write(self._world, f"{verb} of {ref}", steps)

    # ------------------------------------------------------------------ reads

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        """Read every object of the job that the queue, or accounting, shows."""
        return self._read([job], known)

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        """Read every object of these jobs; the same as one ``find`` each."""
        return self._read(dict.fromkeys(jobs), known)

    async def list_living(self) -> tuple[Living, ...]:
        """List what has not ended, whoever's store made it."""
        self._enter_read()
        return living_in(self._world)

    async def inspect(self, ref: str) -> Observation:
        """Read one object. Raises ``NotFound``; that is no proof that it never was."""
        self._enter_read()
        return self._world.shape.observe(self._world.shown(ref))

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        """Read these nodes, or all of them where no names are given."""
        self._require(Capability.CESSATION, "read nodes")
        self._enter_read()
        self._world.named(ref)
        return self._world.node_reports(names)

    async def watch(self) -> Stream:
        """Subscribe: every object's current observation first, then each change. Raises ``Unsupported``."""
        self._require(Capability.WATCH, "watch")
        self._enter_read()
        self._streams = [stream for stream in self._streams if not stream.closed]
        self._streams.append(self._world.watch())
        return self._streams[-1]

    async def weakness(self, ref: str) -> str | None:
        """Say why the scheduler's own identity behind the ref means another object too by now."""
        self._enter_read()
        return self._world.shape.weakness(self._world.named(ref))

    def _read(self, jobs: Iterable[str], known: Sequence[str]) -> Reading:
        sent, world, refs = started(self._enter_read()), self._world, frozenset(known)
        found = [
            item
            for job in jobs
            for item in world.by_job.get(job, ())
            if world.visible(item)
            and (item.record.name is None or (refs and world.shape.ref(item) in refs))
        ]
        return Reading(sent=sent, boot=world.boot, observations=world.observe_all(found))

    def _enter_read(self) -> datetime:
        now = self._enter()
        if self._world.faults.reads:
            raise self._world.faults.reads.popleft()
        self._world.refuse_if_away()
        if self._world.hung:
            raise Unavailable("The controller of the memory world hangs.", todo="Try again later.")
        return now

    def _enter(self) -> datetime:
        if self._closed:
            raise Unavailable("This backend was closed.", todo="Open the cluster again.")
        return self._world.settle()

    def _require(self, capability: Capability, what: str) -> None:
        answer = self.answers.capability(capability)
        if not answer.yes:
            raise Unsupported(
                f"Cannot {what}: {capability} is {answer.value} here. {answer.reason}".strip()
            )

    async def close(self) -> None:
        """Let go of this view, and end its streams; the world goes on for the others."""
        self._closed = True
        for stream in self._streams:
            stream.end()

    def __repr__(self) -> str:
        mode = "closed" if self._closed else "read-only" if self._read_only else "open"
        return f"MemoryBackend({self._identity.alias}, {mode}, {self._world!r})"


def open_memory(
    settings: Settings | Mapping[str, Any] | str | None = None,
    *,
    clock: Clock | None = None,
    alias: str = "memory",
    read_only: bool = False,
) -> MemoryBackend:
    """Make a new world and give its first view, whose ``env`` drives the scheduler's side.

    ``settings`` are the document's plain data or its JSON text; ``clock`` is this machine's unless another is given, such
    as ``dispatch.testing.clock.ManualClock``. Raises ``Invalid`` with every fault of the settings.
    """
    if not isinstance(settings, Settings):
        settings = decode_settings({} if settings is None else settings)
    return MemoryBackend.create(
        settings, clock=clock or SystemClock(), alias=alias, read_only=read_only
    )


async def factory(config: AdapterConfig) -> MemoryBackend:
    """Open a new world under this machine's clock. Raises ``Invalid`` with every fault of the settings."""
    return open_memory(config.settings, alias=config.alias, read_only=config.read_only)
