"""Faults at chosen points: wrap any store and any backend of a process, count what it does, and let it die anywhere.

Each write to the records and each call of a backend is a few *points*, named after what is done there: before it, while
it is under way, and after it. A run without faults lists them; a run with a fault at one of them is one crash that a
process can have. The names are the same in every run of the same story, and their order is that of the process.

A crash in Python is not a crash: an exception runs every ``finally`` on its way up. So the process dies first: from its
last point on each method of what it was given raises ``Crash`` again and has no effect, whatever the code still tries.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from dispatch.model.errors import OutcomeUnknown

T = TypeVar("T")


class Crash(BaseException):
    """The process is dead. No ``Exception``, so that nothing which handles errors takes it for one."""


@dataclass(frozen=True)
class Die:
    """The process dies at the point.

    While a call is under way that means: the call has its effect, and nobody hears of it. ``first`` is run just before,
    for instance to let that call land late.
    """

    first: Callable[[], None] | None = None


@dataclass(frozen=True)
class LoseReply:
    """The call has its effect, and its caller hears nothing: ``OutcomeUnknown``. Only while a call is under way."""

    first: Callable[[], None] | None = None


@dataclass(frozen=True)
class Pause:
    """The process stands still at the point while ``meanwhile`` runs, and then goes on as if no time had passed."""

    meanwhile: Callable[[], None]


Fault = Die | LoseReply | Pause


@dataclass
class Points:
    """The points that one process passes, in order, and the faults that it meets there.

    ``faults`` are by the number of the point, from 0; ``named``, by its name, for the first time that it is passed.
    """

    faults: Mapping[int, Fault] = field(default_factory=dict[int, Fault])
    named: Mapping[str, Fault] = field(default_factory=dict[str, Fault])
    passed: list[str] = field(default_factory=list[str])
    dead: bool = False

    def reach(self, name: str) -> None:
        """Pass a point before or after something; the fault that is due there happens. Raises ``Crash``."""
        match self._next(name):
            case Die(first=first):
                if first is not None:
                    first()
                self.die()
            case Pause(meanwhile=meanwhile):
                meanwhile()
            case LoseReply():
                raise ValueError(f"no reply is lost at {name!r}: no call is under way")
            case None:
                pass

    async def during(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """Pass the point at which a call is under way. Raises ``Crash``, ``OutcomeUnknown``, and what the call raises."""
        match self._next(name):
            case Die(first=first):
                if first is not None:
                    first()
                await self._unheard(call)
                self.die()
            case LoseReply(first=first):
                if first is not None:
                    first()
                await self._unheard(call)
                raise OutcomeUnknown(f"The reply to {name} was lost.", todo="Read it back.")
            case Pause(meanwhile=meanwhile):
                reply = await call()
                meanwhile()
                return reply
            case None:
                pass
        return await call()

    def die(self) -> None:
        """Let the process die now. Raises ``Crash``."""
        self.dead = True
        raise Crash

    def alive(self) -> None:
        """Raise ``Crash`` where the process is dead already."""
        if self.dead:
            raise Crash

    @contextmanager
    def life(self) -> Generator[None]:
        """Run the process inside; whatever comes out of it after its death is nobody's concern."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a group of crashes, or what a handler of ours made of one
            if not self.dead:
                raise

    def _next(self, name: str) -> Fault | None:
        self.alive()
        first = self.named.get(name) if name not in self.passed else None
        self.passed.append(name)
        return self.faults.get(len(self.passed) - 1, first)

    async def _unheard(self, call: Callable[[], Awaitable[object]]) -> None:
        """Make a call whose reply, or refusal, nobody will hear."""
        with suppress(Exception):
            await call()

    def __repr__(self) -> str:
        return f"Points({len(self.passed)} passed, {'dead' if self.dead else 'alive'})"
