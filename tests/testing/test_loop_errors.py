"""A mistake in a simulation is a clear error: what is real is refused by name, a deadlock tells who waits for what."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from dispatch.testing.loop import (
    Deadlock,
    RealWorld,
    Runaway,
    SimulatedLoop,
    SimulationError,
    simulate,
)

# What is real


async def nothing(*_: Any) -> None:
    pass


def loop() -> Any:
    return asyncio.get_running_loop()


def bind() -> None:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))


REAL: dict[str, tuple[str, Callable[[], Any]]] = {
    "thread": ("run_in_executor", lambda: asyncio.to_thread(int)),
    "connection": ("create_connection", lambda: asyncio.open_connection("localhost", 1)),
    "server": ("create_server", lambda: asyncio.start_server(nothing, "localhost", 1)),
    "unix": ("create_unix_connection", lambda: asyncio.open_unix_connection("/nowhere")),
    "process": ("subprocess_exec", lambda: asyncio.create_subprocess_exec("true")),
    "shell": ("subprocess_shell", lambda: asyncio.create_subprocess_shell("true")),
    "name": ("getaddrinfo", lambda: loop().getaddrinfo("localhost", 1)),
    "reader": ("add_reader", lambda: loop().add_reader(0, int)),
    "signal": ("add_signal_handler", lambda: loop().add_signal_handler(signal.SIGUSR1, int)),
    "pipe": ("connect_read_pipe", lambda: loop().connect_read_pipe(int, sys.stdin)),
    "socket": ("sock_recv", lambda: loop().sock_recv(None, 1)),
    "sleep": (r"time\.sleep", lambda: getattr(time, "sleep")(0)),  # noqa: B009  of no time
    "popen": (r"subprocess\.Popen", lambda: subprocess.run(["true"], check=False)),
    "bind": (r"socket\.bind", bind),
    "start": (r"threading\.Thread\.start", lambda: threading.Thread(target=int).start()),
}


@pytest.mark.parametrize("what", REAL)
def test_what_is_real_is_refused_by_name(what: str) -> None:
    name, call = REAL[what]

    async def reach() -> None:
        made = call()
        if isinstance(made, Awaitable):
            await made

    async def main() -> None:
        await asyncio.create_task(reach(), name="explorer")

    with pytest.raises(RealWorld, match=rf"Task 'explorer' called {name}, which is real"):
        simulate(main())


def test_every_call_of_a_loop_is_answered_or_refused() -> None:
    """A call that a later Python adds would end as a NotImplementedError that says nothing."""
    calls = {name for name in vars(asyncio.AbstractEventLoop) if not name.startswith("__")}
    ours = (each for each in SimulatedLoop.__mro__ if each.__module__.startswith("dispatch."))
    assert calls <= {name for each in ours for name in vars(each)}


def test_who_swallows_a_refusal_is_ended_all_the_same() -> None:
    async def main() -> str:
        with contextlib.suppress(Exception):
            await asyncio.to_thread(int)
        await asyncio.sleep(1)
        return "it went on"

    with pytest.raises(RealWorld):
        simulate(main())


def test_files_may_be_read() -> None:
    async def main() -> int:
        with open(__file__) as file:  # noqa: ASYNC230, PTH123  a record in SQLite is called inline too
            return len(file.read())

    assert simulate(main()) > 0


def test_a_real_sleep_beside_a_simulation_is_nobodys_business() -> None:
    simulate(nothing())
    getattr(time, "sleep")(0)  # noqa: B009  of no time


def test_a_thread_that_calls_in_is_refused_by_its_name() -> None:
    refusals: list[BaseException] = []
    made, go = threading.Event(), threading.Event()
    holder: list[SimulatedLoop] = []

    def call_in() -> None:
        made.wait()
        try:
            holder[0].call_soon_threadsafe(int)
        except RealWorld as error:
            refusals.append(error)
        go.set()

    thread = threading.Thread(target=call_in, name="outsider")
    thread.start()

    async def main() -> None:
        holder.append(loop())
        made.set()
        go.wait()
        await asyncio.sleep(1)

    with pytest.raises(RealWorld, match="Thread 'outsider' called call_soon_threadsafe"):
        simulate(main())
    thread.join()
    assert refusals


# Deadlocks


def stuck(main: Any) -> dict[str, str]:
    with pytest.raises(Deadlock, match=r"Deadlock at 2026-01-01T00:00:0\d\+00:00") as caught:
        simulate(main)
    assert all(str(each) in str(caught.value) for each in caught.value.waiting)
    assert "0x" not in str(caught.value)
    return {each.task: f"{each.where} waits for {each.what}" for each in caught.value.waiting}


def test_two_locks_taken_crosswise_are_named() -> None:
    async def take(first: asyncio.Lock, second: asyncio.Lock) -> None:
        async with first:
            await asyncio.sleep(1)
            async with second:
                pass

    async def main() -> None:
        left, right = asyncio.Lock(), asyncio.Lock()
        async with asyncio.TaskGroup() as group:
            group.create_task(take(left, right), name="one")
            group.create_task(take(right, left), name="two")

    waiting = stuck(main())
    assert list(waiting) == ["main", "one", "two"]
    assert waiting["main"].endswith("waits for its task group, with 'one', 'two'")
    for name in ("one", "two"):
        assert "test_loop_errors.py:" in waiting[name]
        assert "in take (`async with second:`) waits for Lock [locked, waiters:1]" in waiting[name]


async def forever() -> None:
    await asyncio.Event().wait()


async def on_a_future() -> None:
    await loop().create_future()


async def on_a_queue() -> None:
    await asyncio.Queue(3).get()


async def on_a_gather() -> None:
    one, two = (asyncio.create_task(forever(), name=name) for name in ("one", "two"))
    await asyncio.gather(one, two)


async def on_a_task() -> None:
    await asyncio.create_task(forever(), name="one")


async def on_a_wait() -> None:
    await asyncio.wait([asyncio.create_task(forever(), name="one")])


async def on_a_condition() -> None:
    condition = asyncio.Condition()
    async with condition:
        await condition.wait()


async def on_a_semaphore() -> None:
    await asyncio.Semaphore(0).acquire()


async def on_a_timer_at_the_end_of_time() -> None:
    await asyncio.sleep(math.inf)


@pytest.mark.parametrize(
    ("main", "what"),
    [
        (forever, "Event [unset, waiters:1]"),
        (on_a_future, "a future that nobody has resolved"),
        (on_a_queue, "Queue maxsize=3 _getters[1]"),
        (on_a_gather, "a gather of 'one', 'two'"),
        (on_a_task, "the task 'one'"),
        (on_a_wait, "asyncio.wait of 'one'"),
        (on_a_condition, "Condition [unlocked, waiters:1]"),
        (on_a_semaphore, "Semaphore [locked, waiters:1]"),
        (on_a_timer_at_the_end_of_time, "a future that nobody has resolved"),
    ],
)
def test_a_deadlock_names_what_is_waited_for(main: Callable[[], Any], what: str) -> None:
    waiting = stuck(main())["main"]
    assert waiting.endswith(f"waits for {what}")
    assert f"in {main.__name__} (`" in waiting


def test_time_does_not_move_to_a_timer_that_was_cancelled() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(5, int).cancel()
        await forever()

    with pytest.raises(Deadlock, match="Deadlock at 2026-01-01T00:00:00"):
        simulate(main())


def test_a_task_that_swallows_its_cancellation_is_named_and_hides_no_result() -> None:
    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def main() -> None:
        loop()._kept = asyncio.create_task(stubborn(), name="stubborn")
        await asyncio.sleep(1)

    with pytest.raises(Deadlock, match=r"'stubborn' at test_loop_errors\.py"):
        simulate(main())


# Runaways


@pytest.mark.parametrize("seed", [None, 1])
def test_a_program_that_never_rests_is_named(seed: int | None) -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110  the mistake itself
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.sleep(5)
        await asyncio.gather(asyncio.create_task(spin(), name="spinner"), forever())

    with pytest.raises(Runaway, match="More than 5000 steps at 2026-01-01T00:00:05") as caught:
        simulate(main(), patience=5000, seed=seed)
    assert caught.value.busiest[0][0] == "spinner"


def test_many_steps_are_no_runaway_while_time_goes_on() -> None:
    async def main() -> float:
        for _ in range(3000):
            await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    assert simulate(main(), patience=2000) == 3000


def test_a_horizon_ends_what_goes_on_for_ever() -> None:
    async def beat() -> None:
        while True:  # noqa: ASYNC110  the mistake itself
            await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(beat())
        await forever()
        await task

    with pytest.raises(Runaway, match=r"2026-01-01T01:00:00\+00:00.*beyond the horizon"):
        simulate(main(), horizon=timedelta(hours=1))


# Wrong use


def test_a_simulation_within_a_loop_is_refused() -> None:
    async def main() -> None:
        simulate(nothing())

    with pytest.raises(SimulationError, match="where an event loop runs already"):
        asyncio.run(main())


def test_what_is_no_coroutine_is_refused() -> None:
    with pytest.raises(SimulationError, match="Call the function"):
        simulate(nothing)  # type: ignore[arg-type]


def test_a_factory_of_stock_tasks_is_refused() -> None:
    def make(loop: asyncio.AbstractEventLoop, coro: Any, **_: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=loop)

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(make)
        await asyncio.create_task(nothing())

    with pytest.raises(SimulationError, match="made a Task, which asyncio orders by its address"):
        simulate(main())


def test_a_closed_loop_takes_nothing() -> None:
    closed = SimulatedLoop()
    closed.close()
    with pytest.raises(RuntimeError, match="Event loop is closed"):
        closed.call_soon(int)


def test_a_timer_at_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        SimulatedLoop().call_at(math.nan, int)


def test_a_keyboard_interrupt_ends_the_simulation() -> None:
    async def main() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(main())
