"""What lies between a process and the cluster: legs that take time, replies that are lost, calls that land late.

A write is a request leg, a start on a login node (whose clock checks the deadline), a landing within the call bound, and
a reply leg. Once it has been sent its landing is the cluster's: the process may die, and it lands all the same. Only a
controller that hangs keeps one beyond its bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec.structs import replace

from dispatch.adapters.memory import MemoryBackend, call_start
from dispatch.model.answers import Answers, ClusterIdentity, Declarations
from dispatch.model.errors import DispatchError, OutcomeUnknown, Unavailable
from dispatch.model.status import NodeReport, Observation, State
from dispatch.sim.acts import react
from dispatch.sim.scenario import Kind
from dispatch.spi.adapter import CallMeta, HoldMeta, Living, Reading, StartOrder
from dispatch.testing.points import Crash

if TYPE_CHECKING:
    from dispatch.sim.process import Process
    from dispatch.sim.site import Site
    from dispatch.sim.weather import Journey

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]


def perform(call: Call[T]) -> T | DispatchError:
    """Make a call of the memory backend, which waits for nothing; its error is returned, not raised."""
    making = call()
    try:
        making.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    except DispatchError as error:
        return error
    raise AssertionError("the memory backend waits for something")


class Wire:
    """The cluster as one process reaches it: a backend that holds, finds many, reads nodes and lists what lives."""

    def __init__(self, site: Site, process: Process) -> None:
        self.site = site
        self.process = process
        world = site.elsewhere if process.life_of in site.misled else site.world
        self.inner = MemoryBackend(world, alias="c")

    @property
    def identity(self) -> ClusterIdentity:
        """The cluster's identity."""
        return self.inner.identity

    @property
    def answers(self) -> Answers:
        """What it can do."""
        return self.inner.answers

    @property
    def declarations(self) -> Declarations:
        """Its bounds."""
        return self.site.declared

    # --- writes

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        """Create an object."""
        name = f"{self.site.label(order.id)} start"
        return await self._write(name, order.id, lambda: self.inner.start(order, meta))

    async def open(self, ref: str, meta: CallMeta) -> None:
        """Lift a gate."""
        await self._write_to("open", ref, lambda: self.inner.open(ref, meta))

    async def stop(self, ref: str, meta: CallMeta) -> None:
        """End an object."""
        await self._write_to("stop", ref, lambda: self.inner.stop(ref, meta))

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        """Hold an object."""
        await self._write_to("hold", ref, lambda: self.inner.hold(ref, meta))

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        """Release an object."""
        await self._write_to(
            "release", ref, lambda: self.inner.release(ref, instance, meta), instance
        )

    async def _write_to(self, verb: str, ref: str, call: Call[T], named: int | None = None) -> T:
        job = job_of(ref)
        return await self._write(f"{self.site.label(job)} {verb}", job, call, named)

    async def _write(self, name: str, job: str, call: Call[T], named: int | None = None) -> T:
        journey = self.site.weather.write(self.site.numbered(name), self.site.now)
        await self._leg(journey.request, name)
        journey = self._struck(journey)
        reply: asyncio.Future[T | DispatchError] = self.site.loop.create_future()
        self._begin(journey, job, call, reply, named)
        return await self._hear(journey, name, reply)

    def _struck(self, journey: Journey) -> Journey:
        match self.site.strikes.get(self.site.steps):
            case Kind.LOST:
                return replace(journey, lost=True)
            case Kind.LATE:
                bound = self.declarations.call_bound.total_seconds()
                return replace(journey, lost=True, landing=0.99 * bound)
            case _:
                return journey

    def _begin(
        self,
        journey: Journey,
        job: str,
        call: Call[T],
        reply: asyncio.Future[T | DispatchError],
        named: int | None = None,
    ) -> None:
        """Start the command on a login node; from here on it is the cluster's."""
        site = self.site
        if journey.queued:
            begins = replace(journey, queued=0.0)
            site.loop.call_later(journey.queued, self._begin, begins, job, call, reply, named)
            return
        refused: list[DispatchError] = []
        started = site.login(journey.login).now()

        def land(*, again: bool = False) -> None:
            if again and refused:
                return  # what has answered that it does nothing does nothing
            site.step("cluster", f"{journey.name} lands")
            if journey.disturbed:
                site.world.faults.writes.appendleft(journey.disturbed)
            with call_start(started), site.watched(job, journey.name, named):
                told = perform(call)
            if journey.disturbed:
                with suppress(ValueError):  # a controller that is away has not taken it
                    site.world.faults.writes.remove(journey.disturbed)
            if isinstance(told, DispatchError):
                refused.append(told)
            else:
                react(site, journey.name)
            if not reply.done():
                reply.set_result(told)

        site.loop.call_later(journey.landing, land)
        if journey.again is not None:
            site.loop.call_later(journey.again, partial(land, again=True))

    async def _hear(
        self, journey: Journey, name: str, reply: asyncio.Future[T | DispatchError]
    ) -> T:
        told = await reply
        if journey.lost or (journey.patient and isinstance(told, OutcomeUnknown)):
            await self.site.loop.create_future()  # nothing comes: the caller gives up
        await self._leg(journey.reply, f"{name} answered")
        if isinstance(told, DispatchError):
            raise told
        return told

    async def _leg(self, seconds: float, name: str) -> None:
        """Let time pass on the way; the process may die at its end."""
        await asyncio.sleep(seconds)
        try:
            self.process.point(name)
        except Crash:
            await self.site.loop.create_future()  # it is cancelled, with all that it was about

    # --- reads

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        """Read one job."""
        return await self._read("find", lambda: self.inner.find(job, known), (job,))

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        """Read many jobs."""
        return await self._read("find", lambda: self.inner.find_many(jobs, known), jobs)

    async def inspect(self, ref: str) -> Observation:
        """Read one object."""
        return await self._read("inspect", lambda: self.inner.inspect(ref))

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        """Read nodes."""
        return await self._read("nodes", lambda: self.inner.nodes(names, ref))

    async def list_living(self) -> tuple[Living, ...]:
        """List what lives."""
        return await self._read("list", self.inner.list_living)

    async def _read(self, verb: str, call: Call[T], jobs: Sequence[str] = ()) -> T:
        name = self.site.numbered(f"{self.process.name} {verb}")
        journey = self.site.weather.read(name, self.site.now)
        await self._leg(journey.request, "")
        if journey.lost:
            raise Unavailable(f"No answer to {name}.")
        with call_start(self.site.login(journey.login).now()):
            told = perform(call)
        self.site.begun()
        if isinstance(told, Reading):
            self._note_successes(told, jobs)
        await self._leg(journey.reply, verb)
        if isinstance(told, DispatchError):
            raise told
        return told

    def _note_successes(self, told: Reading, jobs: Sequence[str]) -> None:
        for job in filter(self.site.knows, jobs):
            history = self.site.histories[job]
            mine = [
                seen
                for seen in told.observations
                if seen.key.job == job and seen.state is State.SUCCEEDED
            ]
            history.successes.pop(self.process.name, None)
            if mine:
                newest = max(mine, key=lambda seen: seen.key.submission)
                history.successes[self.process.name] = newest.ref

    async def close(self) -> None:
        """Let go of nothing."""

    def __repr__(self) -> str:
        return f"Wire({self.process.name})"


