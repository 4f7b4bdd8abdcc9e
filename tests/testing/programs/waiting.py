"""Programs that give up after a while, and that share queues and locks."""

from __future__ import annotations

import asyncio
from typing import Any

from testing.programs.registry import Log, nap, now, program

# Timeouts


@program()
async def a_timeout_ends_a_wait(log: Log) -> Any:
    try:
        async with asyncio.timeout(2):
            await nap(log, "in", 1, 1.5)
    except TimeoutError:
        log.append(("late", now()))
    return log


@program()
async def timeouts_nest(log: Log) -> Any:
    try:
        async with asyncio.timeout(3):
            for limit in (1, 1.5, 10):
                try:
                    async with asyncio.timeout(limit):
                        await asyncio.sleep(5)
                except TimeoutError:
                    log.append(("inner", now()))
    except TimeoutError:
        log.append(("outer", now()))
    return log


@program()
async def a_timeout_is_moved(log: Log) -> Any:
    async with asyncio.timeout(1) as limit:
        limit.reschedule(asyncio.get_running_loop().time() + 5)
        await nap(log, "in time", 4)
    return limit.expired(), log


@program(same_steps=False)  # a task more before 3.12
async def wait_for_gives_up(log: Log) -> Any:
    try:
        await asyncio.wait_for(nap(log, "slow", 1, 5), timeout=2)
    except TimeoutError:
        log.append(("late", now()))
    return log, await asyncio.wait_for(nap(log, "quick", 1), timeout=2)


@program()
async def wait_returns_the_first(log: Log) -> Any:
    tasks = [asyncio.create_task(nap(log, name, n)) for n, name in enumerate("abc", 1)]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    late, _ = await asyncio.wait(pending, timeout=1.5)
    for task in pending - late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [[t.result() for t in done], [t.result() for t in late], log]


@program()
async def as_completed_gives_the_earliest_first(log: Log) -> Any:
    return [
        await each for each in asyncio.as_completed([nap(log, str(n), 5 - n) for n in range(4)])
    ]


# Queues


@program()
async def a_queue_is_first_in_first_out(log: Log) -> Any:
    queue: asyncio.Queue[int | None] = asyncio.Queue(2)

    async def produce() -> None:
        for n in range(6):
            await queue.put(n)
            log.append(("put", n))
        await queue.put(None)

    async with asyncio.TaskGroup() as group:
        group.create_task(produce())
        got: list[int] = []
        while (item := await queue.get()) is not None:
            got.append(item)
            await asyncio.sleep(1)
    return got, now()


@program(settled=False)
async def workers_share_a_queue(log: Log) -> Any:
    queue: asyncio.Queue[int] = asyncio.Queue()

    async def work(name: str) -> None:
        while True:
            item = await queue.get()
            await asyncio.sleep(item % 3)
            log.append((name, item, now()))
            queue.task_done()

    workers = [asyncio.create_task(work(name)) for name in "abc"]
    for n in range(9):
        queue.put_nowait(n)
    await queue.join()
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    return log


@program()
async def a_priority_queue_sorts(log: Log) -> Any:
    queue: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
    for n in (3, 1, 2):
        await queue.put(n)
    return [await queue.get() for _ in range(3)]


@program()
async def a_cancelled_getter_loses_nothing(log: Log) -> Any:
    queue: asyncio.Queue[str] = asyncio.Queue()
    getter = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    getter.cancel()
    await queue.put("kept")
    await asyncio.wait([getter])
    return getter.cancelled(), await queue.get()


# Locks and their kin


@program(settled=False)
async def a_lock_is_fair(log: Log) -> Any:
    lock = asyncio.Lock()

    async def enter(name: str) -> None:
        async with lock:
            log.append((name, "in", now()))
            await asyncio.sleep(1)
            log.append((name, "out", now()))

    await asyncio.gather(*map(enter, "abcd"))
    return log


@program()
async def a_lock_excludes(log: Log) -> Any:
    lock, inside, total = asyncio.Lock(), 0, 0

    async def add() -> None:
        nonlocal inside, total
        for _ in range(3):
            async with lock:
                inside += 1
                assert inside == 1
                before = total
                await asyncio.sleep(0)
                total = before + 1
                inside -= 1

    await asyncio.gather(*(add() for _ in range(4)))
    return total


@program()
async def a_semaphore_bounds(log: Log) -> Any:
    semaphore, inside, most = asyncio.Semaphore(2), 0, 0

    async def enter() -> None:
        nonlocal inside, most
        async with semaphore:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(1)
            inside -= 1

    await asyncio.gather(*(enter() for _ in range(7)))
    return most, now()


@program()
async def a_cancelled_waiter_leaves_the_lock(log: Log) -> Any:
    lock = asyncio.Lock()
    await lock.acquire()
    waiter = asyncio.create_task(lock.acquire())
    await asyncio.sleep(1)
    waiter.cancel()
    await asyncio.wait([waiter])
    lock.release()
    async with asyncio.timeout(1), lock:
        return lock.locked(), waiter.cancelled()


@program()
async def an_event_wakes_all(log: Log) -> Any:
    event = asyncio.Event()

    async def wait(name: str) -> str:
        await event.wait()
        return name

    asyncio.get_running_loop().call_later(2, event.set)
    return await asyncio.gather(*map(wait, "abc")), now()


@program()
async def a_condition_wakes_as_many_as_it_is_told(log: Log) -> Any:
    condition, tokens, served = asyncio.Condition(), 0, 0

    async def take() -> None:
        nonlocal tokens, served
        async with condition:
            await condition.wait_for(lambda: tokens > 0)
            tokens -= 1
            served += 1

    takers = [asyncio.create_task(take()) for _ in range(3)]
    seen: list[int] = []
    for n in (1, 2):
        await asyncio.sleep(1)
        async with condition:
            tokens += n
            condition.notify(n)
        await asyncio.sleep(1)
        seen.append(served)
    return seen, [taker.done() for taker in takers]


@program()
async def a_barrier_lets_all_pass_together(log: Log) -> Any:
    barrier = asyncio.Barrier(3)

    async def arrive(after: float) -> float:
        await asyncio.sleep(after)
        await barrier.wait()
        return now()

    return await asyncio.gather(*map(arrive, (1, 5, 3)))
