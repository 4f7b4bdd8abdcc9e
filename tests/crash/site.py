"""A memory cluster with records, and processes on them that can die at any of their points."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from dispatch.adapters.memory import Env, MemoryBackend, decode_settings
from dispatch.core.folding import fold
from dispatch.model.journal import Actor, Entry
from dispatch.model.view import JobView
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.driving import Driver
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.shell.supervisor import Supervisor
from dispatch.spi.adapter import AdapterConfig
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.clock import ManualClock
from dispatch.testing.faults import FaultyBackend, FaultyStore, Points

POLL = timedelta(minutes=2)
"""Seldom: each look at a job that waits is the same few points again."""


class Site:
    """The cluster, the records and the clock that all processes share."""

    def __init__(self, records: Records, **settings: Any) -> None:
        self.clock = ManualClock()
        self.backend = MemoryBackend.create(
            decode_settings(
                {
                    "nodes": 8,
                    "slurmdTimeout": "40s",
                    "capabilities": {"AccountingHistory": {"value": "yes"}},
                    **settings,
                }
            ),
            clock=self.clock,
            alias="c",
        )
        self.env: Env = self.backend.env
        self._place = records.path
        self._here = threading.local()
        self._here.store = records.store
        self._views: dict[str, JobView] = {}

    @property
    def store(self) -> SqliteStore:
        """The records as the test reads them; a store belongs to the thread that opened it."""
        if not hasattr(self._here, "store"):
            self._here.store = SqliteStore.open(self._place, now=self.clock.now())
        opened: SqliteStore = self._here.store
        return opened

    def view(self, job: str) -> JobView:
        """The job as the records say."""
        known = self._views.get(job)
        entries = self.store.load(job, known.version if known else 0)
        self._views[job] = view = fold(entries, known) if entries or known is None else known
        return view

    def history(self, job: str) -> tuple[Entry, ...]:
        """The record of a job."""
        return self.store.load(job)

    def land_late(self, by: timedelta) -> None:
        """Let the call that is just being made land so much later."""
        self.env.delay_next_call(by)

    def elsewhere(self, work: Callable[[], None]) -> None:
        """Do the work in a thread of its own and wait: an event loop that stands still cannot run another."""
        faults: list[BaseException] = []

        def guarded() -> None:
            try:
                work()
            except BaseException as fault:  # noqa: BLE001 - raised again where it is waited for
                faults.append(fault)
            finally:
                self._here.store.close()

        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
        if faults:
            raise faults[0]


class Process:
    """One dispatch process: what ``submit``, ``stop`` and the others do, and a supervisor.

    Processes of one thread share a connection: it keeps nothing between two transactions, and a dead one cannot reach it.
    """

    def __init__(self, site: Site, name: str, points: Points) -> None:
        self.points = points
        self.backend = FaultyBackend(self.view_of(site), points)
        self.ledger = Ledger(
            FaultyStore(site.store, points),
            site.clock,
            Actor(user="alice", host=name, role="test"),
        )
        self.clusters = Clusters(_no_config, self.ledger, EngineOptions(poll=POLL))
        self.clusters.named("c").use(self.backend)
        self.operator = Operator(self.ledger, self.clusters)
        self.driver = Driver(self.ledger, self.clusters)
        self.supervisor = Supervisor(self.ledger, self.clusters, "test")

    def view_of(self, site: Site) -> MemoryBackend:
        """How this process sees the cluster."""
        return site.env.view()

    async def turn(self, jobs: Sequence[str]) -> None:
        """Run the engine for one call for each job at the most."""
        engine = await self.clusters.named("c").engine()
        await engine.advance(jobs, turns=1)


def _no_config(alias: str) -> AdapterConfig:
    raise AssertionError(alias)


class Records:
    """The records that the tellings of a test share, each with a job of its own, until one of them fails."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._made = itertools.count(1)
        self._tellings = itertools.count(1)
        self.path, self.store = self._new()

    def renew(self) -> None:
        """Begin anew, with empty records: a telling that failed may have left a job that is not ended."""
        self.store.close()
        self.path, self.store = self._new()

    def _new(self) -> tuple[Path, SqliteStore]:
        path = self._place / f"records-{next(self._made)}.db"
        return path, SqliteStore.open(path, now=ManualClock().now())

    def new_key(self) -> str:
        """A key for the job of another telling."""
        return f"key-{next(self._tellings)}"

    def close(self) -> None:
        """Close the records."""
        self.store.close()


async def with_time_passing(clock: ManualClock, work: asyncio.Future[Any]) -> None:
    """Wait for work that sleeps on the clock, by moving the clock, in long steps, whenever nothing else is left to do."""
    for _ in range(500):
        for _ in range(10):
            await asyncio.sleep(0)
        if work.done():
            await work
            return
        if (alarm := clock.next_alarm) is not None:
            clock.advance_to(max(alarm, clock.now() + timedelta(seconds=5)))
    work.cancel()
    raise AssertionError("it does not come to an end")
