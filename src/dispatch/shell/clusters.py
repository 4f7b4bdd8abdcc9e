"""The clusters of a process: each opened once, when it is first needed, and backed off from while it is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from dispatch.model.errors import DispatchError
from dispatch.model.view import JobView
from dispatch.shell.engine import Engine, OnStep, Standing
from dispatch.shell.ledger import Ledger
from dispatch.spi.adapter import AdapterConfig, Backend
from dispatch.spi.registry import open_backend
from dispatch.spi.store import AWAY

log = logging.getLogger("dispatch.clusters")

SHORTEST_ABSENCE = timedelta(seconds=5)
LONGEST_ABSENCE = timedelta(minutes=2)


class Cluster:
    """One cluster by its alias: its backend, its engine, and how long it has been away."""

    def __init__(
        self,
        alias: str,
        opener: Callable[[], AdapterConfig],
        ledger: Ledger,
        options: EngineOptions,
    ) -> None:
        self.alias = alias
        self._opener = opener
        self._ledger = ledger
        self._options = options
        self._lock = asyncio.Lock()
        self._backend: Backend | None = None
        self._engine: Engine | None = None
        self.away_since: datetime | None = None
        self.away_until: datetime | None = None
        self._absences = 0
        self.trouble = ""
        self.strays = ""
        """Tells of objects of these records whose jobs they do not know; empty where there are none (12, T1)."""

    async def backend(self) -> Backend:
        """Open the backend, or return the open one. Raises what opening raises."""
        async with self._lock:
            if self._backend is None:
                self._backend = await open_backend(self._opener())
            return self._backend

    async def engine(self) -> Engine:
        """The engine of this cluster."""
        backend = await self.backend()
        if self._engine is None:
            self._engine = Engine(
                self._ledger,
                backend,
                poll=self._options.poll,
                concurrency=self._options.concurrency,
                on_step=self._options.on_step,
            )
            self._warn_of_rare_looks(backend)
        return self._engine

    def _warn_of_rare_looks(self, backend: Backend) -> None:
        """Warn where an end may come and its evidence go between two looks (12, E6)."""
        window = backend.declarations.evidence_window
        if self._options.poll * 2 > window:
            log.warning(
                "cluster %s: it is looked at every %s, but an ended job may be forgotten within %s, and its cause with it; "
                "lower supervisor.poll, or have the cluster keep accounts",
                self.alias, self._options.poll, window,
            )  # fmt: skip

    def use(self, backend: Backend) -> None:
        """Use a backend that is open already, as tests and the demo do."""
        self._backend = backend

    def is_away(self, now: datetime) -> bool:
        """Whether the cluster is left alone for now, since it could not be reached."""
        return self.away_until is not None and now < self.away_until

    def was_seen(self) -> None:
        """Note that the cluster has answered."""
        if self.away_since is not None:
            log.warning("cluster %s answers again", self.alias)
        self.away_since = self.away_until = None
        self._absences, self.trouble = 0, ""

    def was_missed(self, error: DispatchError, now: datetime) -> datetime:
        """Note that it could not be reached; returns when it is tried again. Nothing is concluded about any job."""
        wait: timedelta = min(SHORTEST_ABSENCE * 2**self._absences, LONGEST_ABSENCE)
        self._absences = min(self._absences + 1, 10)
        self.away_since = self.away_since or now
        until = now + wait
        self.away_until = until
        self.trouble = str(error)
        log.warning("cluster %s is away, tried again in %s: %s", self.alias, wait, error)
        return until

    async def close(self) -> None:
        """Close the backend."""
        if self._backend is not None:
            await self._backend.close()
            self._backend = self._engine = None


class EngineOptions:
    """How engines run: the longest time between two looks at a job, and how many calls run at once in a cluster."""

    def __init__(
        self,
        *,
        poll: timedelta = timedelta(seconds=10),
        concurrency: int = 8,
        on_step: OnStep | None = None,
    ) -> None:
        self.poll = poll
        self.concurrency = concurrency
        self.on_step = on_step


class Clusters:
    """All clusters of a process, by alias."""

    def __init__(
        self, opener: Callable[[str], AdapterConfig], ledger: Ledger, options: EngineOptions
    ) -> None:
        self._opener = opener
        self._ledger = ledger
        self._options = options
        self._known: dict[str, Cluster] = {}

    def named(self, alias: str) -> Cluster:
        """The cluster of that alias. It is opened when it is used, so an unknown alias is an error only then."""
        if alias not in self._known:
            self._known[alias] = Cluster(
                alias, lambda: self._opener(alias), self._ledger, self._options
            )
        return self._known[alias]

    async def advance(
        self, alias: str, jobs: list[str], enough: Callable[[JobView], bool] | None = None
    ) -> dict[str, Standing]:
        """Advance jobs of one cluster, as ``Engine.advance`` does. One that is away only delays them."""
        cluster = self.named(alias)
        if not cluster.is_away(self._ledger.clock.now()):
            try:
                engine = await cluster.engine()
                standings = await engine.advance(jobs, enough=enough)
            except DispatchError as error:
                # Away, or refused until a person acts: either way the other clusters go on.
                cluster.was_missed(error, self._ledger.clock.now())
            else:
                cluster.was_seen()
                return standings
        return {job: Standing(job, cluster.away_until, cluster.trouble) for job in jobs}

    def troubles(self) -> tuple[str, ...]:
        """Tell of each cluster that is away: since when, and what it or its host said; and of strays."""
        known = [cluster for _, cluster in sorted(self._known.items())]
        away = (
            f"{cluster.alias}{AWAY}{cluster.away_since:%Y-%m-%dT%H:%M:%SZ}: {cluster.trouble}"
            for cluster in known
            if cluster.away_since
        )
        return (*away, *(cluster.strays for cluster in known if cluster.strays))

    async def close(self) -> None:
        """Close every backend."""
        for cluster in self._known.values():
            await cluster.close()
