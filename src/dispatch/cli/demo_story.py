"""The story of the demo: the real engine and records on a cluster in memory, with a scheduler's bad day played on it.

Time is virtual: each tick moves the clock by a second, lets everything that is due happen, and then the next scene.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from dispatch.adapters.memory import ExecutionTruth, MemoryBackend, Settings
from dispatch.core.explaining import Explanation, explain
from dispatch.model.answers import Action
from dispatch.model.errors import Invalid
from dispatch.model.job import Job, Launcher
from dispatch.model.journal import Entry
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause
from dispatch.model.view import JobView, Phase
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.driving import Driver, Until
from dispatch.shell.identity import this_actor
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.spi.adapter import AdapterConfig
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.clock import ManualClock

TICK = timedelta(seconds=1)
CLUSTER = "demo"
NODES = 6
LATE = timedelta(seconds=12)
LONGEST = timedelta(minutes=30)
"""Far more than the story takes; a story that hangs is a fault, and is told as one."""

POLICY = Policy(
    rules=(
        Rule(
            when=(Cause.PREEMPTED, Cause.NODE_LOST),
            do=Action.RESUBMIT,
            limit=5,
            backoff=Backoff(initial=Duration(seconds=20), jitter=0),
        ),
    )
)
JOB = Job(
    command=("train.py", "--config", "big.yaml"),
    name="llama-sft",
    cluster=CLUSTER,
    launcher=Launcher.TORCHRUN,
    nodes=4,
    recovery=POLICY,
)
SETTINGS = Settings(
    nodes=NODES,
    call_window=Duration(seconds=10),
    call_bound=Duration(seconds=10),
    save_window=Duration(seconds=15),
    slurmd_timeout=Duration(seconds=40),
    kill_wait=Duration(seconds=10),
    kill_delay=Duration(seconds=4),
)


@dataclass(frozen=True)
class Scene:
    """Something that the scheduler or the network does, so long after its cue."""

    cue: Callable[[], bool]
    delay: float
    act: Callable[[], object]
    text: str = ""


@dataclass
class Frame:
    """The state of the story at one tick."""

    now: datetime
    view: JobView
    explanation: Explanation
    live: tuple[ExecutionTruth, ...]
    lost: frozenset[str]
    played: list[tuple[datetime, str]]


@dataclass
class Ending:
    """What came of it, and the ground truth that proves it."""

    job: str = ""
    history: tuple[Entry, ...] = ()
    played: list[tuple[datetime, str]] = field(default_factory=list[tuple[datetime, str]])
    overlaps: int = 0
    executions: int = 0
    seconds: int = 0


class Story:
    """Plays the scenes while the engine drives the job."""

    def __init__(self, place: Path) -> None:
        self.clock = ManualClock()
        self.store = SqliteStore.open(place / "records.db", now=self.clock.now())
        backend = MemoryBackend.create(SETTINGS, clock=self.clock, alias=CLUSTER)
        self.env = backend.env
        self.ledger = Ledger(self.store, self.clock, this_actor("demo"))
        clusters = Clusters(_not_configured, self.ledger, EngineOptions(poll=timedelta(seconds=5)))
        clusters.named(CLUSTER).use(backend)
        self.operator = Operator(self.ledger, clusters)
        self.driver = Driver(self.ledger, clusters)
        self.job = ""
        self.lost: set[str] = set()
        self.played: list[tuple[datetime, str]] = []
        self._scenes = self._script()
        self._cued: datetime | None = None

    async def play(self) -> AsyncGenerator[Frame]:
        """Play to the end, a frame a tick."""
        self.job = (await self.operator.submit(JOB)).id
        self.played.append(
            (
                self.clock.now(),
                "a person submits llama-sft: 4 nodes, at most one copy, recovery by policy",
            )
        )
        driving = asyncio.ensure_future(self.driver.drive([self.job], Until.ENDED))
        end = self.clock.now() + LONGEST
        try:
            while not driving.done():
                await self._settle(driving)
                self._direct()
                yield self.frame()
                self.clock.advance(TICK)
                if self.clock.now() > end:
                    raise RuntimeError(f"the demo does not end: {explain(self.view())}")
            driving.result()
            yield self.frame()
        finally:
            driving.cancel()
            self.store.close()

    async def _settle(self, driving: asyncio.Future[dict[str, JobView]]) -> None:
        """Let the engine work until it waits for time to pass."""
        while self.clock.next_alarm is None and not driving.done():  # noqa: ASYNC110 - no event tells that all wait
            await asyncio.sleep(0)

    def view(self) -> JobView:
        """The job as the records say."""
        return self.ledger.view(self.job)

    def frame(self) -> Frame:
        """The state of everything now."""
        view = self.view()
        return Frame(
            now=self.clock.now(),
            view=view,
            explanation=explain(view),
            live=self.env.live(self.job),
            lost=frozenset(self.lost),
            played=self.played,
        )

    def ending(self) -> Ending:
        """Tell what came of it. To be asked before the last frame is let go of."""
        history = self.ledger.history(self.job)
        return Ending(
            job=self.job,
            history=history,
            played=self.played,
            overlaps=len(self.env.overlaps(self.job)),
            executions=len(self.env.tickets(self.job)),
            seconds=int((history[-1].at - history[0].at).total_seconds()),
        )

    # ------------------------------------------------------------------ the script

    def _direct(self) -> None:
        if not self._scenes:
            return
        scene, now = self._scenes[0], self.clock.now()
        if self._cued is None and scene.cue():
            self._cued = now
        if self._cued is not None and now >= self._cued + timedelta(seconds=scene.delay):
            if scene.text:
                self.played.append((now, scene.text))
            scene.act()
            self._scenes.pop(0)
            self._cued = None

    def _script(self) -> list[Scene]:
        return [
            Scene(
                self._opened(1),
                6,
                self._run_on(1, 2, 3, 4),
                "the scheduler starts it on four nodes",
            ),
            Scene(self._running, 25, self._preempt, "the scheduler preempts it for somebody else"),
            Scene(self._decided(1), 0, self._delay),
            Scene(
                self._calling,
                0,
                _nothing,
                "no reply to this submission: it lands 12 s later, unanswered",
            ),
            Scene(
                self._opened(2), 6, self._run_on(3, 4, 5, 6), "the scheduler starts submission 2"
            ),
            Scene(
                self._running,
                25,
                self._lose,
                "node n3 falls silent, with the job's processes on it",
            ),
            Scene(
                self._awaiting,
                30,
                self._return,
                "node n3 answers again, and kills what it should not run",
            ),
            Scene(
                self._opened(3), 6, self._run_on(1, 2, 4, 5), "the scheduler starts submission 3"
            ),
            Scene(self._running, 25, self._finish, "the training ends, with exit code 0"),
        ]

    def _opened(self, submission: int) -> Callable[[], bool]:
        def is_opened() -> bool:
            current = self.view().current
            return current is not None and (current.submission, current.phase) == (
                submission,
                Phase.OPEN,
            )

        return is_opened

    def _decided(self, submission: int) -> Callable[[], bool]:
        def is_decided() -> bool:
            decision = self.view().last_decision
            return decision is not None and decision.submission == submission

        return is_decided

    def _calling(self) -> bool:
        return bool(self.view().intents)

    def _running(self) -> bool:
        return bool(self.env.live(self.job))

    def _awaiting(self) -> bool:
        current = self.view().current
        return current is not None and bool(current.awaiting)

    def _run_on(self, *numbers: int) -> Callable[[], object]:
        nodes = tuple(f"n{number}" for number in numbers)
        return lambda: self.env.run(self.job, nodes=nodes)

    def _preempt(self) -> None:
        self.env.preempt(self.job)

    def _delay(self) -> None:
        self.env.delay_next_call(LATE)

    def _lose(self) -> None:
        self.lost.add("n3")
        self.env.lose_node("n3")

    def _return(self) -> None:
        self.lost.discard("n3")
        self.env.return_node("n3")

    def _finish(self) -> None:
        self.env.finish(self.job)


def _nothing() -> None:
    """What happened was arranged before; this scene only tells of it."""


def _not_configured(alias: str) -> AdapterConfig:
    raise Invalid(f"The demo has no cluster {alias}.")
