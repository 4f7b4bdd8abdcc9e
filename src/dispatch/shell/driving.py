"""Run the engine for some jobs until they are where the caller wants them, as ``submit`` and ``wait`` do.

A job on which a supervisor has a live claim is only watched; should that claim run out, it is driven from here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from dispatch.core.sighting import hold_of, shows_hold
from dispatch.model.view import JobView, Phase
from dispatch.shell.clusters import Clusters
from dispatch.shell.engine import turns_of
from dispatch.shell.identity import token
from dispatch.shell.ledger import Ledger

CLAIM = timedelta(seconds=15)
WATCH = timedelta(milliseconds=500)


class Until(StrEnum):
    """How far to drive a job."""

    OPENED = "opened"
    ACKNOWLEDGED = "acknowledged"
    """What was asked for last, a stop, a hold or a release, is true."""
    ENDED = "ended"


def has_reached(view: JobView, until: Until) -> bool:
    """Whether the job is that far."""
    if view.verdict is not None:
        return True
    known = view.current
    match until:
        case Until.OPENED:
            return known is not None and known.phase not in (Phase.GATED, Phase.OPENING)
        case Until.ACKNOWLEDGED:
            return view.stop is None and not view.intents and _holds_agree(view)
        case Until.ENDED:
            return False


def _holds_agree(view: JobView) -> bool:
    known = view.current
    if (
        known is None
        or known.seen is None
        or known.phase is not Phase.OPEN
        or known.seen.started is not None
    ):
        return True  # nothing waits in the queue: the hold is kept before the next execution
    if view.hold is None:
        return hold_of(known.seen) is None
    return shows_hold(known.seen, view.hold)


class Driver:
    """Drives jobs from one process, with claims of its own."""

    def __init__(self, ledger: Ledger, clusters: Clusters) -> None:
        self.ledger = ledger
        self.clusters = clusters
        self.owner = f"driver {token()}"

    async def drive(
        self,
        jobs: Sequence[str],
        until: Until,
        on_change: Callable[[JobView], None] | None = None,
        timeout: timedelta | None = None,
    ) -> dict[str, JobView]:
        """Advance the jobs until each is that far, or the time is up; returns their last views."""
        views = {job: self.ledger.view(job) for job in jobs}
        due: dict[str, datetime] = dict.fromkeys(jobs, self._now())
        give_up = None if timeout is None else self._now() + timeout
        try:
            while waiting := [job for job, view in views.items() if not has_reached(view, until)]:
                if give_up is not None and self._now() >= give_up:
                    break
                await self._once(waiting, due, until)
                self._look(views, waiting, on_change)
                await self._sleep(views, due, until, give_up)
        finally:
            self.ledger.store.unclaim(self.owner)
        return views

    async def _once(self, waiting: list[str], due: dict[str, datetime], until: Until) -> None:
        now = self._now()
        ready = [job for job in waiting if due[job] <= now]
        mine = (
            self.ledger.store.claim(ready, self.owner, now + CLAIM, now)
            if ready
            else frozenset[str]()
        )
        due.update({job: now + WATCH for job in ready if job not in mine})
        by_cluster: dict[str, list[str]] = {}
        for job in ready:
            if job in mine:
                by_cluster.setdefault(self.ledger.view(job).header.cluster.alias, []).append(job)
        for alias, jobs in by_cluster.items():
            # A listing is not asked for that nobody waits for: what it would tell, the next look does.
            standings = await self.clusters.advance(
                alias, jobs, lambda view: has_reached(view, until)
            )
            due.update({job: one.look_at or self._now() for job, one in standings.items()})
            self.ledger.reschedule_all(turns_of(standings.values()))

    def _look(
        self,
        views: dict[str, JobView],
        jobs: list[str],
        on_change: Callable[[JobView], None] | None,
    ) -> None:
        for job in jobs:
            view = self.ledger.view(job)
            if view.version != views[job].version:
                views[job] = view
                if on_change is not None:
                    on_change(view)

    async def _sleep(
        self,
        views: dict[str, JobView],
        due: dict[str, datetime],
        until: Until,
        give_up: datetime | None,
    ) -> None:
        """Sleep until the next job is due; a request that another process records meanwhile is seen soon."""
        left = [job for job, view in views.items() if not has_reached(view, until)]
        if not left:
            return
        moment = min(due[job] for job in left)
        if give_up is not None:
            moment = min(moment, give_up)
        while self._now() < moment:
            await self.ledger.clock.sleep_until(min(moment, self._now() + WATCH))
            for job in left:
                if self.ledger.store.summary(job).version != views[job].version:
                    due[job] = self._now()
                    return
        await asyncio.sleep(0)

    def _now(self) -> datetime:
        return self.ledger.clock.now()
