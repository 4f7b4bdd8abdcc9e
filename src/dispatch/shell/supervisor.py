"""The supervisor: applies the policies of all unfinished jobs, for as long as it runs.

It may be killed, upgraded, or run twice: what it knows is in the records. Claims spread jobs over several supervisors;
a claim that is lost costs a second look, never a second job.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dispatch.model.errors import DispatchError
from dispatch.shell.clusters import Clusters
from dispatch.shell.engine import Standing, turns_of
from dispatch.shell.identity import token
from dispatch.shell.ledger import Ledger
from dispatch.shell.sweeping import Sweeper
from dispatch.spi.store import Heartbeat

log = logging.getLogger("dispatch.supervisor")

CLAIM = timedelta(seconds=15)
"""Longer than a round takes, and short: the jobs of a supervisor that was killed wait as long for the next."""
TICK = timedelta(seconds=1)
AFTER_A_FAILURE = timedelta(seconds=10)
"""How long a supervisor waits where the records fail: it must not fill a disk that is full with its words."""
BEAT = timedelta(seconds=10)
FRESH = timedelta(seconds=40)
"""A supervisor whose last sign of life is older than this is taken for gone."""
ONCE = timedelta(seconds=60)
"""With ``once``, each job is advanced until its next wait is longer than this."""
MOST_AT_ONCE = 2_000
"""Jobs of one listing; the claims on them outlast it."""
MOST_A_ROUND = 20_000
"""Jobs of one round, the longest due first; the others are the first of the next."""


@dataclass(frozen=True)
class Round:
    """What one round did: how many jobs it looked at, and when the next is due."""

    looked_at: int
    next_due: datetime | None


class Supervisor:
    """Works off the due queue until it is told to stop, and sweeps the clusters of the aliases ``sweeps``."""

    def __init__(
        self,
        ledger: Ledger,
        clusters: Clusters,
        version: str,
        *,
        gather: timedelta = timedelta(0),
        sweeps: Sequence[str] = (),
        on_round: Callable[[Round], None] | None = None,
    ) -> None:
        self.ledger = ledger
        self.clusters = clusters
        self.version = version
        self.gather = gather
        self.on_round = on_round
        self.id = f"supervisor {token()}"
        self.stopping = asyncio.Event()
        self.sweeper = Sweeper(ledger, clusters, sweeps, self._claimed)
        self._beaten: datetime | None = None
        self._told: tuple[str, ...] = ()
        self._timed: dict[str, datetime] = {}
        """The jobs that wait for a time of their own, and until when."""

    def stop(self) -> None:
        """Finish the round at hand, with the calls that are under way, and return."""
        self.stopping.set()

    async def run(self) -> None:
        """Supervise until ``stop``. A fault in one job or one cluster never stops the others."""
        log.info("%s begins, on the records %s", self.id, self.ledger.store.place)
        try:
            while not self.stopping.is_set():
                wait = TICK
                try:
                    done = await self.round()
                except DispatchError as error:
                    log.error("a round failed and is tried again: %s", error)  # noqa: TRY400 - said in words
                    done, wait = Round(0, None), AFTER_A_FAILURE
                if self.on_round is not None:
                    self.on_round(done)
                await self._pause(wait)
        finally:
            self.ledger.store.unclaim(self.id)
            self.ledger.store.unbeat(self.id)
            log.info("%s has stopped", self.id)

    async def once(self) -> None:
        """Advance every unfinished job until its next wait is longer than a minute, or is for the scheduler; for cron."""
        try:
            while not self.stopping.is_set():
                await self.round()
                soon = self._now() + ONCE
                if not any(moment <= soon for moment in self._timed.values()):
                    return
                await self._pause()
        finally:
            self.ledger.store.unclaim(self.id)
            self.ledger.store.unbeat(self.id)

    async def round(self) -> Round:
        """Look at every job whose time has come and that nobody else has claimed."""
        self._beat()
        now, store = self._now(), self.ledger.store
        # What is due soon is read together with what is due now: one listing for all, rather than one each.
        due = store.due(now + self.gather, MOST_A_ROUND) if store.due(now, 1) else ()
        by_cluster: dict[str, list[str]] = {}
        for job in due:
            if job.id not in self.ledger.newer:
                by_cluster.setdefault(job.cluster, []).append(job.id)
        # Not in a task group: where one cluster fails, the calls of the others are not cut off.
        working = [self._work_off(alias, jobs) for alias, jobs in by_cluster.items()]
        looked_at = _all_of(await asyncio.gather(*working, return_exceptions=True))
        await self.sweeper.sweep_if_due()
        return Round(sum(looked_at), self._next_due())

    async def _work_off(self, alias: str, jobs: list[str]) -> int:
        """Look at those jobs of a cluster that nobody else has claimed, some at once; returns how many they were."""
        looked_at = 0
        for start in range(0, len(jobs), MOST_AT_ONCE):
            if start and self.stopping.is_set():
                break
            some = jobs[start : start + MOST_AT_ONCE]
            # Only now: a claim on all of them would run out before their turn.
            mine = self._claimed(some)
            if mine:
                await self._advance(alias, [job for job in some if job in mine])
            looked_at += len(mine)
        return looked_at

    def _claimed(self, jobs: list[str]) -> frozenset[str]:
        now = self._now()
        return self.ledger.store.claim(jobs, self.id, now + CLAIM, now)

    async def _advance(self, alias: str, jobs: list[str]) -> None:
        try:
            found = await self.clusters.advance(alias, jobs)
        except Exception as error:
            if isinstance(error, DispatchError):  # a full disk, say
                log.error("cluster %s: %s Its jobs are looked at again.", alias, error)  # noqa: TRY400 - said in words
            else:
                log.exception(
                    "cluster %s: an unforeseen fault; its jobs are looked at again", alias
                )
            found = {job: Standing(job, self._now() + CLAIM) for job in jobs}
        self.ledger.reschedule_all(turns_of(found.values()))
        for job, standing in found.items():
            self._timed.pop(job, None)
            if standing.until is not None:
                self._timed[job] = standing.until

    def _next_due(self) -> datetime | None:
        far = self._now() + timedelta(days=36_500)
        return next((job.due for job in self.ledger.store.due(far, 1)), None)

    def _beat(self) -> None:
        now, troubles = self._now(), self.clusters.troubles()
        if self._beaten is None or now - self._beaten >= BEAT or troubles != self._told:
            actor = self.ledger.actor
            self.ledger.store.beat(
                Heartbeat(
                    id=self.id,
                    host=actor.host,
                    pid=os.getpid(),
                    version=self.version,
                    seen=now,
                    clusters=troubles,
                )
            )
            self._beaten, self._told = now, troubles

    async def _pause(self, wait: timedelta = TICK) -> None:
        """Wait so long, or for the stop."""
        sleeping = asyncio.ensure_future(self.ledger.clock.sleep_until(self._now() + wait))
        stopping = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in (sleeping, stopping):
                waiting.cancel()
            await asyncio.gather(sleeping, stopping, return_exceptions=True)

    def _now(self) -> datetime:
        return self.ledger.clock.now()


def _all_of(results: list[int | BaseException]) -> list[int]:
    """What all have answered. Raises the first error, once all have come to their end."""
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, int)]
