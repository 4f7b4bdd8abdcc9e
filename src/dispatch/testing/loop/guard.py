"""Sees what a simulated program does beside its loop: a real sleep, a socket, a process, a thread.

Files may be read and written: records in SQLite are called inline, and come out the same each time. Reading the real time
or the system's randomness raises no event in Python, so that cannot be seen here.
"""

from __future__ import annotations

import asyncio
import functools
import sys

from dispatch.testing.loop.refusing import Refusing

_REAL = {
    "time.sleep": "time.sleep",
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
    "_thread.start_new_thread": "threading.Thread.start",
    "_thread.start_joinable_thread": "threading.Thread.start",
}


@functools.cache
def keep_watch() -> None:
    """Begin to watch; once a process, for no audit hook is ever removed. It minds only threads that run a simulated loop."""
    sys.addaudithook(_see)


def _see(event: str, _: object) -> None:
    if event in _REAL:
        loop = asyncio._get_running_loop()  # noqa: SLF001  get_running_loop raises where none runs
        if isinstance(loop, Refusing):
            loop.refuse(_REAL[event])
