"""Errors that have nobody to go to: handled as asyncio does, and kept for the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from dispatch.testing.loop.refusing import Refusing

Context = dict[str, Any]
Handler = Callable[[asyncio.AbstractEventLoop, Context], object]

_log = logging.getLogger("asyncio")


class Reporting(Refusing):
    """The part of an event loop that deals with such errors; ``leaks`` has those that no handler took."""

    def __init__(self) -> None:
        self._handler: Handler | None = None
        self.leaks: list[Context] = []

    def set_exception_handler(self, handler: Handler | None) -> None:
        """Let ``handler`` deal with them; ``None``: the default does."""
        if handler is not None and not callable(handler):
            raise TypeError(f"A callable object or None is expected, got {handler!r}")
        self._handler = handler

    def get_exception_handler(self) -> Handler | None:
        """Return the handler that was set."""
        return self._handler

    def default_exception_handler(self, context: Context) -> None:
        """Log it, and keep it in ``leaks``."""
        self.leaks.append(context)
        error = context.get("exception")
        _log.error(
            "%s", context.get("message") or "Unhandled exception in event loop", exc_info=error
        )

    def call_exception_handler(self, context: Context) -> None:
        """Hand it to the handler that was set; what that raises, and all else, to the default."""
        if self._handler is None:
            self.default_exception_handler(context)
            return
        try:
            self._handler(self, context)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001  whatever it is, it ends no loop
            message = "Unhandled error in exception handler"
            self.default_exception_handler(
                {"message": message, "exception": error, "context": context}
            )
