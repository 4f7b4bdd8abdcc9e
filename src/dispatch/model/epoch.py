"""The names of jobs, submissions and executions."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from msgspec import Meta

SCALE = 1_000_000
"""N and R are each below this, so that one integer orders all executions of a job."""

Count = Annotated[int, Meta(ge=0, lt=SCALE)]
"""A submission ordinal N or a restart count R."""

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = re.compile(f"[0-7][{_CROCKFORD}]{{25}}")

JobId = Annotated[str, Meta(pattern=r"^[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")]
"""A ULID in upper case: 26 characters that sort by time of submission."""


class Epoch(NamedTuple):
    """One execution of a job: submission N (from 1) and restart R (from 0)."""

    submission: int
    restarts: int

    @property
    def number(self) -> int:
        """The one integer N x 1 000 000 + R that training code compares to fence late writers."""
        return self.submission * SCALE + self.restarts

    @classmethod
    def of(cls, number: int) -> Epoch:
        """The epoch of its number."""
        return cls(*divmod(number, SCALE))

    def __str__(self) -> str:
        return f"{self.submission}.{self.restarts}"


def ulid(milliseconds: int, randomness: bytes) -> str:
    """Compose a ULID of a Unix time in milliseconds and ten random bytes."""
    number = (milliseconds << 80) | int.from_bytes(randomness, "big")
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def is_ulid(text: str) -> bool:
    """Whether the text is a whole ULID in upper case."""
    return _ULID.fullmatch(text) is not None


def object_name(job: str) -> str:
    """The constant name of every Slurm object of a job, by which it can be found again."""
    return f"dj-{job}"
