"""Where a task stands: the frames of the coroutines that it is suspended in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import FrameType
from typing import Any

# How a coroutine, a generator and an asynchronous generator name their frame, and what they wait for.
_FRAMES = ("cr_frame", "gi_frame", "ag_frame")
_INNER = ("cr_await", "gi_yieldfrom", "ag_await")

_MACHINERY = ("asyncio", "_asyncio", __name__.rpartition(".")[0])

# These run in a frame of their own before Python 3.12, and in their function's since.
_COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>"}


def frames(task: asyncio.Task[Any]) -> Iterator[FrameType]:
    """Yield the frames of a suspended task, from the outermost; ``Task.get_stack`` tells only that one."""
    inner: object = task.get_coro()
    while inner is not None:
        frame = _first(inner, _FRAMES)
        if isinstance(frame, FrameType):
            yield frame
        inner = _first(inner, _INNER)


def is_machinery(module: object) -> bool:
    """Tell the modules of asyncio and of this loop from the program's, by their names."""
    return isinstance(module, str) and module.startswith(_MACHINERY)


def is_of_machinery(frame: FrameType) -> bool:
    """Tell whether the function of this frame is asyncio's or this loop's."""
    return is_machinery(frame.f_globals.get("__name__"))


def short(qualified: str) -> str:
    """Cut a qualified name to what is below the innermost function that it was defined in."""
    return qualified.rpartition("<locals>.")[2]


def place(task: asyncio.Task[Any]) -> str:
    """Say where a task waits: the innermost function of the program, and what of asyncio that has called."""
    function, called = "", ""
    for frame in frames(task):
        name = short(frame.f_code.co_qualname)
        if frame.f_code.co_name in _COMPREHENSIONS:
            continue
        if not is_of_machinery(frame):
            function, called = name, ""
        elif not called:
            called = name
    if called.rpartition(".")[2].startswith("_") and not called.endswith("__"):
        called = ""  # asyncio's own helpers have other names in each version
    return ": ".join(filter(None, (function, called)))


def _first(thing: object, names: tuple[str, ...]) -> object:
    return next(
        (found for name in names if (found := getattr(thing, name, None)) is not None), None
    )
