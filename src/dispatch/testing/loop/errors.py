"""What goes wrong with a simulation itself.

None of these is a ``DispatchError``: they say something of a program under test and nothing of a cluster, so no handler of
that program shall take one for an answer. The loop stops all the same where a handler swallowed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class SimulationError(Exception):
    """A simulation cannot go on; ``what`` happened, and ``todo``, what to do about it."""

    def __init__(self, what: str, *, todo: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo

    def __str__(self) -> str:
        return f"{self.what} {self.todo}".strip()


class RealWorld(SimulationError):
    """The program reached for something real: input and output, a thread, a process, a signal, real time.

    Give it a fake, or run that test on a real loop.
    """


@dataclass(frozen=True)
class Waiting:
    """One task that waits: its name, the line of the program where it stands, and what it waits for."""

    task: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.task!r} {self.where} waits for {self.what}"


class _Stuck(SimulationError):
    def __init__(self, what: str, *, todo: str, waiting: tuple[Waiting, ...]) -> None:
        super().__init__(what, todo=todo)
        self.waiting = waiting

    def __str__(self) -> str:
        return "\n  ".join([super().__str__(), *map(str, self.waiting)])


class Deadlock(_Stuck):
    """Nothing is ready, no timer is set, and the program is not done; ``waiting`` has each task and what it waits for."""


class Runaway(_Stuck):
    """The program goes on without end: too many steps at one moment, or beyond the horizon of virtual time.

    ``busiest`` has the names of the tasks that took most of the last steps, with how many; ``waiting``, who waits.
    """

    def __init__(
        self,
        what: str,
        *,
        todo: str,
        waiting: tuple[Waiting, ...],
        busiest: tuple[tuple[str, int], ...] = (),
    ) -> None:
        super().__init__(what, todo=todo, waiting=waiting)
        self.busiest = busiest


class LeakedErrors(SimulationError):
    """Errors that nobody has looked at: of tasks, callbacks or asynchronous generators.

    ``contexts`` has each as asyncio's exception handler got it. The first error is the cause of this one.
    """

    def __init__(self, contexts: tuple[Mapping[str, Any], ...]) -> None:
        super().__init__(
            f"The program is done, but nobody has looked at {len(contexts)} error(s):",
            todo="Await the tasks, or set an exception handler.",
        )
        self.contexts = contexts

    def __str__(self) -> str:
        return "\n  ".join([super().__str__(), *map(summary, self.contexts)])


def summary(context: Mapping[str, Any]) -> str:
    """Say one leaked error in a line."""
    name = getattr(context.get("task") or context.get("future"), "get_name", str)()
    return ": ".join(
        [*([repr(name)] if name else []), str(context["message"]), repr(context.get("exception"))]
    )
