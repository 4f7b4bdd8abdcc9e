"""What goes on by itself in a test: the scheduler starts what may start, and a supervisor looks at the jobs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from dispatch.adapters.memory import Env
from dispatch.model.errors import Conflict, DispatchError
from dispatch.shell.supervisor import Supervisor
from dispatch.testing.loop import SimulatedClock

log = logging.getLogger("dispatch.testing")

CYCLE = timedelta(seconds=10)
"""The time between two looks of the scheduler at its queue."""
TAKEN = timedelta(minutes=3)
"""How long the nodes of a preempted job are another's: longer than a supervisor takes to see it."""
TICK = timedelta(seconds=1)
"""The shortest time between two rounds of the supervisor."""
LONGEST = timedelta(minutes=5)
"""The longest, where no job is due: it sweeps so often."""


class Rounds:
    """The scheduler's cycles and the supervisor's rounds, as tasks of one simulated loop."""

    def __init__(
        self, env: Env, clock: SimulatedClock, new_supervisor: Callable[[], Supervisor]
    ) -> None:
        self._env = env
        self._clock = clock
        self._new_supervisor = new_supervisor
        self._asked = asyncio.Event()
        self._changed = asyncio.Event()
        self._kept_back: dict[str, datetime] = {}
        self._supervising: asyncio.Task[None] | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the scheduler go to work."""
        self._loop = loop
        self._scheduling = loop.create_task(self._schedule(), name="scheduler")

    @property
    def supervised(self) -> bool:
        """Whether a supervisor is at work."""
        return self._supervising is not None

    def supervise(self) -> None:
        """Start a supervisor; nothing where one is at work."""
        if self._supervising is None:
            self._supervising = self._loop.create_task(self._supervise(), name="supervisor")

    def kill(self) -> None:
        """Kill the supervisor where it stands: it gives up no claim, and says nothing."""
        if self._supervising is not None:
            self._supervising.cancel()
        self._supervising = None

    def poke(self) -> None:
        """Let the supervisor look at once, as it does within a second of a person's request."""
        self._asked.set()

    def keep_back(self, job: str) -> None:
        """Start nothing of a job while whoever has taken its nodes works on them."""
        self._kept_back[job] = self._clock.now() + TAKEN

    async def until(self, reached: Callable[[], bool], end: datetime) -> bool:
        """Let time pass until it is so, or until ``end``; tell whether it is."""
        while not reached():
            if self._clock.now() >= end:
                return False
            await self._before(end, self._changed)
            self._check()
        return True

    async def sleep_until(self, moment: datetime) -> None:
        """Let time pass until then."""
        await self._clock.sleep_until(moment)
        self._check()

    async def end(self) -> None:
        """End what goes on."""
        tasks = [task for task in (self._scheduling, self._supervising) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        self._check()

    def _check(self) -> None:
        """Raise what has ended the scheduler or the supervisor, which is a fault of theirs."""
        for task in (self._scheduling, self._supervising):
            if task is not None and task.done() and not task.cancelled():
                task.result()

    async def _schedule(self) -> None:
        while True:
            self._start_all()
            self._tell()
            await self._clock.sleep_until(self._clock.now() + CYCLE)

    def _start_all(self) -> None:
        now = self._clock.now()
        self._kept_back = {job: until for job, until in self._kept_back.items() if until > now}
        for ref in self._env.runnable():
            if self._env.truth(ref).job not in self._kept_back:
                with suppress(Conflict):  # what started just before has taken its nodes
                    self._env.run(ref)

    async def _supervise(self) -> None:
        supervisor = self._new_supervisor()
        while True:
            due: datetime | None = None
            try:
                due = (await supervisor.round()).next_due
            except DispatchError as error:  # as the supervisor itself: it is tried again
                log.warning("a round failed and is tried again: %s", error)
            self._tell()
            now = self._clock.now()
            await self._before(
                max(now + TICK, min(due or now + LONGEST, now + LONGEST)), self._asked
            )
            self._asked.clear()

    def _tell(self) -> None:
        self._changed.set()  # whoever waits now goes on, and whoever comes later waits
        self._changed.clear()

    async def _before(self, end: datetime, event: asyncio.Event) -> None:
        """Wait for the event, until ``end`` at the most."""
        with suppress(TimeoutError):
            async with asyncio.timeout((end - self._clock.now()).total_seconds()):
                await event.wait()
