"""Who waits for what: the report on a program that cannot go on."""

from __future__ import annotations

import asyncio
import linecache
import re
from collections.abc import Iterable
from pathlib import PurePath
from types import FrameType
from typing import Any, cast

from dispatch.testing.loop.errors import Waiting
from dispatch.testing.loop.peeking import awaited_by, children_of
from dispatch.testing.loop.standing import frames, is_machinery, is_of_machinery, short

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_MODULE = re.compile(r"\b(?:_?asyncio\.)?(?:\w+\.)*(?=[A-Z]\w*)")
_MOST_NAMES = 20


def who_waits(tasks: Iterable[asyncio.Task[Any]]) -> tuple[Waiting, ...]:
    """Tell of each task that is not done where it stands and what it waits for, as far as that can be known."""
    return tuple(
        Waiting(task=task.get_name(), where=_where(task), what=_what(task))
        for task in tasks
        if not task.done()
    )


def _where(task: asyncio.Task[Any]) -> str:
    stack = list(frames(task))
    ours = [frame for frame in stack if not is_of_machinery(frame)] or stack
    if not ours:
        return "in no coroutine of Python"
    frame = ours[-1]
    file, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(file, line).strip()
    at = f"at {PurePath(file).name}:{line} in {short(frame.f_code.co_qualname)}"
    return f"{at} (`{source}`)" if source else at


def _what(task: asyncio.Task[Any]) -> str:
    waiter = awaited_by(task)
    if waiter is None:
        return "its next step"
    if isinstance(waiter, asyncio.Task):
        return f"the task {waiter.get_name()!r}"
    children = children_of(waiter)
    if children is not None:
        return f"a gather of {_names(children)}"
    for frame in reversed(list(frames(task))):
        known = _known(frame) if is_of_machinery(frame) else None
        if known:
            return known
    return "a future that nobody has resolved"


def _known(frame: FrameType) -> str | None:
    """Say what a function of asyncio waits for, if it tells."""
    local = frame.f_locals
    if frame.f_code.co_name == "_wait" and isinstance(local.get("fs"), set):
        return f"asyncio.wait of {_names(local['fs'])}"
    owner = local.get("self")
    if isinstance(owner, asyncio.TaskGroup):
        return f"its task group, with {_names(getattr(owner, '_tasks', ()))}"
    if owner is not None and is_machinery(type(owner).__module__):
        return _MODULE.sub("", _ADDRESS.sub("", repr(owner))).replace(" object", "").strip("<>")
    return None


def _names(futures: Iterable[object]) -> str:
    pending = [one for one in cast("Iterable[asyncio.Future[Any]]", futures) if not one.done()]
    names = sorted(
        repr(one.get_name()) if isinstance(one, asyncio.Task) else "a future" for one in pending
    )
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join(names[:_MOST_NAMES] + more)
