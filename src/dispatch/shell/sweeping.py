"""The sweep: what lives under the account though its job has ended, or though the records do not know the job (12, T1).

An ended job is never due again, so a start that lands after its end would stay gated in the queue for ever. Once in a
while each cluster is asked for all that lives there. An ended job that has something among it goes through the engine as
any other does: what stops it is an intent, won by compare-and-set on its record, and the command checks the key again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import Enum

from dispatch.model.errors import DispatchError, NotFound
from dispatch.shell.clusters import Cluster, Clusters
from dispatch.shell.ledger import Ledger
from dispatch.spi.adapter import Lister, Living
from dispatch.spi.store import Query

log = logging.getLogger("dispatch.sweeping")

EVERY = timedelta(minutes=5)
"""Nothing that a sweep finds can run: it is gated, or its controller has just come back without its end."""
SOONEST = timedelta(seconds=10)
"""Until the next sweep, where this one has left something to wait for."""
MOST_SHOWN = 3


class _Job(Enum):
    """What the records say of a job that something lives of."""

    ALIVE = "alive"
    ENDED = "ended"
    STRAY = "stray"
    UNREADABLE = "unreadable"


Claim = Callable[[list[str]], frozenset[str]]


class Sweeper:
    """Looks for what lives of ended jobs, on the clusters of these aliases that the records have jobs of."""

    def __init__(
        self, ledger: Ledger, clusters: Clusters, aliases: Sequence[str], claim: Claim
    ) -> None:
        self.ledger = ledger
        self.clusters = clusters
        self.aliases = tuple(aliases)
        self.claim = claim
        self._next: datetime | None = None
        self._told: set[str] = set()
        self._alive: dict[str, dict[str, int]] = {}
        """By cluster, jobs that had not ended at that version: as long as it is theirs, their summaries need not be read again."""

    async def sweep_if_due(self) -> None:
        """Sweep each cluster, at the first call and then once in a while. A fault of one never stops the others."""
        now = self._now()
        if self._next is not None and now < self._next:
            return
        self._next = now + EVERY
        async with asyncio.TaskGroup() as group:
            for alias in self.aliases:
                if self.ledger.store.list(Query(cluster=alias, limit=1)):
                    group.create_task(self._sweep(alias), name=f"sweep {alias}")

    async def _sweep(self, alias: str) -> None:
        cluster = self.clusters.named(alias)
        if cluster.is_away(self._now()):
            return
        try:
            backend = await cluster.backend()
            if isinstance(backend, Lister):
                await self._wake(cluster, self._ours(cluster, await backend.list_living()))
        except DispatchError as error:
            log.warning("cluster %s was not swept: %s", alias, error)
        except Exception:
            log.exception("cluster %s was not swept: an unforeseen fault", alias)

    def _ours(self, cluster: Cluster, living: Sequence[Living]) -> list[str]:
        """The ended jobs of these records that something lives of; what they do not know is shown, and never touched."""
        refs: dict[str, str] = {}
        for one in living:
            if one.store == self.ledger.store.id:
                refs.setdefault(one.job, one.ref)
        versions, alive = self.ledger.store.versions(list(refs)), self._alive.get(cluster.alias, {})
        standing = {
            job: _Job.ALIVE if alive.get(job) == versions.get(job, 0) else self._standing(job)
            for job in refs
        }
        self._alive[cluster.alias] = {
            job: versions[job]
            for job, what in standing.items()
            if what is _Job.ALIVE and job in versions
        }
        self._tell(cluster, [refs[job] for job, what in standing.items() if what is _Job.STRAY])
        # A newer dispatch's are that one's (12, T4).
        ended = (job for job, what in standing.items() if what is _Job.ENDED)
        return [job for job in ended if job not in self.ledger.newer]

    def _standing(self, job: str) -> _Job:
        try:
            return _Job.ENDED if self.ledger.store.summary(job).finished else _Job.ALIVE
        except NotFound:
            return _Job.STRAY
        except DispatchError as error:
            log.error("job %s was not swept: %s", job, error)  # noqa: TRY400 - said in words
            return _Job.UNREADABLE

    def _tell(self, cluster: Cluster, strays: Sequence[str]) -> None:
        shown = [*strays[:MOST_SHOWN], *(["…"] if len(strays) > MOST_SHOWN else [])]
        cluster.strays = (
            f"{cluster.alias} has objects of these records whose jobs they do not know, {len(strays)} in all; they are left "
            f"alone: {', '.join(shown)}. Were the records set back? End what is not wanted with the scheduler's own commands."
            if strays
            else ""
        )
        if new := [ref for ref in strays if ref not in self._told]:
            log.warning("%s", cluster.strays)
            self._told.update(new)

    async def _wake(self, cluster: Cluster, jobs: list[str]) -> None:
        claimed = self.claim(jobs) if jobs else frozenset[str]()
        mine = [job for job in jobs if job in claimed]
        if not mine:
            return
        log.warning("cluster %s: something lives of jobs that have ended: %s", cluster.alias, mine)
        standings = await self.clusters.advance(cluster.alias, mine)
        waits = [one.look_at for one in standings.values() if one.look_at is not None]
        if waits and self._next is not None:
            self._next = min(self._next, max(min(waits), self._now() + SOONEST))

    def _now(self) -> datetime:
        return self.ledger.clock.now()
