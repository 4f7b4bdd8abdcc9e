# ruff: noqa: INP001  a script
"""Measure the simulated event loop beside the standard one: `python benchmarks/loop.py`."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from dispatch.testing.loop import Trace, simulate

STEPS = 100_000
TASKS = 100
RUNS = 5

Program = Callable[[], Coroutine[Any, Any, None]]


async def yields() -> None:
    """Take many steps that wait for nothing."""

    async def work() -> None:
        for _ in range(STEPS // TASKS):
            await asyncio.sleep(0)

    await asyncio.gather(*(work() for _ in range(TASKS)))


async def timers() -> None:
    """Sleep many times; on the standard loop for no time, which is still a timer."""

    async def work() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(STEPS // TASKS):
            woken = loop.create_future()
            loop.call_later(1e-9, woken.set_result, None)
            await woken

    await asyncio.gather(*(work() for _ in range(TASKS)))


async def births() -> None:
    """Make many tasks that do nothing."""

    async def nothing() -> None:
        pass

    for _ in range(STEPS // TASKS):
        async with asyncio.TaskGroup() as group:
            for _ in range(TASKS):
                group.create_task(nothing())


def measure(name: str, program: Program, run: Callable[[Coroutine[Any, Any, None]], None]) -> float:
    """Print the microseconds that one of the steps takes, as the median of some runs."""
    taken: list[float] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        run(program())
        taken.append(time.perf_counter() - began)
    each = statistics.median(taken) / STEPS * 1e6
    sys.stdout.write(f"{program.__name__:<8} {name:<28} {each:6.2f} µs  {1e6 / each:>9.0f}/s\n")
    return each


def main() -> None:
    for program in (yields, timers, births):
        measure("asyncio.run", program, asyncio.run)
        measure("simulate", program, simulate)
        measure("simulate(seed=1)", program, partial(simulate, seed=1))
        measure("simulate(trace=…)", program, partial(simulate, trace=Trace(most=30)))
    began = time.perf_counter()
    for _ in range(1000):
        simulate(asyncio.sleep(1))
    each = (time.perf_counter() - began) * 1e3
    sys.stdout.write(f"a whole simulation of one sleep  {each:6.0f} µs\n")


if __name__ == "__main__":
    main()
