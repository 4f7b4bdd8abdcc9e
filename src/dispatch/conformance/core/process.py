"""One dispatch process of the core suite: a real supervisor that runs, and can be killed between any two of its steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar, cast

from dispatch.conformance.harness import Harness
from dispatch.conformance.verdicts import Broken
from dispatch.model.journal import Actor
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.shell.supervisor import Supervisor
from dispatch.spi.adapter import AdapterConfig, Backend
from dispatch.spi.store import Store
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.faults import Crash, Fault, FaultyBackend, FaultyStore, Points

T = TypeVar("T")
ALIAS = "conformance"
VERSION = "conformance"


class HarnessClock:
    """The harness's time as a clock (``dispatch.spi.clock.Clock``): that of the loop on which the harness runs the suite."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def now(self) -> datetime:
        """The time on the cluster."""
        return self._harness.now()

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep until then."""
        await asyncio.sleep(max(0.0, (moment - self.now()).total_seconds()))


class OthersGoOn(FaultyBackend):
    """A view of the cluster on which the other processes go on between a read and what is decided on it."""

    async def _read(self, call: Callable[[], Awaitable[T]]) -> T:
        reading = await super()._read(call)
        await asyncio.sleep(0)
        return reading


class EveryClaim(FaultyStore):
    """Records on which each claim is granted, as to a supervisor whose fellow was paused until its own had run out."""

    def claim(
        self,
        jobs: Sequence[str],
        owner: str,  # noqa: ARG002 - whoever it is
        until: datetime,  # noqa: ARG002 - nobody asks for it
        now: datetime,  # noqa: ARG002 - the same
    ) -> frozenset[str]:
        """Grant them all, and keep nobody else away."""
        self.points.alive()
        return frozenset(jobs)


class Process:
    """It shares the records and the cluster with other processes, and nothing else. Its calls and appends are points."""

    def __init__(
        self,
        records: Path,
        backend: Backend,
        harness: Harness,
        host: str,
        kind: type[FaultyStore] = FaultyStore,
    ) -> None:
        self.host = host
        self.points = Points(named={})
        self.store = self.open_store(records, harness.now())
        actor = Actor(user="conformance", host=host, role="conformance")
        store = cast("Store", kind(self.store, self.points))
        self.ledger = Ledger(store, HarnessClock(harness), actor)
        options = EngineOptions(poll=harness.timings.poll)
        self.clusters = Clusters(_no_config, self.ledger, options)
        self.clusters.named(ALIAS).use(OthersGoOn(backend, self.points))
        self.operator = Operator(self.ledger, self.clusters)
        self.supervisor = self.make_supervisor()
        self._running: asyncio.Task[None] | None = None

    def open_store(self, records: Path, now: datetime) -> Store:
        """Open the records once more, as each process does."""
        return SqliteStore.open(records, now=now)

    def make_supervisor(self) -> Supervisor:
        """Make its supervisor, which sweeps too."""
        return Supervisor(self.ledger, self.clusters, VERSION, sweeps=(ALIAS,))

    def supervise(self) -> None:
        """Let its supervisor run, until it is stopped or killed."""
        self._running = asyncio.create_task(self._live(), name=f"the supervisor on {self.host}")

    async def _live(self) -> None:
        with self.points.life():
            await self.supervisor.run()

    def meet(self, point: str, fault: Fault) -> None:
        """Let a fault happen when the process passes that point for the first time, such as ``call open, during``."""
        cast("dict[str, Fault]", self.points.named)[point] = fault

    def kill(self) -> None:
        """Let it be dead from its next step on."""
        with suppress(Crash):
            self.points.die()

    @property
    def dead(self) -> bool:
        """Whether it has been killed."""
        return self.points.dead

    def check(self) -> None:
        """Raise ``Broken`` where the supervisor has ended by itself."""
        if self._running is None or not self._running.done() or self.dead:
            return
        error = None if self._running.cancelled() else self._running.exception()
        raise Broken(f"the supervisor on {self.host} has stopped by itself: {error!r}")

    async def end(self) -> None:
        """Let the supervisor finish its round, and close the records. What fails here is nobody's finding."""
        self.supervisor.stop()
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)
        self.store.close()


def _no_config(alias: str) -> AdapterConfig:
    raise Broken(f"the core asked for another cluster, {alias}")
