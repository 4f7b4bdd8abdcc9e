"""Watching a memory world: bounded streams which end rather than drop, fed from inside the calls that change an object."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dispatch.model.status import Observation


class Stream:
    """One subscription (``dispatch.spi.adapter.Watch``): the snapshot first, then changes, at most ``room`` unread."""

    def __init__(self, snapshot: Iterable[Observation], room: int) -> None:
        self._snapshot = deque(snapshot)
        self._changes: deque[Observation] = deque()
        self._room = room
        self._told = {seen.ref: _bare(seen) for seen in self._snapshot}
        self._waiter: asyncio.Future[None] | None = None
        self.closed = False

    def send(self, seen: Observation) -> None:
        """Tell of a change; where there is no room left the stream ends, and what is in it can still be read."""
        bare = _bare(seen)
        if self.closed or self._told.get(seen.ref) == bare:
            return
        if len(self._changes) >= self._room:
            self.end()
            return
        self._told[seen.ref] = bare
        self._changes.append(seen)
        self._wake()

    def end(self) -> None:
        """Take no more."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Observation:
        """Wait for the next observation; a wait that is cancelled ends the stream."""
        while True:
            if self._snapshot:
                return self._snapshot.popleft()
            if self._changes:
                return self._changes.popleft()
            if self.closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            except asyncio.CancelledError:
                self.end()
                raise

    async def close(self) -> None:
        """End the stream, and drop what is unread."""
        self.end()
        self._snapshot.clear()
        self._changes.clear()

    def __repr__(self) -> str:
        unread = len(self._snapshot) + len(self._changes)
        return f"Stream({'closed' if self.closed else 'open'}, {unread} unread)"


def _bare(seen: Observation) -> Observation:
    """What is compared: all but the evidence, whose times move with every read."""
    return replace(seen, verdict=replace(seen.verdict, evidence=()))
