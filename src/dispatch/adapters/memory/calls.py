"""When a call began, by the clock of the host where its command runs."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from dispatch.model.errors import Expired

if TYPE_CHECKING:
    from collections.abc import Generator
    from datetime import datetime

    from dispatch.spi.adapter import CallMeta

_CRASHING: ContextVar[bool] = ContextVar("dispatch_memory_crash_between_steps", default=False)
_STARTED: ContextVar[datetime | None] = ContextVar("dispatch_memory_call_start", default=None)


@contextmanager
def call_start(moment: datetime) -> Generator[None, None, None]:
    """Let the calls made inside begin at ``moment``, as on a login node that is late or whose clock is off.

    Deadlines are compared with it, and a reading says that it was sent then. Effects happen at the world's own time.
    """
    token = _STARTED.set(moment)
    try:
        yield
    finally:
        _STARTED.reset(token)


def started(now: datetime) -> datetime:
    """When the call that is being made began: ``now``, unless ``call_start`` says otherwise."""
    return _STARTED.get() or now


class Crashed(BaseException):
    """The process died between two steps of a write. No ``Exception``, so that nothing which handles errors takes it for one."""


@contextmanager
def crash_between_steps() -> Generator[None, None, None]:
    """Let the process die after the first step of each write made inside: it raises ``Crashed``.

    A requeue has then set the requeue bit, and nothing else.
    """
    token = _CRASHING.set(True)
    try:
        yield
    finally:
        _CRASHING.reset(token)


def crashes_between_steps() -> bool:
    """Whether the process dies between the steps of its writes."""
    return _CRASHING.get()


def refuse_late(start: datetime, meta: CallMeta, verb: str, ref: str) -> None:
    """Raise ``Expired`` where the call began after its deadline (02, 8)."""
    if start > meta.deadline:
        raise Expired(
            f"The {verb} of {ref} began at {start.isoformat()}, after its deadline"
            f" {meta.deadline.isoformat()}, and did nothing.",
            todo="Read the object again and decide again.",
        )
