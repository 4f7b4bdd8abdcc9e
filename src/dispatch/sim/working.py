"""Processes that work on seeds, on all cores, and end soon when they are not needed any more."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Protocol


class _Flag(Protocol):
    def is_set(self) -> bool: ...


class _Never:
    def is_set(self) -> bool:
        return False


_over: _Flag = _Never()


def is_over() -> bool:
    """In a worker: whether nobody waits for its answer any more."""
    return _over.is_set()


def _begin(over: _Flag) -> None:
    global _over  # noqa: PLW0603 - what a pool gives to its workers can be kept nowhere else
    _over = over


@contextmanager
def working(workers: int | None = None) -> Generator[ProcessPoolExecutor]:
    """Let so many processes work, or one a core; what they are about at the end is dropped after the seed at hand."""
    # Not forked: that would copy a loop, or a lock, of the caller.
    context = multiprocessing.get_context("spawn")
    over = context.Event()
    with ProcessPoolExecutor(workers or os.cpu_count() or 1, context, _begin, (over,)) as pool:
        try:
            yield pool
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)


@contextmanager
def without_interrupts() -> Generator[None]:
    """Let Ctrl-C wait until the end of the block, and processes that are started inside never hear of it.

    A terminal sends it to all processes; it is for the one that started the others to answer.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
