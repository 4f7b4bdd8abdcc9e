"""The same program gives the same trace: in every process, with every hash seed, on each supported Python."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from dispatch.testing.loop import SimulationError, Trace, simulate
from testing.pythons import pythons

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = pythons()
SEEDS = ("none", "0", "1", "2", "3", "4711")


def traces(command: list[str], seed: str, hash_seed: str) -> str:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    ran = subprocess.run(
        [*command, "-m", "testing.programs", seed],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed},
    )
    return ran.stdout


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return {seed: traces([sys.executable], seed, "0") for seed in SEEDS}


@pytest.mark.parametrize("hash_seed", ["1", "2", "3", "4", "5", "random"])
def test_every_process_gives_the_same_traces(expected: dict[str, str], hash_seed: str) -> None:
    for seed in ("none", "2"):
        assert traces([sys.executable], seed, hash_seed) == expected[seed]


@pytest.mark.parametrize("version", sorted(PYTHONS))
def test_every_python_gives_the_same_traces(expected: dict[str, str], version: str) -> None:
    for seed in SEEDS:
        assert traces(PYTHONS[version], seed, "random") == expected[seed]


def test_each_seed_gives_other_traces(expected: dict[str, str]) -> None:
    assert len(set(expected.values())) == len(SEEDS)


async def churn(members: int) -> list[str]:
    """Fail a group of many, whose children tell in which order they are cancelled."""
    order: list[str] = []

    async def child(name: str) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            order.append(name)

    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError

    try:
        async with asyncio.TaskGroup() as group:
            for n in range(members):
                group.create_task(child(str(n)))
            group.create_task(fail())
    except* LookupError:
        pass
    return order


def test_a_group_cancels_in_the_same_order_each_time() -> None:
    junk: list[Any] = []
    orders: set[str] = set()
    for n in range(10):
        junk.append([object()] * n * 100)  # moves addresses
        orders.add(str(simulate(churn(40))))
    assert len(orders) == 1


def test_a_seed_chooses_the_order_in_which_a_group_cancels() -> None:
    orders = {str(simulate(churn(5), seed=seed)) for seed in range(20)}
    assert len(orders) > 10


async def waits_for_many() -> list[int]:
    loop = asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(30)]
    for n, future in enumerate(futures):
        loop.call_later(1, future.set_result, n)
    done, _ = await asyncio.wait(futures)
    return [future.result() for future in done]


def test_wait_returns_futures_in_the_same_order_each_time() -> None:
    assert len({str(simulate(waits_for_many())) for _ in range(10)}) == 1


def test_generators_that_are_left_are_closed_in_the_order_of_their_beginning() -> None:
    closed: list[int] = []
    kept: list[Any] = []

    async def main() -> None:
        async def count(n: int) -> AsyncGenerator[int]:
            try:
                yield n
                yield n
            finally:
                closed.append(n)

        kept.extend(count(n) for n in range(20))
        for each in kept:
            await anext(each)

    simulate(main())
    assert closed == list(range(20))


def test_garbage_in_cycles_is_collected_at_steps_of_the_program() -> None:
    async def main(allocations: int) -> int:
        steps = 0

        class Dropped:
            def __init__(self) -> None:
                self.me = self

            def __del__(self) -> None:
                seen.append(steps)

        seen: list[int] = []
        junk: list[list[int]] = []
        Dropped()
        for _ in range(30_000):
            junk.extend([n] for n in range(allocations))
            await asyncio.sleep(0)
            steps += 1
        return seen[0]

    assert simulate(main(1)) == simulate(main(20))
    assert gc.isenabled()


def test_as_completed_starts_coroutines_in_the_order_of_the_list() -> None:
    async def name() -> str:
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    async def main() -> list[str]:
        return [await each for each in asyncio.as_completed([name() for _ in range(12)])]

    assert simulate(main()) == [f"Task-{n}" for n in range(2, 14)]


def test_as_completed_of_a_set_of_coroutines_is_refused() -> None:
    async def main() -> None:
        one = asyncio.sleep(1)
        try:
            for each in asyncio.as_completed({one}):
                await each
        finally:
            one.close()

    with pytest.raises(SimulationError, match="as_completed was given coroutines in a set"):
        simulate(main())


def test_a_seed_keeps_its_meaning() -> None:
    """A seed in a report is good for as long as this holds: a change here changes every seed of everybody."""
    assert [simulate(churn(5), seed=seed) for seed in (0, 1, 7)] == [
        list("43201"),
        list("32104"),
        list("43201"),
    ]


def test_a_trace_names_no_address_and_no_path() -> None:
    trace = Trace()
    simulate(churn(3), trace=trace)
    assert "0x" not in str(trace)
    assert "/" not in str(trace)
    assert str(trace).splitlines()[0] == (
        "     1       0.000000  main             begins churn; waits in churn: TaskGroup.__aexit__"
    )
