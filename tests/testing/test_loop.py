"""The simulated loop: its time, its clock, its choices, and what else a loop has to be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dispatch.spi.clock import Clock
from dispatch.testing.loop import (
    SimulatedClock,
    SimulatedLoop,
    SimulatedTask,
    SimulationError,
    Trace,
    simulate,
)

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


def the_loop() -> SimulatedLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop)
    return loop


# Time


def test_a_year_passes_at_once_and_exactly() -> None:
    async def main() -> tuple[float, datetime]:
        await asyncio.sleep(365 * 86_400)
        return asyncio.get_running_loop().time(), the_loop().clock.now()

    assert simulate(main(), start=START) == (365 * 86_400, START + timedelta(days=365))


def test_a_loop_is_on_time_to_the_last_bit() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        for n in range(1, 200):
            due = loop.time() + n / 7
            await asyncio.sleep(n / 7)
            assert loop.time() == due

    simulate(main())


def test_the_clock_wakes_at_the_microsecond() -> None:
    async def main() -> None:
        clock: Clock = the_loop().clock
        for micros in (1, 333_333, 7, 10**15 + 1):
            moment = clock.now() + timedelta(microseconds=micros)
            await clock.sleep_until(moment)
            assert clock.now() == moment
            await clock.sleep_until(moment)  # at once

    simulate(main(), start=START)


def test_a_host_whose_clock_runs_ahead_wakes_early() -> None:
    async def main() -> list[tuple[str, float]]:
        clock, woken = the_loop().clock, list[tuple[str, float]]()

        async def sleep(name: str, host: SimulatedClock) -> None:
            await host.sleep_until(START + timedelta(seconds=60))
            woken.append((name, asyncio.get_running_loop().time()))

        ahead, behind = (clock.ahead(timedelta(seconds=each)) for each in (7, -7))
        await asyncio.gather(sleep("true", clock), sleep("ahead", ahead), sleep("behind", behind))
        return woken

    assert simulate(main(), start=START) == [("ahead", 53), ("true", 60), ("behind", 67)]


def test_a_naive_start_is_refused_and_the_coroutine_is_closed() -> None:
    with pytest.raises(ValueError, match="a moment is aware"):
        simulate(asyncio.sleep(1), start=datetime(2026, 1, 1))  # noqa: DTZ001  the mistake


def test_a_cancelled_sleeper_leaves_no_timer() -> None:
    async def main() -> float:
        clock = the_loop().clock
        late = asyncio.create_task(clock.sleep_until(clock.now() + timedelta(days=9)))
        await asyncio.sleep(1)
        late.cancel()
        await asyncio.wait([late])
        await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    assert simulate(main()) == 2


def test_cancelled_timers_are_not_kept() -> None:
    async def main() -> int:
        loop = the_loop()
        for _ in range(10_000):
            loop.call_later(1e9, int).cancel()
        return len(loop._timers._heap)

    assert simulate(main()) < 200


def test_timers_that_are_due_at_once_keep_the_order_of_their_setting() -> None:
    async def main() -> list[int]:
        order: list[int] = []
        for n in range(100):
            asyncio.get_running_loop().call_at(5, order.append, n)
        await asyncio.sleep(6)
        return order

    assert simulate(main()) == list(range(100))


# Choices: each of these is a race that the standard loop never shows.


async def begun_before() -> bool:
    """Trusts that a task which was made first begins first."""
    ready = False

    async def setup() -> None:
        nonlocal ready
        ready = True

    async def use() -> bool:
        return ready

    made = asyncio.create_task(setup())
    user = asyncio.create_task(use())
    await made
    return await user


async def long_stall() -> bool:
    """Goes wrong only where one task stands still while another takes forty steps."""
    progress = 0

    async def work() -> None:
        nonlocal progress
        for _ in range(40):
            await asyncio.sleep(0)
            progress += 1

    async def look() -> bool:
        await asyncio.sleep(0)
        return progress < 40

    worker = asyncio.create_task(work())
    looker = asyncio.create_task(look())
    await worker
    return await looker


@pytest.mark.parametrize("race", [begun_before, long_stall])
def test_a_race_that_the_standard_order_hides_is_found_by_some_seed(
    race: Callable[[], Any],
) -> None:
    assert simulate(race())
    found = [seed for seed in range(50) if not simulate(race(), seed=seed)]
    assert found
    assert all(not simulate(race(), seed=seed) for seed in found)


@pytest.mark.parametrize("seed", range(20))
def test_callbacks_stay_in_their_order_with_every_seed(seed: int) -> None:
    async def main() -> list[int]:
        order: list[int] = []
        for n in range(50):
            asyncio.get_running_loop().call_soon(order.append, n)
            asyncio.create_task(asyncio.sleep(0)).add_done_callback(lambda _: None)
        await asyncio.sleep(1)
        return order

    assert simulate(main(), seed=seed) == list(range(50))


@pytest.mark.parametrize("seed", range(8))
def test_nobody_starves_whoever_spins(seed: int) -> None:
    async def main() -> None:
        done = False

        async def finish() -> None:
            nonlocal done
            await asyncio.sleep(0)
            done = True

        task = asyncio.create_task(finish())
        while not done:  # noqa: ASYNC110  on purpose
            await asyncio.sleep(0)
        await task

    simulate(main(), seed=seed, patience=1000)


# What else a loop is


def test_a_runner_and_its_debug_mode_work_with_it() -> None:
    async def fail() -> None:
        asyncio.get_running_loop().call_soon(fail)

    async def main() -> bool:
        with pytest.raises(TypeError, match="coroutines cannot be used with call_soon"):
            await fail()
        await asyncio.sleep(10)
        return asyncio.get_running_loop().get_debug()

    with asyncio.Runner(debug=True, loop_factory=SimulatedLoop) as runner:
        assert runner.run(main())
        assert runner.run(asyncio.sleep(5, "again")) == "again"


def test_it_stops_runs_on_and_closes_as_the_standard_loop() -> None:
    loop = SimulatedLoop()
    seen: list[int] = []
    loop.call_soon(seen.append, 1)
    loop.stop()
    loop.run_forever()  # one turn
    loop.call_later(5, loop.stop)
    loop.run_forever()
    assert (seen, loop.time(), loop.is_running()) == ([1], 5, False)
    loop.close()
    loop.close()
    assert loop.is_closed()
    assert repr(loop) == "<SimulatedLoop closed, seed None, at 5.000000 s>"


def test_a_future_that_is_not_done_when_it_stops_is_an_error() -> None:
    loop = SimulatedLoop()
    loop.call_later(1, loop.stop)
    with pytest.raises(RuntimeError, match="stopped before Future completed"):
        loop.run_until_complete(loop.create_future())


def test_simulations_in_one_process_number_their_tasks_alike() -> None:
    async def main() -> list[str]:
        tasks = [asyncio.create_task(asyncio.sleep(0)) for _ in range(3)]
        await asyncio.wait(tasks)
        return [task.get_name() for task in tasks]

    assert simulate(main()) == simulate(main()) == ["Task-2", "Task-3", "Task-4"]


def test_a_factory_may_make_tasks_of_its_own_class() -> None:
    class Mine(SimulatedTask[Any]):
        pass

    def make(loop: Any, coro: Any, **options: Any) -> Mine:
        return Mine(coro, loop=loop, **options)

    async def main() -> tuple[bool, str]:
        asyncio.get_running_loop().set_task_factory(make)
        task = asyncio.create_task(asyncio.sleep(1), name="named")
        await task
        return isinstance(task, Mine), task.get_name()

    assert simulate(main()) == (True, "named")


def test_what_main_leaves_running_is_cancelled() -> None:
    ended: list[str] = []

    async def child(name: str) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(1)
            ended.append(name)

    kept: list[Awaitable[None]] = []

    async def main() -> str:
        kept.extend(asyncio.create_task(child(name)) for name in "abc")
        await asyncio.sleep(1)
        return "done"

    assert simulate(main()) == "done"
    assert ended == ["a", "b", "c"]


def test_an_error_of_a_simulation_says_what_to_do() -> None:
    assert str(SimulationError("It broke.", todo="Mend it.")) == "It broke. Mend it."


def test_a_trace_keeps_the_last_lines() -> None:
    trace = Trace(most=2)

    async def main() -> None:
        for _ in range(3):
            await asyncio.sleep(1)
        asyncio.get_running_loop().call_soon(int)
        await asyncio.sleep(0)

    simulate(main(), trace=trace)
    assert [(line.step, line.time, line.task, line.what) for line in trace] == [
        (5, 3.0, "", "calls int"),
        (6, 3.0, "main", "ends"),
    ]
