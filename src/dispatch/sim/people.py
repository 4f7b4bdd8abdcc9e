"""People: they submit, stop, hold and release, each time with a process of its own, and try again when it dies."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from dispatch.model.errors import Conflict, Finished, NotFound
from dispatch.model.job import Job
from dispatch.shell.driving import Until
from dispatch.sim.process import Process
from dispatch.sim.records import Records

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dispatch.sim.chance import Stream
    from dispatch.sim.site import Site


class Person:
    """One who wants one job, and changes his mind now and then."""

    def __init__(
        self,
        site: Site,
        job: Job,
        label: str,
        records: Records,
        asks: tuple[tuple[float, str], ...] = (),
    ) -> None:
        self.asks = asks
        self.site = site
        self.records = records
        self.job = job
        self.label = label
        self.id: str | None = None
        self.draw = site.chance.stream(f"person {label}")
        self.processes = 0

    async def live(self) -> None:
        """Submit the job at some moment, and ask for this and that later."""
        if self.site.options.scenario is not None:
            await self._follow()
            return
        draw = self.draw
        await asyncio.sleep(draw.between(0, 0.3) * self.site.weather.seconds)
        drives = draw.happens(0.4)
        await self._do(lambda process: self._submit(process, drives=drives))
        asks = self.site.options.climate.asks
        for number in range(len(asks) or draw.weighed(((0, 3.0), (1, 2.0), (3, 1.0)))):
            await self._change_of_mind(
                number, self.site.chance.stream(f"{self.label} asks {number}")
            )

    async def _follow(self) -> None:
        """Submit the job at once, and ask for what the scenario says, so many seconds after the start."""
        await self._do(lambda process: self._submit(process, drives=False))
        for at, what in self.asks:
            await asyncio.sleep(max(0.0, at - self.site.now))
            await self._do(partial(self._ask, what=what, length=timedelta()))

    async def _change_of_mind(self, number: int, draw: Stream) -> None:
        climate = self.site.options.climate
        await asyncio.sleep(draw.waiting(climate.asks_within or 0.3 * self.site.weather.seconds))
        what = draw.weighed((("stop", 1.5), ("hold", 2.0), ("hold a while", 1.5), ("release", 2.0)))
        what = climate.asks[number] if climate.asks else what
        length = timedelta(seconds=draw.waiting(300))
        if self.site.faults.allow(f"{self.label} asks {number}: {what}"):
            await self._do(lambda process: self._ask(process, what, length))

    async def _do(self, act: Callable[[Process], Coroutine[Any, Any, None]]) -> None:
        """Do it with a new process, again and again until one has lived to its end."""
        while True:
            self.processes += 1
            name = f"{self.label}-{self.processes}"
            draw = self.site.chance.stream(name)
            process = self.site.process(name, draw, self.records)
            if await self.site.run(process, act(process)):
                return
            await asyncio.sleep(draw.between(1, 60))

    async def _submit(self, process: Process, *, drives: bool) -> None:
        self.id = (await process.operator.submit(self.job)).id
        if drives:
            await process.driver.drive(
                [self.id], Until.OPENED, timeout=timedelta(seconds=self.draw.waiting(120))
            )

    async def _ask(self, process: Process, what: str, length: timedelta) -> None:
        if self.id is None:
            return
        operator, now = process.operator, process.ledger.clock.now()
        try:
            match what:
                case "stop":
                    operator.ask_stop(self.id)
                case "hold":
                    operator.ask_hold(self.id)
                case "hold a while":
                    operator.ask_hold(self.id, until=now + length)
                case _:
                    operator.ask_release(self.id)
        except (Conflict, Finished, NotFound):
            return  # said of a job that is held, not held, has ended, or is gone with records that were set back
