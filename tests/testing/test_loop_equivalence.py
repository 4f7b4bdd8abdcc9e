"""What runs on the standard loop runs on the simulated one, to the same result and in the same order."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dispatch.testing.loop import Deadlock, Trace, simulate
from testing.programs import PROGRAMS, Log, Program
from testing.stock import StandsStillError, run_on_the_standard_loop

RUNNABLE = [each for each in PROGRAMS if sys.version_info >= each.since]
SEEDS = 50


def named(programs: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("each", programs, ids=[each.name for each in programs])


async def observe(each: Program, log: Log) -> tuple[Any, Log]:
    return await each.body(log), list(log)


def test_there_are_at_least_forty_programs() -> None:
    assert len(PROGRAMS) >= 40


@named(RUNNABLE)
def test_a_program_shows_the_same_as_on_the_standard_loop(each: Program) -> None:
    assert simulate(observe(each, [])) == run_on_the_standard_loop(observe(each, []))


@named([each for each in RUNNABLE if each.settled])
def test_a_result_that_no_order_decides_is_the_same_with_every_seed(each: Program) -> None:
    async def run() -> Any:
        return await each.body([])

    expected = run_on_the_standard_loop(run())
    for seed in range(SEEDS):
        assert simulate(run(), seed=seed) == expected, f"with seed {seed}"


@named([each for each in RUNNABLE if not each.settled])
def test_an_order_that_is_nobodys_is_chosen_by_the_seed(each: Program) -> None:
    outcomes = {repr(simulate(observe(each, []), seed=seed)) for seed in range(SEEDS)}
    assert len(outcomes) > 1


# Programs that nobody has thought of: trees of what asyncio offers.

Tree = tuple[Any, ...]
NAMES = st.sampled_from("xy")
LEAVES: st.SearchStrategy[Tree] = st.one_of(
    st.tuples(st.just("sleep"), st.integers(0, 4)),
    st.tuples(st.sampled_from(["yield", "fail", "soon"])),
    st.tuples(st.sampled_from(["put", "get", "set", "wait"]), NAMES),
)


def branches(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.tuples(st.sampled_from(["sequence", "group", "gather", "race"]), several),
        st.tuples(st.sampled_from(["timeout", "cancel"]), st.integers(0, 4), inner),
        st.tuples(st.sampled_from(["lock", "semaphore"]), NAMES, inner),
        st.tuples(st.sampled_from(["shield", "guard", "generator"]), inner),
    )


TREES = st.recursive(LEAVES, branches, max_leaves=16)


class Machine:
    """Runs a tree. No two timers are ever due at once: the standard loop promises no order for those."""

    def __init__(self) -> None:
        self.log: Log = []
        self._timers = 0
        self._locks = {name: asyncio.Lock() for name in "xy"}
        self._semaphores = {name: asyncio.Semaphore(2) for name in "xy"}
        self._queues: dict[str, asyncio.Queue[int]] = {name: asyncio.Queue(2) for name in "xy"}
        self._events = {name: asyncio.Event() for name in "xy"}

    def delay(self, whole: int) -> float:
        self._timers += 1
        assert self._timers < 45  # all sums are exact
        return whole + 2.0**-self._timers

    def note(self, *what: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.log.append((asyncio.get_running_loop().time(), task.get_name(), *what))

    async def run(self, tree: Tree, path: str = "") -> None:
        kind, *rest = tree
        self.note(path, kind)
        try:
            await getattr(self, f"do_{kind}")(path, *rest)
        except BaseException as error:
            self.note(path, kind, type(error).__name__)
            raise
        self.note(path, kind, "done")

    def spawn(self, tree: Tree, path: str) -> asyncio.Task[None]:
        return asyncio.create_task(self.run(tree, path), name=f"task{path}")

    async def do_sleep(self, _: str, whole: int) -> None:
        await asyncio.sleep(self.delay(whole))

    async def do_yield(self, _: str) -> None:
        await asyncio.sleep(0)

    async def do_fail(self, _: str) -> None:
        raise LookupError

    async def do_soon(self, path: str) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(self.log.append, path)
        loop.call_later(self.delay(1), self.log.append, path)

    async def do_put(self, _: str, name: str) -> None:
        await self._queues[name].put(0)

    async def do_get(self, _: str, name: str) -> None:
        await self._queues[name].get()

    async def do_set(self, _: str, name: str) -> None:
        self._events[name].set()

    async def do_wait(self, _: str, name: str) -> None:
        await self._events[name].wait()

    async def do_sequence(self, path: str, trees: list[Tree]) -> None:
        for n, tree in enumerate(trees):
            await self.run(tree, f"{path}.{n}")

    async def do_group(self, path: str, trees: list[Tree]) -> None:
        async with asyncio.TaskGroup() as group:
            for n, tree in enumerate(trees):
                group.create_task(self.run(tree, f"{path}.{n}"), name=f"task{path}.{n}")

    async def do_gather(self, path: str, trees: list[Tree]) -> None:
        await asyncio.gather(*(self.spawn(tree, f"{path}.{n}") for n, tree in enumerate(trees)))

    async def do_race(self, path: str, trees: list[Tree]) -> None:
        tasks = [self.spawn(tree, f"{path}.{n}") for n, tree in enumerate(trees)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            self.note(path, [task.get_name() for task in done])
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def do_timeout(self, path: str, whole: int, tree: Tree) -> None:
        async with asyncio.timeout(self.delay(whole)):
            await self.run(tree, f"{path}.0")

    async def do_cancel(self, path: str, whole: int, tree: Tree) -> None:
        task = self.spawn(tree, f"{path}.0")
        asyncio.get_running_loop().call_later(self.delay(whole), task.cancel)
        with suppress(asyncio.CancelledError):
            await task

    async def do_lock(self, path: str, name: str, tree: Tree) -> None:
        async with self._locks[name]:
            await self.run(tree, f"{path}.0")

    async def do_semaphore(self, path: str, name: str, tree: Tree) -> None:
        async with self._semaphores[name]:
            await self.run(tree, f"{path}.0")

    async def do_shield(self, path: str, tree: Tree) -> None:
        await asyncio.shield(self.spawn(tree, f"{path}.0"))

    async def do_guard(self, path: str, tree: Tree) -> None:
        with suppress(Exception):
            await self.run(tree, f"{path}.0")

    async def do_generator(self, path: str, tree: Tree) -> None:
        async def steps() -> AsyncGenerator[int]:
            try:
                yield 0
                await self.run(tree, f"{path}.0")
                yield 1
            finally:
                await asyncio.sleep(0)

        async for step in steps():
            self.note(path, step)


def ignore(_: asyncio.AbstractEventLoop, __: dict[str, Any]) -> None:
    """Errors that nobody awaits are part of some programs."""


def behaviour(tree: Tree, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> tuple[str, Log]:
    """Run a tree; return how it ended and what was seen until then."""
    logs: list[Log] = []

    async def main() -> None:
        machine = Machine()
        logs.append(machine.log)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(ignore)
        current = asyncio.current_task()
        assert current is not None
        current.set_name("main")
        try:
            await machine.run(tree)
        finally:
            logs.append(list(machine.log))

    try:
        run(main())
    except (Deadlock, StandsStillError):
        return "deadlock", list(logs[1] if len(logs) > 2 else logs[0])
    except BaseException as error:  # noqa: BLE001  whatever it was
        return type(error).__name__, logs[1]
    return "done", logs[1]


def until_stuck(seen: tuple[str, Log]) -> tuple[str, Log]:
    """Leave out what the winding up of a deadlock does: it is each loop's own."""
    how, log = seen
    cut = next((n for n, line in enumerate(log) if "CancelledError" in line), len(log))
    return how, log[:cut] if how == "deadlock" else log


@settings(max_examples=300)
@given(TREES)
def test_any_program_shows_the_same_as_on_the_standard_loop(tree: Tree) -> None:
    expected = until_stuck(behaviour(tree, run_on_the_standard_loop))
    assert until_stuck(behaviour(tree, simulate)) == expected


@settings(max_examples=100)
@given(TREES, st.integers(0, 1000))
def test_any_program_takes_the_same_steps_with_the_same_seed(tree: Tree, seed: int) -> None:
    traces = [Trace(), Trace()]
    runs = [functools.partial(simulate, seed=seed, trace=trace) for trace in traces]
    seen = [behaviour(tree, run) for run in runs]
    assert seen[0] == seen[1]
    assert str(traces[0]) == str(traces[1])
