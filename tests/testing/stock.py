"""The standard library's own event loop, in time that is stepped: its code runs unchanged, and nobody waits for it."""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StandsStillError(Exception):
    """The loop would wait for ever."""


class SteppedSelector(selectors.SelectSelector):
    """A selector for which time passes at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise StandsStillError
        self.now += timeout
        return super().select(0)


class ByBirth(asyncio.Task[Any]):
    """A task in whose sets the order is the same each time; else two runs of the stock loop differ."""

    __slots__ = ("serial",)

    def __init__(self, coro: Any, *, serial: int, **options: Any) -> None:
        self.serial = serial
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self.serial


def run_on_the_standard_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run as ``asyncio.run`` does."""
    selector, serials = SteppedSelector(), itertools.count(1)

    def make_task(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> ByBirth:
        return ByBirth(coro, serial=next(serials), loop=loop, **options)

    def make_loop() -> asyncio.AbstractEventLoop:
        loop = asyncio.SelectorEventLoop(selector)
        setattr(loop, "time", lambda: selector.now)  # noqa: B010  it replaces a method
        loop.set_task_factory(make_task)
        return loop

    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(main)