class ManyWire(Wire):
    """The same, with one command for many writes: each begins when the one before it has landed."""

    async def start_many(
        self, orders: Sequence[StartOrder], meta: CallMeta
    ) -> Sequence[str | DispatchError]:
        """Create each."""
        return await self._each(
            [(f"{self.site.label(o.id)} start", o.id, _start(self.inner, o, meta)) for o in orders]
        )

    async def open_many(
        self, refs: Sequence[str], meta: CallMeta
    ) -> Sequence[DispatchError | None]:
        """Open each."""
        return await self._each(
            [
                (f"{self.site.label(job_of(ref))} open", job_of(ref), _open(self.inner, ref, meta))
                for ref in refs
            ]
        )

    async def _each(self, calls: Sequence[tuple[str, str, Call[T]]]) -> list[T | DispatchError]:
        """Run the command to its end, whether or not its caller lives."""
        first, *_ = journeys = [
            self.site.weather.write(self.site.numbered(name), self.site.now) for name, _, _ in calls
        ]
        await self._leg(first.request, "many writes")
        done: asyncio.Future[list[T | DispatchError]] = self.site.loop.create_future()
        running = self.site.loop.create_task(self._command(journeys, calls, done))
        self.site.commands.add(running)
        running.add_done_callback(self.site.commands.discard)
        answers = await done
        if any(journey.lost for journey in journeys):
            await self.site.loop.create_future()
        await self._leg(first.reply, "many writes answered")
        return answers

    async def _command(
        self,
        journeys: Sequence[Journey],
        calls: Sequence[tuple[str, str, Call[T]]],
        done: asyncio.Future[list[T | DispatchError]],
    ) -> None:
        answers: list[T | DispatchError] = []
        for journey, (_, job, call) in zip(journeys, calls, strict=True):
            reply: asyncio.Future[T | DispatchError] = self.site.loop.create_future()
            self._begin(journey, job, call, reply)
            answers.append(await reply)
        if not done.done():
            done.set_result(answers)


def _start(inner: MemoryBackend, order: StartOrder, meta: CallMeta) -> Call[str]:
    return lambda: inner.start(order, meta)


def _open(inner: MemoryBackend, ref: str, meta: CallMeta) -> Call[None]:
    return lambda: inner.open(ref, meta)


def job_of(ref: str) -> str:
    """The job in a ref of the memory adapter."""
    return ref.split(":")[1]


def open_wire(site: Site, process: Process) -> Wire:
    """Open the cluster for a process; some adapters have one command for many writes."""
    many = site.chance.stream(f"{process.name}/many").happens(0.5)
    return (ManyWire if many else Wire)(site, process)
