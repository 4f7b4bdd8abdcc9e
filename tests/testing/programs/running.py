"""Programs that sleep, group and cancel."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from testing.programs.registry import Log, nap, now, program

# Sleeping and the order of steps


@program()
async def sleeps_in_turn(log: Log) -> float:
    await nap(log, "a", 1, 2, 0.5)
    return now()


@program()
async def gathers_in_the_order_of_its_arguments(log: Log) -> Any:
    return await asyncio.gather(nap(log, "a", 3), nap(log, "b", 1), nap(log, "c", 2))


@program(settled=False)
async def takes_turns_with_sleep_zero(log: Log) -> Log:
    await asyncio.gather(*(nap(log, name, 0, 0, 0) for name in "abc"))
    return log


@program()
async def wakes_the_earliest_first(log: Log) -> Log:
    await asyncio.gather(*(nap(log, str(n), (n * 7) % 5 + n / 100) for n in range(8)))
    return log


@program()
async def calls_callbacks_in_their_order(log: Log) -> Log:
    loop = asyncio.get_running_loop()
    for n in range(5):
        loop.call_soon(log.append, n)
    await asyncio.sleep(1)
    return log


@program()
async def calls_timers_by_their_time(log: Log) -> Log:
    loop = asyncio.get_running_loop()
    for n in (3, 1, 2):
        loop.call_later(n, log.append, n)
    loop.call_at(loop.time() + 1.5, log.append, 1.5)
    loop.call_later(1.7, log.append, "never").cancel()
    await asyncio.sleep(4)
    return log


@program(settled=False)
async def mixes_timers_that_are_due_with_what_is_ready(log: Log) -> Log:
    loop = asyncio.get_running_loop()

    def first() -> None:
        log.append("first")
        loop.call_later(0, log.append, "timer")
        loop.call_soon(second)

    def second() -> None:
        log.append("second")
        loop.call_soon(log.append, "third")

    loop.call_soon(first)
    await nap(log, "task", 0, 0, 0, 0, 1)
    return log


@program()
async def cancels_a_handle(log: Log) -> Log:
    handle = asyncio.get_running_loop().call_soon(log.append, "never")
    handle.cancel()
    await asyncio.sleep(0)
    return [*log, handle.cancelled()]


# Groups


@program()
async def a_group_waits_for_all(log: Log) -> list[str]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(nap(log, name, n)) for n, name in enumerate("abc", 1)]
    return [task.result() for task in tasks]


@program()
async def a_group_fails_with_all_errors(log: Log) -> list[str]:
    async def fail(error: Exception, after: float) -> None:
        await asyncio.sleep(after)
        raise error

    async def refuse() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            raise KeyError("in the end")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(ValueError("early"), 1))
            group.create_task(refuse())
            group.create_task(nap(log, "never", 50))
    except* ValueError as errors:
        log.append(("value", len(errors.exceptions)))
    except* KeyError as errors:
        log.append(("key", len(errors.exceptions)))
    return [*sorted(map(str, log)), str(now())]


@program()
async def groups_nest(log: Log) -> Any:
    async def branch(name: str, depth: int) -> None:
        await asyncio.sleep(depth + len(name) * (1 + name.count("1")) / 100)  # never two at once
        if depth:
            async with asyncio.TaskGroup() as group:
                for n in range(2):
                    group.create_task(branch(f"{name}{n}", depth - 1))
        log.append((now(), name))

    await branch("r", 3)
    return sorted(log)


@program()
async def cancelling_a_group_cancels_its_children(log: Log) -> Any:
    async def child(name: str) -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            log.append((name, now()))
            raise

    async def parent() -> None:
        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(child(name))

    task = asyncio.create_task(parent())
    await asyncio.sleep(2)
    task.cancel("enough")
    with suppress(asyncio.CancelledError):
        await task
    return sorted(log), task.cancelled()


@program()
async def a_child_joins_its_own_group(log: Log) -> Any:
    async with asyncio.TaskGroup() as group:

        async def grow(n: int) -> None:
            log.append((n, now()))
            if n:
                await asyncio.sleep(1)
                group.create_task(grow(n - 1))

        group.create_task(grow(3))
    return log


# Cancellation


@program()
async def a_cancelled_task_cleans_up(log: Log) -> Any:
    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(2)
            log.append(("clean", now()))

    task = asyncio.create_task(work())
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait([task])
    return log, task.cancelled()


@program()
async def a_task_may_refuse_to_be_cancelled(log: Log) -> Any:
    async def stubborn() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(100)
        log.append(now())
        return "still here"

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(1)
    return task.cancel(), await task, task.cancelling(), task.uncancel()


@program()
async def a_task_cancelled_before_it_began_never_begins(log: Log) -> Any:
    task = asyncio.create_task(nap(log, "never", 0))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return log, task.cancelled()


@program()
async def a_task_can_cancel_itself(log: Log) -> Any:
    async def work() -> None:
        current = asyncio.current_task()
        assert current is not None
        current.cancel("myself")
        log.append("before")
        await asyncio.sleep(0)
        log.append("never")

    outcome = await asyncio.gather(asyncio.create_task(work()), return_exceptions=True)
    return log, repr(outcome[0])


@program()
async def a_shield_keeps_the_inner_task(log: Log) -> Any:
    inner = asyncio.create_task(nap(log, "inner", 3))
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            await asyncio.shield(inner)
    log.append(("given up", now()))
    return await inner, log


@program()
async def gather_collects_errors(log: Log) -> Any:
    async def fail(after: float) -> None:
        await asyncio.sleep(after)
        raise LookupError(after)

    outcomes = await asyncio.gather(fail(2), nap(log, "ok", 1), fail(1), return_exceptions=True)
    return [repr(outcome) for outcome in outcomes]


@program()
async def gather_raises_the_first_error_and_leaves_the_others(log: Log) -> Any:
    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError("first")

    other = asyncio.create_task(nap(log, "other", 2))
    with suppress(LookupError):
        await asyncio.gather(fail(), other)
    log.append(("raised", now()))
    return await other, log


@program(same_steps=False)  # a step more before 3.12
async def gather_takes_what_is_done(log: Log) -> Any:
    tasks = [asyncio.create_task(nap(log, name, 0)) for name in "ab"]
    await asyncio.sleep(1)
    return await asyncio.gather(*tasks), now()
