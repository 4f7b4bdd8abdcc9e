"""The asynchronous generators that a loop has to close, in the order in which they were begun."""

from __future__ import annotations

import asyncio
import sys
import warnings
import weakref
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any


class Generators:
    """The generators begun under a loop. Stock asyncio keeps them in a set, so closes them by address."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._begun = 0
        self._closed = False
        self._open: weakref.WeakValueDictionary[int, AsyncGenerator[Any, Any]] = (
            weakref.WeakValueDictionary()
        )

    @contextmanager
    def hooked(self) -> Generator[None]:
        """Hear of each generator that begins or is dropped inside."""
        before = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._begin, finalizer=self._drop)
        try:
            yield
        finally:
            sys.set_asyncgen_hooks(*before)

    def __bool__(self) -> bool:
        return bool(self._open)

    async def close(self) -> None:
        """Close all that are open, at once; report what that raises."""
        self._closed = True
        generators = list(self._open.values())
        self._open.clear()
        closings = [generator.aclose() for generator in generators]
        results = await asyncio.gather(*closings, return_exceptions=True)
        for result, generator in zip(results, generators, strict=True):
            if isinstance(result, Exception):
                self._loop.call_exception_handler(
                    {
                        "message": f"an error occurred during closing of asynchronous generator {generator!r}",
                        "exception": result,
                        "asyncgen": generator,
                    }
                )

    def _begin(self, generator: AsyncGenerator[Any, Any]) -> None:
        if self._closed:
            warnings.warn(
                f"asynchronous generator {generator!r} was scheduled after loop.shutdown_asyncgens() call",
                ResourceWarning,
                stacklevel=2,
            )
        self._begun += 1
        self._open[self._begun] = generator

    def _drop(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.create_task, generator.aclose())
