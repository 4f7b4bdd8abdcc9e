"""What happened, in text that is the same in every process, with every hash seed and on every supported Python."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dispatch.testing.loop.peeking import callback_of, error_of, task_of
from dispatch.testing.loop.standing import is_machinery, place, short


@dataclass(frozen=True)
class Line:
    """One step: its number from 1, the loop's time in seconds, the name of the task, and what it did.

    No addresses, paths or line numbers are in it, and none of asyncio's own callbacks: they differ between versions.
    ``task`` is empty for a callback of the program.
    """

    step: int
    time: float
    task: str
    what: str

    def __str__(self) -> str:
        return f"{self.step:>6} {self.time:>14.6f}  {self.task or '·':<16} {self.what}"


Recorder = Callable[[Line], object]
"""What is told of each step."""


class Trace:
    """A recorder that keeps the lines: all, or the last ``most``."""

    def __init__(self, most: int | None = None) -> None:
        self._lines: deque[Line] = deque(maxlen=most)

    def __call__(self, line: Line) -> None:
        self._lines.append(line)

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __str__(self) -> str:
        return "\n".join(map(str, self._lines))

    def __repr__(self) -> str:
        return f"Trace({len(self._lines)} lines)"


class Tracing:
    """Runs the steps of a loop and tells a recorder of each."""

    def __init__(self, recorder: Recorder, time: Callable[[], float]) -> None:
        self._recorder = recorder
        self._time = time
        self._steps = 0

    def run(self, handle: asyncio.Handle) -> None:
        """Run one handle and record it, unless it is asyncio's own."""
        task = task_of(handle)
        if task is None:
            called = name_of(callback_of(handle))
            if called:
                self._record("", f"calls {called}")
            handle._run()  # noqa: SLF001  a loop is what runs handles
            return
        begun = _beginning(task)
        handle._run()  # noqa: SLF001
        self._record(task.get_name(), f"{begun}{_standing(task)}")

    def _record(self, task: str, what: str) -> None:
        self._steps += 1
        self._recorder(Line(self._steps, self._time(), task, what))


def name_of(callback: Any) -> str:
    """Name a callback of the program; empty for asyncio's own."""
    while isinstance(callback, functools.partial):
        callback = callback.func
    callback = getattr(callback, "__func__", callback)
    name = short(getattr(callback, "__qualname__", type(callback).__qualname__))
    owner = getattr(callback, "__self__", None)
    module = getattr(callback, "__module__", None) or type(owner).__module__
    private = name.rpartition(".")[2].startswith("_")
    return "" if private and is_machinery(module) else name


def _beginning(task: asyncio.Task[Any]) -> str:
    """Name the coroutine of a task that has not begun; empty for one that goes on."""
    coro = task.get_coro()
    if getattr(coro, "cr_suspended", True):
        return ""
    return f"begins {short(getattr(coro, '__qualname__', type(coro).__qualname__))}; "


def _standing(task: asyncio.Task[Any]) -> str:
    if not task.done():
        return f"waits in {place(task)}"
    if task.cancelled():
        return "is cancelled"
    error = error_of(task)
    return "ends" if error is None else f"fails with {type(error).__name__}"
