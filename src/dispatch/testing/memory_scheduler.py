"""A whole dispatch on a scheduler in memory, in virtual time: submit a job, let things happen to it, and see what its record says.

The pytest fixture ``memory_scheduler`` is one of these; see ``docs/how-to/test-your-policy.md``. Days pass in moments.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from dispatch.adapters.memory import Env, MemoryBackend, World, decode_settings
from dispatch.model.documents import decode_document
from dispatch.model.errors import Invalid
from dispatch.model.job import Job
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.config import Config, load_config
from dispatch.shell.files import load_job
from dispatch.shell.identity import this_actor
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.shell.supervisor import Supervisor
from dispatch.spi.adapter import AdapterConfig
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.loop import SimulatedClock, SimulatedLoop, SimulationError
from dispatch.testing.memory_job import PATIENCE, MemoryJob
from dispatch.testing.memory_rounds import Rounds
from dispatch.testing.running import wind_up

__all__ = ["PATIENCE", "MemoryJob", "MemoryScheduler"]

CLUSTER = "memory"
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of our own is made in it
POLL = timedelta(minutes=2)
"""The longest time between two looks at a job: longer than a supervisor's by default, so that a day passes in a second."""
SUBMITTING = timedelta(seconds=1)
"""How long a person takes for it. Two jobs of one moment would be worked on in an order by chance."""

T = TypeVar("T")


