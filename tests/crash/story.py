"""A story: what people and the cluster do in the life of a job, or of some together, whoever runs dispatch meanwhile.

Its acts come in order, each once its condition holds. A person's act is done by a process and may be cut short by its
death; the person then does it again, as people do. Whatever can start is started by the scheduler at every turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from crash.site import Process, Site, with_time_passing
from dispatch.model.errors import Conflict, Finished
from dispatch.model.job import Job
from dispatch.model.policy import Policy
from dispatch.model.status import Cause, State
from dispatch.model.view import JobView
from dispatch.shell.driving import Until


@dataclass(frozen=True)
class Act:
    """Something that happens once its condition holds: ``by_world`` in the cluster, or ``by_person`` with a process.

    A ``tried`` act is not done again by the next process when its own died in the middle of it.
    """

    when: Callable[[Tale], bool]
    by_world: Callable[[Tale], object] | None = None
    by_person: Callable[[Tale, Process], Awaitable[None]] | None = None
    tried: bool = False


@dataclass(frozen=True)
class End:
    """How a job must end, whatever happens to the processes."""

    state: State
    cause: Cause | None
    executions: int
    charges: int = 0
    """So often is an execution charged to a budget, and followed by another."""


@dataclass(frozen=True)
class Story:
    """The acts of a story, and how each of its jobs must end."""

    name: str
    acts: tuple[Act, ...]
    ends: tuple[End, ...]
    points: int
    """At least so many points does a run without faults pass."""
    policy: Policy | None = None
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


class Tale:
    """One telling of a story: the site it happens on, and how far it has come."""

    def __init__(self, story: Story, site: Site, key: str) -> None:
        self.story = story
        self.key = key
        self.site = site
        self.jobs: list[str] = []
        """Once their submission is acknowledged."""
        self.done = 0
        self.since = site.clock.now()
        self.busy = False
        self.again = False
        self.rounds = 0

    @property
    def now(self) -> datetime:
        """The time."""
        return self.site.clock.now()

    @property
    def job(self) -> str:
        """The only job, or the first."""
        return self.jobs[0]

    @property
    def view(self) -> JobView:
        """Its record."""
        return self.site.view(self.job)

    @property
    def keys(self) -> list[str]:
        """The key of each job, whether it was submitted already or not."""
        return [f"{self.key}.{number}" for number, _ in enumerate(self.story.ends)]

    @property
    def over(self) -> bool:
        """Whether all acts are done and every job has ended."""
        return self.done == len(self.story.acts) and all(
            self.site.view(job).verdict is not None for job in self.jobs
        )

    async def play(self, process: Process | None) -> None:
        """Play every act whose time has come; without a process, only what happens in the cluster."""
        self.site.env.run_all()
        while not self.busy and self.done < len(self.story.acts):
            act = self.story.acts[self.done]
            if not act.when(self) or (process is None and act.by_person is not None):
                return
            if act.by_person is not None and process is not None:
                await self._by_person(act.by_person, process)
            elif act.by_world is not None:
                act.by_world(self)
            self._finish()
            self.site.env.run_all()

    async def _by_person(
        self, do: Callable[[Tale, Process], Awaitable[None]], process: Process
    ) -> None:
        self.busy = True
        try:
            await do(self, process)
        except (Conflict, Finished):
            # Said of a request whose first try was recorded, and whose acknowledgement was lost.
            if not self.again:
                raise
        self.busy = False

    def _finish(self) -> None:
        self.done += 1
        self.since, self.again = self.now, False

    def bury(self) -> None:
        """Note that the process has died: what a person was about is done again, or given up."""
        if self.busy:
            self.again = True
            self.busy = False
            if self.story.acts[self.done].tried:
                self._finish()

    async def live(self, process: Process, rounds: int) -> None:
        """Let the process supervise until all is over, or for so many rounds."""
        for _ in range(rounds):
            await self.play(process)
            if self.over:
                return
            self.rounds += 1
            done = await process.supervisor.round()
            self.pass_time(done.next_due)

    def pass_time(self, due: datetime | None) -> None:
        """Move the clock to when the next job is due, or a little where that is unknown or has passed."""
        now = self.now
        if due is None or due <= now:
            due = now + timedelta(seconds=5)
        self.site.clock.advance_to(min(due, now + timedelta(minutes=5)))


# --- acts of people


def submit(recovery: Policy | None = None, *, drive: bool = True, **fields: Any) -> Act:
    """Submit each job under a key, and, as the command does, drive them together until they are open."""

    async def do(tale: Tale, process: Process) -> None:
        jobs = [
            Job(command=("train",), cluster="c", key=key, recovery=recovery, **fields)
            for key in tale.keys
        ]
        tale.jobs = [(await process.operator.submit(job)).id for job in jobs]
        if drive:
            await driven(tale, process)

    return Act(when=lambda _: True, by_person=do)


def wait() -> Act:
    """Drive the jobs together until they are open."""
    return Act(when=lambda _: True, by_person=driven)


async def driven(tale: Tale, process: Process) -> None:
    """Let the process drive the jobs until they are open, while time passes."""
    driving = asyncio.ensure_future(process.driver.drive(tale.jobs, Until.OPENED))
    await with_time_passing(tale.site.clock, driving)


def ask(what: str, when: Callable[[Tale], bool], of: int = 0) -> Act:
    """Ask for a ``stop``, a ``hold`` or a ``release`` of that job."""

    async def do(tale: Tale, process: Process) -> None:
        getattr(process.operator, f"ask_{what}")(tale.jobs[of])

    return Act(when=when, by_person=do)


def turn() -> Act:
    """Run the engine for one call for each job."""

    async def do(tale: Tale, process: Process) -> None:
        await process.turn(tale.jobs)

    return Act(when=lambda _: True, by_person=do, tried=True)


# --- acts of the cluster


def happens(when: Callable[[Tale], bool], what: str, *args: Any, to: int = 0) -> Act:
    """Something happens to that job in the cluster, by the name of the environment's method."""
    return Act(when=when, by_world=lambda tale: getattr(tale.site.env, what)(tale.jobs[to], *args))


def befalls(when: Callable[[Tale], bool], what: str, *args: Any) -> Act:
    """Something happens in the cluster that is about no single job."""
    return Act(when=when, by_world=lambda tale: getattr(tale.site.env, what)(*args))


def passes(minutes: int) -> Act:
    """Nothing happens for so long."""
    return Act(
        when=lambda tale: tale.now >= tale.since + timedelta(minutes=minutes),
        by_world=lambda _: None,
    )


# --- conditions


def at_once(_: Tale) -> bool:
    """Without a condition."""
    return True


def runs(number: int, of: int = 0) -> Callable[[Tale], bool]:
    """Whether that submission of that job really runs."""

    def holds(tale: Tale) -> bool:
        live = tale.site.env.live(tale.jobs[of]) if tale.jobs else ()
        return any(one.epoch // 1_000_000 == number for one in live)

    return holds


def recorded(reached: Callable[[JobView], bool], of: int | None = None) -> Callable[[Tale], bool]:
    """Whether the record of that job, or of every job, says so."""

    def holds(tale: Tale) -> bool:
        jobs = tale.jobs if of is None else tale.jobs[of : of + 1]
        return bool(jobs) and all(reached(tale.site.view(job)) for job in jobs)

    return holds
