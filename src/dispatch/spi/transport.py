"""How commands reach the host where the scheduler's own commands run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dispatch.model.base import Value
from dispatch.model.quantity import Duration


class Completed(Value):
    """A script that ran to its end."""

    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        """Standard output as text; bytes that are no UTF-8 are replaced."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def err(self) -> str:
        """Standard error as text; bytes that are no UTF-8 are replaced."""
        return self.stderr.decode("utf-8", "replace")


class Transport(Protocol):
    """Runs one small POSIX shell script a call."""

    async def run(
        self, script: str, args: Sequence[str] = (), *, stdin: bytes = b"", timeout: Duration
    ) -> Completed:
        """Run ``sh -c script sh args…`` with a clean environment and return what came of it.

        The arguments reach the script as ``$1``, ``$2``… whatever is in them. Output beyond a bound is an error.
        Raises ``Unavailable`` where the script surely did not start, and ``OutcomeUnknown`` where it may have run.
        """
        ...

    async def close(self) -> None:
        """Let go of everything; a second close does nothing."""
        ...
