"""The bench on which a check works: makes objects, lets time pass, and looks."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from msgspec.structs import replace

from dispatch.conformance.harness import Harness
from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.conformance.verdicts import Broken, expect
from dispatch.model.answers import Capability, Tristate
from dispatch.model.epoch import ulid
from dispatch.model.errors import DispatchError, NotFound
from dispatch.model.holds import base_of
from dispatch.model.job import Job
from dispatch.model.status import Gate, Observation, State
from dispatch.spi.adapter import (
    Backend,
    CallMeta,
    CessationSignal,
    Checker,
    Holder,
    HoldMeta,
    IdentityWeakener,
    Lister,
    MultiFinder,
    MultiWriter,
    NativePolicyCompiler,
    OutputReader,
    Requeuer,
    StartOrder,
    Watcher,
)

STORE = ulid(0, b"conform-st")
_numbers = itertools.count(1)


class Bench:
    """One check's work place; what it made is stopped, and what it opened closed, when the check is over."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self._opened: list[Backend] = []
        self._made: list[Made] = []
        self._backend: Backend | None = None

    async def begin(self) -> None:
        """Make ready, and open the backend."""
        await self.harness.reset()
        self._backend = await self.view()

    async def end(self) -> None:
        """Stop what was made, close what was opened. What fails here is nobody's finding."""
        for made in self._made:
            with suppress(DispatchError):
                await self.backend.stop(made.ref, self.meta())
        for backend in self._opened:
            with suppress(DispatchError):
                await backend.close()

    @property
    def backend(self) -> Backend:
        """The backend under test."""
        if self._backend is None:
            raise RuntimeError("the bench has not begun")
        return self._backend

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler's side."""
        return self.harness.scheduler

    @property
    def holder(self) -> Holder:
        """The backend as what can hold; a check that asks for it has it in ``needs``, as with the others."""
        backend = self.backend
        if not isinstance(backend, Holder):
            raise Broken("the backend is no Holder")
        return backend

    @property
    def finder(self) -> MultiFinder:
        """The backend as what can read many jobs at once."""
        backend = self.backend
        if not isinstance(backend, MultiFinder):
            raise Broken("the backend is no MultiFinder")
        return backend

    @property
    def writer(self) -> MultiWriter:
        """The backend as what can make many writes at once."""
        backend = self.backend
        if not isinstance(backend, MultiWriter):
            raise Broken("the backend is no MultiWriter")
        return backend

    @property
    def compiler(self) -> NativePolicyCompiler:
        """The backend as what turns rules into the scheduler's settings."""
        backend = self.backend
        if not isinstance(backend, NativePolicyCompiler):
            raise Broken("the backend is no NativePolicyCompiler")
        return backend

    @property
    def identities(self) -> IdentityWeakener:
        """The backend as what can tell of weak refs."""
        backend = self.backend
        if not isinstance(backend, IdentityWeakener):
            raise Broken("the backend is no IdentityWeakener")
        return backend

    @property
    def output(self) -> OutputReader:
        """The backend as what can read output."""
        backend = self.backend
        if not isinstance(backend, OutputReader):
            raise Broken("the backend is no OutputReader")
        return backend

    @property
    def checker(self) -> Checker:
        """The backend as what can check a job without its cluster."""
        backend = self.backend
        if not isinstance(backend, Checker):
            raise Broken("the backend is no Checker")
        return backend

    @property
    def lister(self) -> Lister:
        """The backend as what can list the living."""
        backend = self.backend
        if not isinstance(backend, Lister):
            raise Broken("the backend is no Lister")
        return backend

    @property
    def nodes(self) -> CessationSignal:
        """The backend as what can tell of nodes."""
        backend = self.backend
        if not isinstance(backend, CessationSignal):
            raise Broken("the backend is no CessationSignal")
        return backend

    @property
    def requeuer(self) -> Requeuer:
        """The backend as what can run an ended object again."""
        backend = self.backend
        if not isinstance(backend, Requeuer):
            raise Broken("the backend is no Requeuer")
        return backend

    @property
    def watcher(self) -> Watcher:
        """The backend as what can be watched."""
        backend = self.backend
        if not isinstance(backend, Watcher):
            raise Broken("the backend is no Watcher")
        return backend

    async def view(self, *, read_only: bool = False) -> Backend:
        """Open one more view."""
        backend = await self.harness.open(read_only=read_only)
        self._opened.append(backend)
        return backend

    async def view_without(self, capability: Capability, value: Tristate) -> Backend:
        """A view of a cluster that answers so: this one, where it does, or another."""
        if self.backend.answers.capability(capability).value is value:
            return self.backend
        backend = await self.harness.open_without(capability, value)
        self._opened.append(backend)
        return backend

    # ------------------------------------------------------------------ orders

    def meta(self, ahead: timedelta = timedelta(minutes=1)) -> CallMeta:
        """A deadline so far ahead."""
        return CallMeta(deadline=self.harness.now() + ahead)

    def late(self) -> CallMeta:
        """A deadline that has passed."""
        return self.meta(timedelta(seconds=-1))

    def holding(self, instance: int, ahead: timedelta = timedelta(minutes=1)) -> HoldMeta:
        """A hold of that instance."""
        return HoldMeta(
            deadline=self.harness.now() + ahead, instance=instance, by="conformance", why="a check"
        )

    def order(
        self,
        job: Job | None = None,
        *,
        of: str | None = None,
        submission: int = 1,
        store: str = STORE,
    ) -> StartOrder:
        """An order for an object of a new job, or of the job ``of``."""
        now = self.harness.now()
        randomness = next(_numbers).to_bytes(4, "big") + secrets.token_bytes(6)
        return StartOrder(
            id=of or ulid(int(now.timestamp() * 1000), randomness),
            job=job or self.harness.job(),
            spec_hash="0" * 64,
            store=store,
            submission=submission,
            attempt=secrets.token_hex(8),
            base=base_of(now),
        )

    # ------------------------------------------------------------------- calls

    async def start(self, order: StartOrder | None = None) -> Made:
        """Make a gated object."""
        order = order or self.order()
        return self.keep(Made(await self.backend.start(order, self.meta()), order))

    def keep(self, made: Made) -> Made:
        """Remember an object that was made, so that it is stopped when the check is over."""
        self._made.append(made)
        return made

    async def open(self, made: Made) -> None:
        """Lift its gate."""
        await self.backend.open(made.ref, self.meta())

    async def stop(self, made: Made) -> None:
        """End it."""
        await self.backend.stop(made.ref, self.meta())

    async def hold(self, made: Made, instance: int) -> None:
        """Hold it."""
        await self.holder.hold(made.ref, self.holding(instance))

    async def release(self, made: Made, instance: int, *, opened: bool = False) -> None:
        """Release that hold of it; ``opened`` as in ``CallMeta``."""
        await self.holder.release(made.ref, instance, replace(self.meta(), opened=opened))

    async def start_running(self, order: StartOrder | None = None) -> Made:
        """Make an object, open it, and wait until it runs."""
        made = await self.start(order)
        await self.open(made)
        await self.running(made)
        return made

    async def start_ended(self) -> Made:
        """Make an object that has ended and is still shown: stopped before it runs, or where a stop deletes, finished."""
        made = await self.start()
        await self.stop(made)
        if await self.gone(made) is not None:
            return made
        made = await self.start_running()
        await self.scheduler.finish(made, 0)
        await self.ended(made)
        return made

    # ----------------------------------------------------------------- looking

    async def see(self, made: Made) -> Observation:
        """Read it."""
        return await self.backend.inspect(made.ref)

    async def objects(self, job: str) -> tuple[Observation, ...]:
        """Read all objects of a job."""
        return (await self.backend.find(job)).observations

    async def until(
        self, made: Made, reached: Callable[[Observation], bool], what: str
    ) -> Observation:
        """Let time pass until the object is so; ``Broken`` where that takes too long."""
        timings = self.harness.timings
        end = self.harness.now() + timings.wait
        seen = await self.see(made)
        while not reached(seen):
            if self.harness.now() > end:
                raise Broken(f"it is not {what} after {timings.wait}, but {told(seen)}")
            await self.harness.pass_time(timings.poll)
            seen = await self.see(made)
        return seen

    async def running(self, made: Made) -> Observation:
        """Wait until it runs."""
        return await self.until(made, lambda seen: seen.state is State.RUNNING, "running")

    async def ended(self, made: Made) -> Observation:
        """Wait until it has ended and is cleaned up."""
        return await self.until(
            made, lambda seen: seen.state.ended and not seen.cleaning, "ended and cleaned up"
        )

    async def gone(self, made: Made) -> Observation | None:
        """Wait until it has ended and is cleaned up, or is shown no more, as where a stop deletes; then nothing finds it."""
        try:
            return await self.ended(made)
        except NotFound:
            left = [one.ref for one in await self.objects(made.order.id)]
            expect(made.ref not in left, "a find shows what an inspection does not")
            return None

    async def stays(
        self, made: Made, state: State = State.PENDING, *, gate: Gate | None = None
    ) -> Observation:
        """Demand that it is, and for the quiet time stays, in that state."""
        timings = self.harness.timings
        end = self.harness.now() + timings.quiet
        while True:
            seen = await self.see(made)
            expect(seen.state is state, f"it is {told(seen)}, where it should stay {state}")
            expect(gate is None or seen.gate is gate, f"its gate is {seen.gate}, not {gate}")
            if self.harness.now() >= end:
                return seen
            await self.harness.pass_time(timings.poll)


def told(seen: Observation) -> str:
    """An observation in a few words, with the evidence that it rests on."""
    rests_on = ", ".join(f"{one.source} {one.field}={one.value}" for one in seen.verdict.evidence)
    state = f"{seen.state} ({seen.cause or 'no cause'}, gate {seen.gate}, restarts {seen.restarts})"
    return f"{state} by {rests_on or 'no evidence'}"
