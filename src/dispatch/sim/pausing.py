"""A process that is stopped and goes on later: SIGSTOP, a machine that is suspended, a host that swaps.

All that it had set goes on where it stood, late: its timers, what it has been told meanwhile, the rest of its step. So it may
call long after its intent, with what it knew then. What the cluster does, and a command that is on its way, does not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, cast

from dispatch.testing.loop import SimulatedLoop

if TYPE_CHECKING:
    from dispatch.sim.chance import Stream
    from dispatch.sim.process import Process
    from dispatch.sim.site import Site

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LONGEST = 120.0
"""Seconds for which a process stands still, on average."""
RUNNING: ContextVar[Process | None] = ContextVar("dispatch_simulated_process", default=None)
"""The process whose step this is; none where the cluster or a person acts."""


class PausableLoop(SimulatedLoop):
    """A loop on which the steps of one process can be put off."""

    def pause(self, process: Process, seconds: float) -> None:
        """Let a process stand still."""
        process.paused_until = max(process.paused_until, self.time() + seconds)
        self._run = self._run_or_put_off

    def _run_or_put_off(self, handle: asyncio.Handle) -> None:
        process = cast("Context", handle._context).get(RUNNING)  # type: ignore[attr-defined]  # noqa: SLF001 - whose step it is
        if process is not None and process.paused_until > self.time():
            self._timers.add(process.paused_until, cast("asyncio.TimerHandle", handle))
        else:
            asyncio.Handle._run(handle)  # noqa: SLF001 - what a loop does


class Outside:
    """The loop as everything reaches it that is no process of dispatch: what is set here is nobody's, and never put off."""

    def __init__(self, loop: PausableLoop) -> None:
        self._loop = loop
        self._context = copy_context()
        self.time = loop.time
        self.create_future = loop.create_future
        self.pause = loop.pause

    def begin(self) -> None:
        """Take the context of the caller for that of everything outside."""
        self._context = copy_context()

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts
    ) -> asyncio.TimerHandle:
        """Call it after so many seconds."""
        return self._loop.call_later(delay, callback, *args, context=self._context)

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts) -> asyncio.Handle:
        """Call it after what is ready already."""
        return self._loop.call_soon(callback, *args, context=self._context)

    def create_task(
        self, work: Coroutine[Any, Any, T], *, name: str | None = None
    ) -> asyncio.Task[T]:
        """Make a task with a context of its own."""
        return self._loop.create_task(work, name=name, context=self._context.copy())


def pause_one(site: Site, draw: Stream) -> None:
    """Let one of the processes stand still for a while."""
    if site.processes:
        process = draw.pick(site.processes)
        site.step(process.name, "stands still")
        site.loop.pause(process, draw.waiting(LONGEST))
