"""The few private parts of asyncio that are looked at, in one place. All are the same from Python 3.11 to 3.14."""

from __future__ import annotations

import asyncio
from typing import Any

# The names of a task's own callbacks, in C and in Python; what C makes for a first step has none.
_STEPS = {"", "task_wakeup", "__step", "__wakeup"}


def task_of(handle: asyncio.Handle) -> asyncio.Task[Any] | None:
    """Return the task of which this is a step; ``None`` for a callback, and for a handle that was cancelled.

    A step is a method of its task; asyncio's own debug output finds the task this way too. A program's callbacks may be
    methods of a task as well (``task.cancel``), and those are no steps.
    """
    callback = callback_of(handle)
    owner: asyncio.Task[Any] | None = getattr(callback, "__self__", None)
    is_step = isinstance(owner, asyncio.Task) and getattr(callback, "__name__", "") in _STEPS
    return owner if is_step else None


def callback_of(handle: asyncio.Handle) -> Any:
    return getattr(handle, "_callback", None)


def awaited_by(task: asyncio.Task[Any]) -> asyncio.Future[Any] | None:
    """Return the future that wakes a suspended task."""
    return getattr(task, "_fut_waiter", None)


def children_of(future: asyncio.Future[Any]) -> list[asyncio.Future[Any]] | None:
    """Return what a ``gather`` waits for; ``None`` where the future is none of a gather."""
    return getattr(future, "_children", None)


def error_of(task: asyncio.Task[Any]) -> BaseException | None:
    """Return the error with which a task ended, without counting as somebody who looked at it."""
    return getattr(task, "_exception", None)


def is_unheard(task: asyncio.Task[Any]) -> bool:
    """Tell whether a task ended with an error at which nobody has looked."""
    return bool(getattr(task, "_log_traceback", False))


def mark_heard(task: asyncio.Task[Any]) -> None:
    """Keep a task from reporting its error once more when it is destroyed."""
    task._log_traceback = False  # noqa: SLF001


def let_go(task: asyncio.Task[Any]) -> None:
    """Keep a task that will never be done from reporting that when it is destroyed."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
