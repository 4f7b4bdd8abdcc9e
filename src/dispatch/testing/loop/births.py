"""How tasks are born: numbered, with a name that depends on nothing but the program, in an order that does neither."""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Collection, Set as AbstractSet
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from dispatch.testing.loop.errors import SimulationError
from dispatch.testing.loop.mixing import child, mix
from dispatch.testing.loop.peeking import let_go
from dispatch.testing.loop.tasks import SimulatedTask

if TYPE_CHECKING:
    from dispatch.testing.loop.event_loop import SimulatedLoop

_AS_COMPLETED = {"as_completed": "fs", "_AsCompletedIterator.__init__": "aws"}
"""The functions of asyncio (3.11 and 3.12, later) that start coroutines from a set, and their argument."""


_FEW = 256


class Births:
    """The tasks of a loop, from the first."""

    def __init__(self, loop: SimulatedLoop, seed: int | None) -> None:
        self._loop = loop
        self._seeded = seed is not None
        self._root = mix(seed or 0)
        self._orphans = 0
        self._count = 0
        self._alive: list[weakref.ref[SimulatedTask[Any]]] = []
        self._sweep_at = _FEW
        self._siblings: dict[int, asyncio.Task[Any]] = {}
        self._chosen: Any = None
        self._factory: Any = SimulatedTask

    @property
    def factory(self) -> Any:
        """The task factory that was set, as it was set."""
        return self._chosen

    @factory.setter
    def factory(self, factory: Any) -> None:
        if factory is not None and not callable(factory):
            raise TypeError("task factory must be a callable or None")
        self._chosen = factory
        if factory is None:
            self._factory = SimulatedTask
        elif factory is getattr(asyncio, "eager_task_factory", None):
            self._factory = asyncio.create_eager_task_factory(SimulatedTask)  # type: ignore[attr-defined]
        else:
            self._factory = factory

    def alive(self) -> list[SimulatedTask[Any]]:
        """Return the tasks that somebody still holds, done or not, the oldest first."""
        return [task for ref in self._alive if (task := ref()) is not None]

    def number(self) -> tuple[int, int, int]:
        """Number a task that is being born: its serial, its identity and its hash."""
        self._count += 1
        parent = asyncio.current_task(self._loop)
        if isinstance(parent, SimulatedTask):
            parent.births += 1
            identity = child(parent.identity, parent.births)
        else:
            self._orphans += 1
            identity = child(self._root, self._orphans)
        return self._count, identity, identity if self._seeded else self._count

    def bear(self, coro: Any, *, name: str | None, options: dict[str, Any]) -> asyncio.Task[Any]:
        """Make the task of a coroutine. Raises ``SimulationError`` for one that would be ordered by its address."""
        caller = sys._getframe(2)  # noqa: SLF001  below create_task of the loop
        if caller.f_code.co_name.endswith("ensure_future"):
            elder = self._among_siblings(coro, caller)
            if elder is not None:
                return elder
        return self._make(coro, name=name, options=options)

    def _make(self, coro: Any, *, name: str | None, options: dict[str, Any]) -> asyncio.Task[Any]:
        loop = self._loop
        task: SimulatedTask[Any]
        if self._factory is SimulatedTask:
            task = SimulatedTask[Any](coro, loop=loop, name=name, **options)
        else:
            task = self._factory(loop, coro, **options)
            if not _is_ordered(task):
                let_go(task)
                coro.close()
                raise SimulationError(
                    f"The task factory made a {type(task).__qualname__}, which asyncio orders by its address.",
                    todo="Let it make dispatch.testing.loop.SimulatedTask(coro, loop=loop, **options), or a subclass.",
                )
            if name is not None:
                task.set_name(name)
        self._keep(task)
        return task

    def _keep(self, task: SimulatedTask[Any]) -> None:
        """Know of a task for as long as somebody else does; those that are gone are forgotten now and then."""
        self._alive.append(weakref.ref(task))
        if len(self._alive) > self._sweep_at:
            self._alive = [ref for ref in self._alive if ref() is not None]
            self._sweep_at = max(_FEW, 2 * len(self._alive))

    def _among_siblings(self, coro: Any, caller: FrameType) -> asyncio.Task[Any] | None:
        """Return the task of a coroutine that was given to ``as_completed``; ``None`` for any other.

        ``as_completed`` starts what it is given in the order of a set, so of addresses. All are started at once here, in
        the order in which they were given.
        """
        if id(coro) in self._siblings:
            return self._siblings.pop(id(coro))
        given = _given_to_as_completed(caller)
        if given is None:
            return None
        if isinstance(given, Collection) and not isinstance(given, AbstractSet):
            for one in cast("Collection[object]", given):
                if asyncio.iscoroutine(one) and id(one) not in self._siblings:
                    self._siblings[id(one)] = self._make(one, name=None, options={})
        if id(coro) not in self._siblings:
            raise SimulationError(
                "as_completed was given coroutines in a set or by an iterator, and starts them by their addresses.",
                todo="Give it a list of coroutines, or tasks.",
            )
        return self._siblings.pop(id(coro))


def _is_ordered(task: object) -> bool:
    return isinstance(task, SimulatedTask)


def _given_to_as_completed(caller: FrameType) -> object | None:
    frame: FrameType | None = caller
    while frame is not None and frame.f_globals.get("__name__") == "asyncio.tasks":
        argument = _AS_COMPLETED.get(frame.f_code.co_qualname)
        if argument is not None:
            return frame.f_locals.get(argument)
        frame = frame.f_back
    return None
