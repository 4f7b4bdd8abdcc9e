"""Programs with futures, contexts, generators and errors."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from testing.programs.registry import Log, nap, now, program

# Futures, context, generators, errors


@program()
async def a_future_calls_back_in_order(log: Log) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[str] = loop.create_future()

    def called(n: int, future: asyncio.Future[str]) -> None:
        log.append((n, future.result()))

    for n in range(3):
        future.add_done_callback(functools.partial(called, n))
    waiter = asyncio.create_task(asyncio.wait([future]))
    await asyncio.sleep(0)
    future.set_result("done")
    log.append("set")
    await waiter
    return log


@program()
async def a_task_has_its_own_context(log: Log) -> Any:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="outer")

    async def change(value: str) -> tuple[str, str]:
        before = variable.get()
        variable.set(value)
        await asyncio.sleep(1)
        return before, variable.get()

    variable.set("main")
    changed = await asyncio.gather(change("a"), change("b"))
    asyncio.get_running_loop().call_soon(lambda: log.append(variable.get()))
    variable.set("later")
    await asyncio.sleep(0.5)
    return changed, variable.get(), log


async def count(log: Log, to: int) -> AsyncGenerator[int]:
    try:
        for n in range(to):
            await asyncio.sleep(1)
            yield n
    finally:
        await asyncio.sleep(0.5)
        log.append(("closed", now()))


@program()
async def an_asynchronous_generator_is_closed(log: Log) -> Any:
    async for n in count(log, 5):
        if n == 2:
            break
    await asyncio.sleep(3)
    return log


@program()
async def asynchronous_context_managers_unwind(log: Log) -> Any:
    @asynccontextmanager
    async def open_(name: str) -> AsyncGenerator[str]:
        await asyncio.sleep(1)
        try:
            yield name
        finally:
            await asyncio.sleep(1)
            log.append((name, now()))

    with suppress(ZeroDivisionError):
        async with open_("a"), open_("b"):
            raise ZeroDivisionError
    return log


@program()
async def an_error_of_a_callback_goes_to_the_handler(log: Log) -> Any:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: log.append(repr(context["exception"])))
    loop.call_soon(int, "x")
    await asyncio.sleep(1)
    return log


@program()
async def an_error_that_nobody_awaits_goes_to_the_handler(log: Log) -> Any:
    async def fail() -> None:
        raise LookupError("alone")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: log.append(repr(context["exception"])))
    task = asyncio.create_task(fail())
    await asyncio.sleep(1)
    del task
    return log


@program()
async def tasks_have_names(log: Log) -> Any:
    async def me() -> str:
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    named = await asyncio.create_task(me(), name="named")
    return named, sorted(task.get_name() for task in asyncio.all_tasks() if "named" in str(task))


@program(since=(3, 12))
async def an_eager_task_begins_at_once(log: Log) -> Any:
    loop = asyncio.get_running_loop()
    loop.set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009  not in 3.11
    task = asyncio.create_task(nap(log, "a", 1))
    log.append("made")

    async def at_once() -> int:
        return 7

    done = asyncio.create_task(at_once())
    return done.done(), await done, await task, log
