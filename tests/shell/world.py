"""A whole dispatch in one process: real records, engine and operator on a memory scheduler, under a clock moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.adapters.memory.env import Env
from dispatch.adapters.memory.settings import decode_settings
from dispatch.core.explaining import Explanation, explain
from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.journal import Actor, AnyEvent, Decided, Entry, Event, Intended, Verb
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, Observation
from dispatch.model.view import JobView
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.driving import Driver
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.spi.adapter import AdapterConfig
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.clock import ManualClock

T = TypeVar("T")
RESUBMIT = Policy(
    rules=(
        Rule(
            when=(Cause.PREEMPTED, Cause.NODE_LOST, Cause.LAUNCH_FAILED),
            do=Action.RESUBMIT,
            limit=3,
            backoff=Backoff(initial=Duration(seconds=30), jitter=0),
        ),
    )
)
"""Three more tries after what the infrastructure did."""

POLL = timedelta(seconds=10)


class Process:
    """One dispatch process: its own ledger, view of the cluster, operator and engine. Others share the records."""

    def __init__(
        self, store: SqliteStore, clock: ManualClock, backend: MemoryBackend, name: str
    ) -> None:
        self.ledger = Ledger(store, clock, Actor(user="alice", host=name, role="test"))
        self.clusters = Clusters(_no_config, self.ledger, EngineOptions(poll=POLL))
        self.backend = backend
        self.clusters.named("c").use(backend)
        self.operator = Operator(self.ledger, self.clusters)
        self.driver = Driver(self.ledger, self.clusters)


def _no_config(alias: str) -> AdapterConfig:
    raise AssertionError(alias)


class World:
    """A memory cluster, a store, and processes on them."""

    def __init__(self, place: Path, **settings: Any) -> None:
        self.clock = ManualClock()
        self.backend = MemoryBackend.create(
            decode_settings({"nodes": 8, "slurmdTimeout": "40s", **settings}),
            clock=self.clock,
            alias="c",
        )
        self.env: Env = self.backend.env
        self.place = place / "records.db"
        self.store = SqliteStore.open(self.place, now=self.clock.now())
        self.process = self.another("host1")

    def behave(self, kind: type[MemoryBackend]) -> None:
        """Let the process see the cluster through another class of backend from here on."""
        world = self.backend._world
        self.process = Process(self.store, self.clock, kind(world, alias="c"), "host1")

    def another(self, name: str) -> Process:
        """Start another process on the same records and the same cluster."""
        return Process(self.store, self.clock, self.env.view(), name)

    def submit(self, policy: Policy | None = None, **fields: Any) -> str:
        """Submit a job, and return its id; nothing is started yet."""
        job = replace(Job(command=("train",), cluster="c", recovery=policy), **fields)
        return run(self.process.operator.submit(job)).id

    def advance(self, *jobs: str, process: Process | None = None) -> dict[str, datetime | None]:
        """Run the engine for these jobs, now."""
        standings = run((process or self.process).clusters.advance("c", list(jobs)))
        return {job: standing.look_at for job, standing in standings.items()}

    def turn(self, job: str) -> None:
        """Run the engine for one call at the most."""

        async def turn() -> None:
            engine = await self.process.clusters.named("c").engine()
            await engine.advance([job], turns=1)

        run(turn())

    def until(
        self,
        job: str,
        reached: Callable[[JobView], bool],
        *,
        within: timedelta = timedelta(hours=2),
    ) -> JobView:
        """Run the engine, moving the clock to each next look, until the job is there; a bound is an error."""
        end = self.clock.now() + within
        while not reached(view := self.view(job)):
            assert self.clock.now() <= end, (
                f"not reached within {within}: {explain(view)}\n{self.trace(job)}"
            )
            due = self.advance(job)[job]
            if due is not None and not reached(self.view(job)):
                self.clock.advance_to(max(due, self.clock.now()))
        return self.view(job)

    def view(self, job: str) -> JobView:
        """The job as the records say."""
        return self.process.ledger.view(job)

    def explain(self, job: str) -> Explanation:
        """Where the job stands, in words."""
        return explain(self.view(job))

    def events(self, job: str, *kinds: type[Event]) -> list[AnyEvent]:
        """The events of a job, of some kinds only where they are named."""
        return [
            entry.event
            for entry in self.history(job)
            if not kinds or isinstance(entry.event, kinds)
        ]

    def history(self, job: str) -> tuple[Entry, ...]:
        """The record of a job."""
        return self.store.load(job)

    def observed(self, job: str) -> list[Observation]:
        """What the scheduler shows of every object of the job, oldest first."""
        return [truth.observation for truth in self.env.truths(job) if truth.observation]

    def verbs(self, job: str) -> list[Verb]:
        """The writes to the scheduler that were intended, in order."""
        return [event.intent.verb for event in self.events(job) if isinstance(event, Intended)]

    def decisions(self, job: str) -> list[Decided]:
        """What was decided about ended executions, in order."""
        return [event for event in self.events(job) if isinstance(event, Decided)]

    def trace(self, job: str) -> str:
        """The record of a job, for the message of a failure."""
        return "\n".join(
            f"{entry.version} {entry.at:%H:%M:%S} {entry.event}" for entry in self.history(job)
        )


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    return asyncio.run(coroutine)


def opened(view: JobView) -> bool:
    """Whether the current object's Open has landed."""
    return view.current is not None and view.current.phase == "open"


def ended(view: JobView) -> bool:
    """Whether the job has its final verdict."""
    return view.verdict is not None


def submission(number: int) -> Callable[[JobView], bool]:
    """Whether that submission has been opened."""
    return lambda view: (
        opened(view) and view.current is not None and view.current.submission == number
    )
