"""Sees what a simulated program does beside its loop: a real sleep, a socket, a process, a thread.

Files may be read and written: records in SQLite are called inline, and come out the same each time. Reading the real time
or the system's randomness raises no event in Python, so that cannot be seen here.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from dispatch.testing.loop.refusing import Refusing

_REAL = {
    "socket.bind": "socket.bind",
    "socket.connect": "socket.connect",
    "socket.getaddrinfo": "socket.getaddrinfo",
    "socket.gethostbyname": "socket.gethostbyname",
    "socket.sendto": "socket.sendto",
    "subprocess.Popen": "subprocess.Popen",
    "os.system": "os.system",
    "os.fork": "os.fork",
    "os.forkpty": "os.forkpty",
    "os.posix_spawn": "os.posix_spawn",
}


@contextmanager
def watch() -> Generator[None]:
    """Refuse what is real in any thread that runs a simulated loop.

    A sleep and the start of a thread raise no event before Python 3.13, so these two are replaced while a loop runs.
    """
    _listen()
    sleep, start = time.sleep, threading.Thread.start
    time.sleep = _refusing("time.sleep", sleep)
    setattr(threading.Thread, "start", _refusing("threading.Thread.start", start))  # noqa: B010
    try:
        yield
    finally:
        time.sleep = sleep
        setattr(threading.Thread, "start", start)  # noqa: B010  both type checkers mind a method


@functools.cache
def _listen() -> None:
    """Hear of the rest; once a process, for no audit hook is ever removed."""
    sys.addaudithook(_hear)


def _hear(event: str, _: object) -> None:
    if event in _REAL:
        _refuse(_REAL[event])


def _refusing(call: str, real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def refuse(*args: Any, **options: Any) -> Any:
        _refuse(call)
        return real(*args, **options)

    return refuse


def _refuse(call: str) -> None:
    loop = asyncio._get_running_loop()  # noqa: SLF001  get_running_loop raises where none runs
    if isinstance(loop, Refusing):
        loop.refuse(call)
