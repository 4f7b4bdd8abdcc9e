"""Names that must be unique, and who we are."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

from dispatch.model.epoch import ulid
from dispatch.model.journal import Actor

_BYTES: ContextVar[Callable[[int], bytes]] = ContextVar("dispatch_randomness", default=os.urandom)


@contextmanager
def randomness(source: Callable[[int], bytes]) -> Generator[None]:
    """Draw all names made inside from ``source``, so that a simulation gives the same ones again."""
    token = _BYTES.set(source)
    try:
        yield
    finally:
        _BYTES.reset(token)


def new_ulid(now: datetime) -> str:
    """Make a ULID of the moment and of the system's randomness."""
    return ulid(int(now.timestamp() * 1000), _BYTES.get()(10))


def token() -> str:
    """Make an unguessable token of 16 hexadecimal digits."""
    return _BYTES.get()(8).hex()


def this_actor(role: str) -> Actor:
    """Who writes from this process, in that role."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in a container
        user = str(os.getuid())
    return Actor(user=user, host=socket.gethostname(), role=role)
