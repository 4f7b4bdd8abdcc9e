"""Names that must be unique, and who we are."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from datetime import datetime

from dispatch.model.epoch import ulid
from dispatch.model.journal import Actor


def new_ulid(now: datetime) -> str:
    """Make a ULID of the moment and of the system's randomness."""
    return ulid(int(now.timestamp() * 1000), os.urandom(10))


def token() -> str:
    """Make an unguessable token of 16 hexadecimal digits."""
    return secrets.token_hex(8)


def this_actor(role: str) -> Actor:
    """Who writes from this process, in that role."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in a container
        user = str(os.getuid())
    return Actor(user=user, host=socket.gethostname(), role=role)