class MemoryScheduler:
    """A scheduler in memory which starts what may start, records, and a supervisor, on one simulated loop.

    ``settings`` are the memory adapter's (``docs/reference/memory-adapter.md``); a relative path of a job file is taken from
    ``base``. In a plain test ``pass_time`` and the waits let time pass; where a coroutine runs on the loop, its own
    ``await`` does, and those are a ``SimulationError``.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        *,
        settings: Mapping[str, object] | None = None,
        config: Path | None = None,
        base: Path | None = None,
    ) -> None:
        self._loop = loop
        self._base = base or Path()
        self._config = (
            Config() if config is None else load_config([self._at(config)], required=True)
        )
        world = World(decode_settings(dict(settings or {})), loop.clock)
        self.backend = MemoryBackend(world, alias=CLUSTER)
        self.jobs: list[MemoryJob] = []
        self._closed = False
        self._place = tempfile.TemporaryDirectory(prefix="dispatch-test-", dir=_memory())
        place = Path(self._place.name) / "records.db"
        self._store = SqliteStore.open(place, now=loop.clock.now())
        self._ledger = self._new_ledger("user")
        self._operator = Operator(self._ledger, self._new_clusters(self._ledger))
        self._rounds = Rounds(self.env, loop.clock, self._new_supervisor)
        self._rounds.begin(loop)
        self._rounds.supervise()

    def _new_ledger(self, role: str) -> Ledger:
        return Ledger(self._store, self.clock, this_actor(role))

    def _new_clusters(self, ledger: Ledger) -> Clusters:
        clusters = Clusters(_no_other, ledger, EngineOptions(poll=POLL))
        clusters.named(CLUSTER).use(self.backend)
        return clusters

    def _new_supervisor(self) -> Supervisor:
        """A process of its own: it shares the records with others, and nothing else."""
        ledger = self._new_ledger("supervisor")
        return Supervisor(
            ledger, self._new_clusters(ledger), "test", gather=POLL / 2, sweeps=(CLUSTER,)
        )

    # ------------------------------------------------------------------------ the parts

    @property
    def env(self) -> Env:
        """The scheduler's side: nodes, people, replies, the controller, and the ground truth."""
        return self.backend.env

    @property
    def clock(self) -> SimulatedClock:
        """The time, which every part of it reads."""
        return self._loop.clock

    @property
    def ledger(self) -> Ledger:
        """The records, as the person who submits reads and writes them."""
        return self._ledger

    @property
    def operator(self) -> Operator:
        """What plans and accepts jobs, and records a person's requests."""
        return self._operator

    # ------------------------------------------------------------------------- submitting

    def submit(self, job: Job | Mapping[str, object] | Path | str) -> MemoryJob:
        """Submit a job: a ``Job``, the path of a job file, or what stands in one.

        Whatever cluster it names, it goes to this one. In a plain test a second passes with it, so that jobs are started in
        the order in which they were submitted. Raises ``Invalid`` with every fault, ``Refused`` with every reason,
        ``Conflict``, ``NotFound``.
        """
        wanted = replace(self._read(job), cluster=CLUSTER)
        accepted = _done(self._operator.submit(wanted))
        self.poke()
        if not self._loop.is_running():
            self.pass_time(SUBMITTING)
        for known in self.jobs:
            if known.id == accepted.id:  # the same key
                return known
        self.jobs.append(MemoryJob(self, accepted.id))
        return self.jobs[-1]

    def _read(self, job: Job | Mapping[str, object] | Path | str) -> Job:
        match job:
            case Job():
                return job
            case str() | Path():
                return load_job(self._at(Path(job)), self._config)
            case _:
                return decode_document(job, Job, where="The job")

    def _at(self, path: Path) -> Path:
        return self._base / path

    # ------------------------------------------------------------------------------- time

    def pass_time(
        self, duration: timedelta | None = None, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> datetime:  # fmt: skip
        """Let so much time pass, and everything that happens in it; give the moment after it."""
        whole = (duration or timedelta()) + timedelta(
            days=days, hours=hours, minutes=minutes, seconds=seconds
        )
        end = self.clock.now() + whole
        self._run(self._rounds.sleep_until(end))
        return self.clock.now()

    def wait_until(
        self, reached: Callable[[], bool], what: str = "it is so", *, within: timedelta = PATIENCE
    ) -> None:
        """Let time pass until it is so; ``AssertionError`` with the story of each job where that takes longer."""
        __tracebackhide__ = True
        if reached():
            return
        if not self._run(self._rounds.until(reached, self.clock.now() + within)):
            raise AssertionError(f"{what}: not within {within}.\n{self.report()}")

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        __tracebackhide__ = True
        if self._loop.is_running():
            what.close()
            raise SimulationError(
                "Here a coroutine runs on the loop, so the memory scheduler cannot let time pass by itself.",
                todo="Let it pass by `await asyncio.sleep(seconds)`, or write the test as a plain function.",
            )
        return self._loop.run_until_complete(what)

    # ------------------------------------------------------------------- what may happen

    def return_node(self, name: str, *, rebooted: bool = False) -> None:
        """Let a lost node answer again."""
        self.env.return_node(name, rebooted=rebooted)

    def kill_supervisor(self) -> None:
        """Kill the supervisor where it stands; nobody looks at the jobs until ``start_supervisor``."""
        self._rounds.kill()

    def start_supervisor(self) -> None:
        """Start a new supervisor on the same records; nothing where one is at work."""
        self._rounds.supervise()

    def poke(self) -> None:
        """Let the supervisor look at once at what was recorded, as it does within a second."""
        self._rounds.poke()

    def keep_back(self, job: str) -> None:
        """Start nothing of a job for some minutes: another has taken its nodes."""
        self._rounds.keep_back(job)

    # ---------------------------------------------------------------------------- the end

    def report(self) -> str:
        """The story of each job, for people."""
        told = [f"{job.view.job.name} ({job.id})\n{job.story}" for job in self.jobs]
        return "\n\n".join((*told, f"now it is {self.clock.now():%Y-%m-%d %H:%M:%S}"))

    def close(self) -> None:
        """End what goes on, and close the records; a second close does nothing. The loop is its owner's to close."""
        if self._closed:
            return
        self._closed = True
        try:
            if not self._loop.is_closed():
                self._run(self._rounds.end())
        finally:
            self._store.close()
            self._place.cleanup()

    def __repr__(self) -> str:
        return f"MemoryScheduler({self.clock!r}, {self.jobs!r})"


@contextmanager
def memory_scheduler(
    *,
    seed: int | None = None,
    config: Path | None = None,
    base: Path | None = None,
    **settings: object,
) -> Generator[MemoryScheduler]:
    """Make a memory scheduler outside of the fixture: in a script, or anew for each example of a property.

    ``settings`` are the memory adapter's by their names in its documentation, such as ``shape="kubeflow"``; ``seed`` is that
    of its loop.
    """
    loop = SimulatedLoop(seed=seed)
    scheduler = MemoryScheduler(loop, settings=settings, config=config, base=base)
    try:
        yield scheduler
    finally:
        scheduler.close()
        wind_up(loop)


def _done(what: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing: a backend in memory answers at once."""
    try:
        what.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    what.close()
    raise RuntimeError(f"{what!r} waits, where nothing should")


def _memory() -> Path | None:
    """Where records that need to outlive nothing wait for no disk; none: where temporary files lie."""
    return _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None


def _no_other(alias: str) -> AdapterConfig:
    raise Invalid(f"A memory scheduler has no cluster {alias}.")
