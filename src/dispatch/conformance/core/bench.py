"""The bench of the core suite: a whole dispatch on a harness's backend, with fresh records, driven under the harness's time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dispatch.conformance.bench import Bench
from dispatch.conformance.harness import Harness
from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.conformance.verdicts import Broken
from dispatch.core.explaining import explain
from dispatch.model.answers import Action
from dispatch.model.journal import Actor
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, State
from dispatch.model.view import JobView
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.spi.adapter import AdapterConfig
from dispatch.stores.sqlite import SqliteStore

ALIAS = "conformance"


def retrying(limit: int) -> Policy:
    """So many further submissions after a preemption."""
    backoff = Backoff(initial=Duration(seconds=30), jitter=0)
    rule = Rule(when=(Cause.PREEMPTED,), do=Action.RESUBMIT, limit=limit, backoff=backoff)
    return Policy(rules=(rule,))


class HarnessClock:
    """The harness's time as a clock (``dispatch.spi.clock.Clock``)."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def now(self) -> datetime:
        """The time on the cluster."""
        return self._harness.now()

    async def sleep_until(self, moment: datetime) -> None:
        """Let time pass until then."""
        await self._harness.pass_time(max(moment - self.now(), timedelta()))


class Process:
    """One dispatch process: it shares the records with others, and nothing else."""

    def __init__(self, store: SqliteStore, harness: Harness, host: str) -> None:
        actor = Actor(user="conformance", host=host, role="conformance")
        self.ledger = Ledger(store, HarnessClock(harness), actor)
        options = EngineOptions(poll=harness.timings.poll)
        self.clusters = Clusters(_no_config, self.ledger, options)
        self.operator = Operator(self.ledger, self.clusters)


def _no_config(alias: str) -> AdapterConfig:
    raise Broken(f"the core asked for another cluster, {alias}")


class CoreBench:
    """Where a check of the core suite works; ``close`` lets go of everything."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.backends = Bench(harness)
        self._place = tempfile.TemporaryDirectory(prefix="dispatch-conformance-")
        self.store = SqliteStore.open(Path(self._place.name) / "records.db", now=harness.now())

    async def begin(self) -> None:
        """Open the cluster and start a process."""
        await self.backends.begin()
        self.process = await self.another("host1")

    async def another(self, host: str) -> Process:
        """Start one more process on the same records, with a view of its own."""
        process = Process(self.store, self.harness, host)
        process.clusters.named(ALIAS).use(await self.backends.view())
        return process

    async def close(self) -> None:
        """Let go of everything."""
        await self.backends.end()
        self.store.close()
        self._place.cleanup()

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler's side."""
        return self.harness.scheduler

    async def submit(self, policy: Policy | None = None, **fields: Any) -> str:
        """Submit a job, and return its id; nothing is started yet."""
        job = replace(self.harness.job(), cluster=ALIAS, recovery=policy, **fields)
        return (await self.process.operator.submit(job)).id

    def view(self, job: str) -> JobView:
        """The job as the records say."""
        return self.process.ledger.view(job)

    async def advance(self, job: str, process: Process | None = None) -> None:
        """Run the engine for the job, and let time pass until its next look."""
        standings = await (process or self.process).clusters.advance(ALIAS, [job])
        due = standings[job].look_at
        wait = due - self.harness.now() if due else timedelta()
        await self.harness.pass_time(max(wait, self.harness.timings.poll))

    async def until(
        self, job: str, reached: Callable[[JobView], bool], what: str, *others: Process
    ) -> JobView:
        """Run the engine until the job is so; with ``others``, by turns."""
        end = self.harness.now() + 12 * self.harness.timings.wait
        while not reached(self.view(job)):
            if self.harness.now() > end:
                raise Broken(f"the job is not {what}: {explain(self.view(job))}")
            for process in (self.process, *others):
                await self.advance(job, process)
        return self.view(job)

    async def running(self, job: str, submission: int = 1) -> Made:
        """Run the engine until that submission is seen running; give its object."""

        def reached(view: JobView) -> bool:
            known = view.objects.get(submission)
            return bool(known and known.seen and known.seen.state is State.RUNNING)

        view = await self.until(job, reached, f"running as submission {submission}")
        order = self.backends.order(view.job, of=job, submission=submission)
        known = view.objects[submission]
        return Made(known.ref, replace(order, attempt=known.attempt))

    async def ended(self, job: str) -> JobView:
        """Run the engine until the job has its final verdict."""
        return await self.until(job, lambda view: view.verdict is not None, "ended")
