"""The programs, each with what is known of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Log = list[Any]
Body = Callable[[Log], Awaitable[Any]]


@dataclass(frozen=True)
class Program:
    """A program; ``settled``: its result depends on no order, so it is the same with every seed."""

    name: str
    body: Body
    settled: bool
    since: tuple[int, int] = (3, 11)
    same_steps: bool = True  # asyncio does the same for it in all versions of Python


PROGRAMS: list[Program] = []


def program(
    *, settled: bool = True, since: tuple[int, int] = (3, 11), same_steps: bool = True
) -> Callable[[Body], Body]:
    def add(body: Body) -> Body:
        name = getattr(body, "__name__", "")
        PROGRAMS.append(Program(name, body, settled, since, same_steps))
        return body

    return add


def now() -> float:
    return round(asyncio.get_running_loop().time(), 6)


async def nap(log: Log, name: str, *times: float) -> str:
    for each in times:
        await asyncio.sleep(each)
        log.append((name, now()))
    return name
