"""Tasks and futures that are ordered by their birth, and no longer by their address.

asyncio keeps tasks in sets: a ``TaskGroup`` cancels its children in the order of a set, ``asyncio.wait`` returns two. The
hash of a stock task is its address, so that order changes from one process to the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dispatch.testing.loop.event_loop import SimulatedLoop

T = TypeVar("T")


class SimulatedTask(asyncio.Task[T]):
    """A task of a simulated loop.

    ``serial`` counts the tasks of the loop, from 1; ``identity`` says where it was born (see ``mixing``), and differs with
    the seed. Without a seed the hash is the serial; with one it is the identity, for no order of a set is promised.
    """

    __slots__ = ("_hash", "births", "draws", "identity", "serial")

    def __init__(
        self,
        coro: Coroutine[Any, Any, T],
        *,
        loop: SimulatedLoop,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self.births = 0
        self.draws = 0
        self.serial, self.identity, self._hash = loop.birth()  # before asyncio puts it into a set
        super().__init__(coro, loop=loop, name=name or f"Task-{self.serial}", **options)

    def __hash__(self) -> int:
        return self._hash


class SimulatedFuture(asyncio.Future[T]):
    """A future of a simulated loop, hashed by its birth too."""

    __slots__ = ("_hash",)

    def __init__(self, *, loop: SimulatedLoop, serial: int) -> None:
        self._hash = serial
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._hash
