"""The composition root: one process's store, clock, clusters, operator, driver and supervisor, put together."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from dispatch.core.recovery import effective_job
from dispatch.model.errors import NotFound, Unsupported
from dispatch.model.job import Job
from dispatch.model.journal import Entry
from dispatch.model.plan import Plan
from dispatch.model.view import JobView
from dispatch.shell.clock import SystemClock
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.config import Config, records_place
from dispatch.shell.driving import Driver, Until
from dispatch.shell.engine import OnStep
from dispatch.shell.identity import this_actor
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator, Submitted
from dispatch.shell.supervisor import FRESH, Round, Supervisor
from dispatch.spi.adapter import AdapterConfig, OutputPlace, OutputReader
from dispatch.spi.clock import Clock
from dispatch.spi.store import Heartbeat, Store
from dispatch.stores.opening import open_store

ATTENDED_POLL = timedelta(seconds=5)
"""The longest time between two looks while a person waits."""


class System:
    """Everything that a command needs. Use it as a context manager; asynchronous methods run in one loop a command."""

    def __init__(
        self, config: Config, store: Store, clock: Clock, *, options: EngineOptions, role: str
    ) -> None:
        self.config = config
        self.store = store
        self.clock = clock
        self.ledger = Ledger(store, clock, this_actor(role))
        self.clusters = Clusters(self._adapter_config, self.ledger, options)
        self.operator = Operator(self.ledger, self.clusters)
        self.driver = Driver(self.ledger, self.clusters)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.store.close()

    def _adapter_config(self, alias: str) -> AdapterConfig:
        name, cluster = self.config.cluster(alias)
        return AdapterConfig(adapter=cluster.adapter, alias=name, settings=cluster.settings)

    # --- reading

    def view(self, job: str) -> JobView:
        """Fold one job from the records. Raises ``NotFound``."""
        return self.ledger.view(job)

    def history(self, job: str) -> tuple[Entry, ...]:
        """The whole record of a job. Raises ``NotFound``."""
        return self.ledger.history(job)

    def supervisors(self) -> tuple[Heartbeat, ...]:
        """The supervisors that are at work on these records now."""
        return self.store.heartbeats(self.clock.now() - FRESH)

    # --- asking

    async def plan(self, job: Job) -> Plan:
        """Plan a job without submitting it. Raises ``Refused`` with every reason."""
        async with self.open_clusters():
            return await self.operator.plan(self._placed(job))

    async def submit(self, job: Job) -> Submitted:
        """Accept a job; see ``Operator.submit``."""
        async with self.open_clusters():
            return await self.operator.submit(self._placed(job))

    def _placed(self, job: Job) -> Job:
        """Name the cluster in the job itself, so that its spec says where it runs."""
        name, _ = self.config.cluster(job.cluster)
        return replace(job, cluster=name)

    def ask_stop(self, job: str, why: str = "") -> JobView:
        """Ask for the job to end; see ``Operator.ask_stop``."""
        return self.operator.ask_stop(job, why)

    def ask_hold(self, job: str, why: str = "", until: datetime | None = None) -> JobView:
        """Ask for a hold; see ``Operator.ask_hold``."""
        return self.operator.ask_hold(job, why, until)

    def ask_release(self, job: str) -> JobView:
        """Ask for the hold to be lifted; see ``Operator.ask_release``."""
        return self.operator.ask_release(job)

    # --- working

    async def drive(
        self,
        jobs: Sequence[str],
        until: Until,
        on_change: Callable[[JobView], None] | None = None,
        timeout: timedelta | None = None,
    ) -> dict[str, JobView]:
        """Run the engine for these jobs until each is that far; see ``Driver.drive``."""
        async with self.open_clusters():
            return await self.driver.drive(jobs, until, on_change, timeout)

    async def supervise(
        self, version: str, *, once: bool = False, on_round: Callable[[Round], None] | None = None
    ) -> None:
        """Supervise every unfinished job until SIGTERM or SIGINT, or for one round of at most a minute a job."""
        gather = self.config.supervisor.poll / 2
        supervisor = Supervisor(
            self.ledger,
            self.clusters,
            version,
            gather=gather,
            sweeps=tuple(self.config.clusters),
            on_round=on_round,
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, supervisor.stop)
        try:
            async with self.open_clusters():
                await (supervisor.once() if once else supervisor.run())
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def read_output(self, view: JobView, submission: int, offset: int, limit: int) -> bytes:
        """Read the output of a submission. Raises ``NotFound`` (none yet), ``Unsupported``, ``Unavailable``."""
        known = view.objects.get(submission)
        if known is None:
            raise NotFound(f"Job {view.id} has no submission {submission} yet.")
        backend = await self.clusters.named(view.header.cluster.alias).backend()
        if not isinstance(backend, OutputReader):
            raise Unsupported(f"The adapter {backend.identity.adapter} reads no output.")
        place = OutputPlace(
            id=view.id, job=effective_job(view), submission=submission, restarts=known.restarts
        )
        return await backend.read_output(place, offset, limit)

    @contextlib.asynccontextmanager
    async def open_clusters(self) -> AsyncGenerator[None]:
        """Keep the clusters open over several steps, since opening one takes its time; close them before their loop ends."""
        try:
            yield
        finally:
            await self.clusters.close()


def open_system(
    config: Config,
    *,
    records: Path | None = None,
    read_only: bool = False,
    role: str = "user",
    on_step: OnStep | None = None,
) -> System:
    """Open the records and put a system together. Raises ``StoreError`` where they cannot be opened."""
    clock = SystemClock()
    store = open_store(records or records_place(config), now=clock.now(), read_only=read_only)
    poll: timedelta = config.supervisor.poll
    if role != "supervisor":
        poll = min(poll, ATTENDED_POLL)
    options = EngineOptions(poll=poll, concurrency=config.supervisor.concurrency, on_step=on_step)
    return System(config, store, clock, options=options, role=role)
