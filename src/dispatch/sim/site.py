"""One site: the cluster, the records, hosts, processes and people, all under one virtual time and one seed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from dispatch.adapters.memory import Env, MemoryBackend, ShapeName, World
from dispatch.adapters.memory.answers import declarations_of
from dispatch.adapters.memory.records import WorldObject
from dispatch.model.epoch import ulid
from dispatch.model.errors import DispatchError
from dispatch.model.job import Job
from dispatch.model.journal import Accepted, Entry
from dispatch.shell.identity import randomness
from dispatch.shell.supervisor import Round
from dispatch.shell.sweeping import EVERY
from dispatch.sim import invariants, rules
from dispatch.sim.acts import react, strike
from dispatch.sim.chance import Chance, Stream
from dispatch.sim.coverage import Coverage
from dispatch.sim.disk import Disk
from dispatch.sim.history import Begun, History
from dispatch.sim.hosts import HostClock
from dispatch.sim.jobs import random_job
from dispatch.sim.options import Line, Options, Violation
from dispatch.sim.pausing import RUNNING, Outside, PausableLoop
from dispatch.sim.people import Person
from dispatch.sim.process import Process
from dispatch.sim.records import Kept, Records
from dispatch.sim.scheduler import Scheduler
from dispatch.sim.settings import random_settings
from dispatch.sim.telling import tell
from dispatch.sim.upgrading import upgrades
from dispatch.sim.weather import Faults, Weather
from dispatch.testing.clock import START


class Site:
    """Everything of one run."""

    def __init__(self, seed: int, options: Options, loop: PausableLoop) -> None:
        self.loop = Outside(loop)
        self.options = options
        self.chance = Chance(seed)
        self.faults = Faults(options.only, enabled=options.faults)
        draw = self.chance.stream("site")
        scenario = options.scenario
        self.settings = scenario.settings if scenario else random_settings(draw, options)
        self.strikes = {strike.step: strike.kind for strike in options.strikes}
        self.declared = declarations_of(self.settings)
        self.weather = Weather(
            self.chance,
            self.faults,
            options.storm,
            self.declared,
            options.climate,
        )
        self.coverage = Coverage()
        self.world = World(self.settings, HostClock(loop, START))
        self.elsewhere = World(
            replace(self.settings, cluster_name="elsewhere"), HostClock(loop, START)
        )
        self.misled: set[str] = set()
        self.upgraded: set[str] = set()
        """Whose processes are of the next dispatch."""
        self.refusals: set[str] = set()
        """What processes of the older one were told of its jobs."""
        self.env: Env = MemoryBackend(self.world, alias="c").env
        self.disk = Disk(self)
        self.records = Records(ulid(0, draw.data(10)))
        self.others: Records | None = None
        if not scenario and draw.happens(
            0.25
        ):  # another store of the same account, on a laptop say
            self.others = Records(ulid(0, draw.data(10)), "other simulated records")
        self.stores = [self.records, *([self.others] if self.others else [])]
        for records in self.stores:
            records.on_written.append(self.written)
        self.hosts = [HostClock(loop, START, self.offset(draw)) for _ in range(3)]
        self.logins = [HostClock(loop, START, self.offset(draw)) for _ in range(2)]
        self.clocks = [*self.hosts, *self.logins]
        poll = draw.weighed(((10.0, 1.0), (45.0, 2.0), (120.0, 2.0)))
        self.poll = timedelta(seconds=30 if scenario else options.climate.poll or poll)
        self.lost: dict[str, datetime] = {}
        self.histories: dict[str, History] = {}
        self.processes: list[Process] = []
        self.commands: set[asyncio.Task[Any]] = set()
        self.scheduler = Scheduler(self)
        self.excused: list[str] = []
        self.steps = 0
        self.lines: list[Line] = []
        self.violation: Violation | None = None
        self.over: asyncio.Future[None] = loop.create_future()
        self._numbers: dict[str, int] = {}
        self._executions = 0
        self._objects = 0
        self._clashes = 0
        self._wakers: list[tuple[asyncio.Future[None], float]] = []
        self.people = self._people(options.jobs)

    def kept(self, job: str) -> Kept | None:
        """What the disk has of a job."""
        return next((r.jobs[job] for r in self.stores if job in r.jobs), None)

    # --- time and names

    @property
    def now(self) -> float:
        """Virtual seconds since the start."""
        return self.loop.time()

    def offset(self, draw: Stream) -> timedelta:
        """Draw how far a clock is off."""
        most = invariants.MOST_SKEW.total_seconds()
        return timedelta(seconds=draw.between(-most, most))

    def login(self, number: int) -> HostClock:
        """The clock of a login node."""
        return self.logins[number]

    def label(self, job: str) -> str:
        """What a job is called, whatever its id."""
        history = self.histories.get(job)
        return history.label if history else job

    def knows(self, job: str) -> bool:
        """Whether it is a job of this site."""
        return job in self.histories

    def history_of(self, item: WorldObject) -> History:
        """The history of an object's job."""
        return self.histories[item.order.id]

    def numbered(self, name: str) -> str:
        """Number what happens under one name."""
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        return f"{name} #{number}"

    # --- steps

    def step(self, who: str, what: str) -> None:
        """Count a step, until the run is over."""
        if self.over.done():
            return
        self.steps += 1
        if self.options.trace:
            self.lines.append(Line(self.steps, self.now, who, what))
        if self.steps in self.strikes:
            strike(self, who, self.strikes[self.steps])
        if self.steps == self.options.stop_at:
            self.end()

    def end(self) -> None:
        """End the run, at the next turn of the loop."""
        if not self.over.done():
            self.over.set_result(None)

    def break_rule(self, rule: str, what: str) -> None:
        """Note the first violation; it ends the run."""
        if self.violation is None:
            self.violation = Violation(rule, what, self.steps, self.now)
            self.step(rule, what)
            self.end()

    # --- what is checked, whenever something is added

    def written(self, job: str, entries: Sequence[Entry]) -> None:
        """Take note of what was put on the disk, and check it."""
        self.begun()
        for entry in entries:
            event = entry.event
            if isinstance(event, Accepted) and job not in self.histories:
                self.histories[job] = self._history(job, event.job.name)
            history = self.histories[job]
            new = history.write(entry, self.world.now)
            self.step(history.label, tell(entry) if self.options.trace else "")
            if isinstance(event, invariants.CHECKED):
                for rule, broken in invariants.ON_WRITTEN:
                    if what := broken(history, new):
                        self.break_rule(rule, f"{history.label}: {what}")
            for kind, rule, broken in rules.ON_WRITTEN:
                if isinstance(event, kind) and (what := broken(history, new)):
                    self.break_rule(rule, f"{history.label}: {what}")
        self.wake()

    def _history(self, job: str, label: str) -> History:
        slurm = self.options.shape is ShapeName.SLURM
        return History(job, label, invariants.MOST_SKEW, counts_restarts=slurm, lost=self.lost)

    def begun(self) -> None:
        """Let everything happen that is due, and check each execution that has begun since."""
        self.world.settle()
        self._made()
        machines = self.world.machines
        if len(machines.executions) == self._executions:
            return
        for execution in machines.executions[self._executions :]:
            item = self.world.objects[execution.object - 1]
            history = self.history_of(item)
            new = history.begin(self.world.shape.ref(item), execution, execution.started)
            self.step("cluster", f"{history.label} {execution.epoch} begins on {execution.nodes}")
            if any(machines.nodes[name].silent for name in execution.nodes):
                history.bereft.add(execution.serial)
            self.scheduler.begin(item, execution)
            self._check_begun(history, new)
            react(self, f"{history.label} {execution.epoch} begins")
        self._executions = len(machines.executions)
        for clash in machines.clashes[self._clashes :]:
            first, second = (machines.executions[n - 1] for n in (clash.first, clash.second))
            history = self.histories[clash.job]
            if why := invariants.overlap_is_excused(history, first, second):
                self.excused.append(why)
            elif what := invariants.two_live(history, first, second):
                self.break_rule("S1", f"{history.label}: {what}")
        self._clashes = len(machines.clashes)

    def _made(self) -> None:
        for item in self.world.objects[self._objects :]:
            history = self.histories.get(item.order.id)
            if history and (what := rules.made_though_not_landed(history, item.order.attempt)):
                self.break_rule("S8", f"{history.label}: {what}")
        self._objects = len(self.world.objects)

    def _check_begun(self, history: History, new: Begun) -> None:
        if why := invariants.opened_by_a_person(history, new.ref):
            self.excused.append(why)
        if any(b.execution.epoch == new.execution.epoch for b in history.begun[:-1]) and (
            why := invariants.epoch_was_set_back(history)
        ):
            self.excused.append(why)
        if what := rules.began_though_not_opened(history, new):
            self.break_rule("S2", f"{history.label}: {what}")
        for rule, broken in invariants.ON_BEGUN:
            if what := broken(history, new):
                self.break_rule(rule, f"{history.label}: {what}")

    @contextmanager
    def watched(self, job: str, what: str, named: int | None = None) -> Generator[None]:
        """Look at the job's objects before and after a write of ours lands, ``named``: a release of that hold."""
        items = list(self.world.by_job.get(job, ()))
        shape = self.world.shape
        before = [(item.record.flag, shape.instance(item)) for item in items]
        yield
        for item, held in zip(items, before, strict=True):
            after = (item.record.flag, shape.instance(item))
            if after != held and (broken := invariants.lifted_another_hold(held, after, named)):
                self.break_rule("S3", f"{what}: {broken}")
        if " stop " in what:
            self._note_cancelled(items)
        self.begun()
        self.scheduler.stir()

    def _note_cancelled(self, items: Sequence[WorldObject]) -> None:
        for item in items:
            if item.record.cancelled_by is not None:
                self.history_of(item).stopped.add(self.world.shape.ref(item))

    @contextmanager
    def watched_all(self) -> Generator[None]:
        """Let a controller that hung carry out what it was sent."""
        yield
        for items in self.world.by_job.values():
            self._note_cancelled(items)

    def check_promises(self) -> None:
        """Check that the disk has all that was acknowledged."""
        for job, history in self.histories.items():
            kept = self.kept(job)
            nonces = tuple(entry.nonce for entry in kept.entries) if kept else ()
            if what := invariants.lost_events(history, nonces):
                self.break_rule("S7", f"{history.label}: {what}")

    def forget(self) -> None:
        """Note that the controller may have forgotten something."""
        for history in self.histories.values():
            history.forgetful = True

    # --- nodes

    def lose_node(self, name: str, draw: Stream) -> None:
        """Let a node fall silent, and answer again later."""
        self.env.lose_node(name)
        self.lost[name] = self.world.now
        for execution in self.world.machines.live.values():
            if name in execution.alive:
                self.histories[execution.job].bereft.add(execution.serial)
        rebooted, stuck = draw.happens(0.3), draw.happens(0.1)
        self.loop.call_later(draw.waiting(300), self._return_node, name, rebooted, stuck)

    def _return_node(self, name: str, rebooted: bool, stuck: bool) -> None:  # noqa: FBT001 - a timer passes no keywords
        if self.world.machines.nodes[name].silent is not None:
            stuck = stuck and not self.faults.ceased
            self.env.return_node(name, rebooted=rebooted, kill_fails=stuck)
            self.step("cluster", f"{name} answers again{', rebooted' if rebooted else ''}")
            self.begun()

    # --- processes

    def process(self, name: str, draw: Stream, records: Records | None = None) -> Process:
        """Start a process on some host."""
        return Process(self, name, draw.pick(self.hosts), records or self.records, poll=self.poll)

    async def run(self, process: Process, work: Coroutine[Any, Any, None]) -> bool:
        """Run a process to its end; whether it lived to it. What it raises while it lives is a fault of the program."""
        process.task = task = self.loop.create_task(self._named(process, work), name=process.name)
        task.add_done_callback(_hear)
        self.processes.append(process)
        await asyncio.wait({task})
        self.processes.remove(process)
        error = None if task.cancelled() else task.exception()
        if process.dead or upgrades(process, error) or self.disk.is_why(error):
            return False
        if error is not None:
            self.break_rule("fault", f"{process.name} ends with {error!r}")
        return True

    async def _named(self, process: Process, work: Coroutine[Any, Any, None]) -> None:
        """Let each process draw its own names, so that a process less changes none of the others'."""
        RUNNING.set(process)
        with randomness(self.chance.stream(f"{process.name}/names").data):
            await work

    async def supervise(self, number: int, records: Records | None = None) -> None:
        """Keep a supervisor running: one that dies is started again after a while."""
        life = 0
        while True:
            life += 1
            name = f"s{number}.{life}"
            draw = self.chance.stream(name)
            await asyncio.sleep(draw.waiting(20) if life > 1 else draw.between(0, 5))
            process = self.process(name, draw, records)
            await self.run(process, self._rounds(process, draw))

    async def _rounds(self, process: Process, draw: Stream) -> None:
        supervisor = process.supervisor(self.poll / 2 if draw.happens(0.5) else timedelta())
        tick = draw.between(0.5, 5)
        while True:
            try:
                done = await supervisor.round()
            except DispatchError:
                done = Round(0, None)
            now = process.ledger.clock.now()
            wait = (done.next_due - now).total_seconds() if done.next_due else 1e9
            await self._pause(max(min(wait, EVERY.total_seconds()), tick), tick)

    async def _pause(self, seconds: float, tick: float) -> None:
        """Wait so long, or until something is written and a tick has passed, as a supervisor does that looks every tick."""
        woken: asyncio.Future[None] = self.loop.create_future()
        waker = (woken, tick)
        self._wakers.append(waker)
        timer = self.loop.call_later(seconds, _set, woken)
        try:
            await woken
        finally:
            timer.cancel()
            with suppress(ValueError):
                self._wakers.remove(waker)

    def wake(self) -> None:
        """Wake within a tick whoever waits for something to do."""
        wakers, self._wakers = self._wakers, []
        for woken, tick in wakers:
            self.loop.call_later(tick, _set, woken)

    def _people(self, count: int) -> list[Person]:
        if self.options.scenario is not None:
            scenario = self.options.scenario
            return [Person(self, scenario.job, "j1", self.records, asks=scenario.asks)]
        labels = [(f"j{number}", self.records) for number in range(1, count + 1)]
        if self.others is not None:
            labels.append(("k1", self.others))
        return [
            Person(self, self._job(label), label, records)
            for label, records in labels
            if label not in self.options.absent
        ]

    def _job(self, label: str) -> Job:
        draw, extras = self.chance.stream(f"job {label}"), self.chance.stream(f"extras {label}")
        return random_job(draw, extras, label, self.options.climate.assumed)


def _hear(task: asyncio.Task[None]) -> None:
    """Take note of an error, which may be told after the run is over, when nobody asks any more."""
    if not task.cancelled():
        task.exception()


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
