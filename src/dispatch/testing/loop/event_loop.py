"""The simulated event loop itself: virtual time, one order, nothing real."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import Context
from datetime import datetime, timedelta
from threading import get_ident
from typing import Any, NoReturn, TypeVar, TypeVarTuple, cast

from dispatch.testing.clock import START
from dispatch.testing.loop import garbage
from dispatch.testing.loop.births import Births
from dispatch.testing.loop.clock import SimulatedClock
from dispatch.testing.loop.errors import RealWorld, SimulationError
from dispatch.testing.loop.generators import Generators
from dispatch.testing.loop.guard import watch
from dispatch.testing.loop.peeking import is_unheard, mark_heard
from dispatch.testing.loop.progress import PATIENCE, Progress
from dispatch.testing.loop.ready import Fifo, Ready, Shuffled
from dispatch.testing.loop.reporting import Reporting
from dispatch.testing.loop.tasks import SimulatedFuture, SimulatedTask
from dispatch.testing.loop.timers import Timers
from dispatch.testing.loop.trace import Recorder, Tracing

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class SimulatedLoop(Reporting):
    """An event loop in virtual time.

    ``seed`` chooses which of the ready tasks goes next; without one it is the standard loop's order, first in, first out.
    ``time()`` begins at 0.0, which is the moment ``start``; ``clock`` reads it. ``trace`` is told of each step. More than
    ``patience`` steps at one moment, or a timer beyond ``horizon``, raise ``Runaway``.

    Raises ``SimulationError`` from ``run_forever`` and ``run_until_complete``; ``simulate`` also winds up.
    """

    slow_callback_duration = 0.1

    def __init__(
        self,
        *,
        seed: int | None = None,
        start: datetime = START,
        trace: Recorder | None = None,
        patience: int = PATIENCE,
        horizon: timedelta | None = None,
    ) -> None:
        super().__init__()
        self.seed = seed
        self.clock = SimulatedClock(self, start)
        self._now = 0.0
        self._ready: Ready = Fifo() if seed is None else Shuffled(seed)
        self._run: Callable[[asyncio.Handle], None] = (
            asyncio.Handle._run if trace is None else Tracing(trace, self.time).run  # noqa: SLF001
        )
        self._timers = Timers()
        self._births = Births(self, seed)
        self._generators = Generators(self)
        self._futures = 0
        self._progress = Progress(self.clock, patience=patience, horizon=horizon)
        self._failure: SimulationError | None = None
        self._thread = get_ident()
        self._running = self._stopping = self._closed = self._debug = False

    # Running

    def run_forever(self) -> None:
        """Run until ``stop``. Raises ``Deadlock``, ``Runaway``, and ``RealWorld`` where the program did such a thing."""
        self._check_open()
        self._check_thread("run_forever")
        if self._running:
            raise RuntimeError("This event loop is already running")
        if asyncio._get_running_loop() is not None:  # noqa: SLF001
            raise RuntimeError("Cannot run the event loop while another loop is running")
        with watch(), self._as_running(), self._generators.hooked(), garbage.held():
            while True:
                self._run_ready()
                if self._failure is not None:
                    raise self._failure
                if self._stopping:
                    break

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        """Run until ``future`` is done, and return its result or raise its error."""
        self._check_open()
        is_new = not asyncio.isfuture(future)
        task = asyncio.ensure_future(cast("Awaitable[T]", future), loop=self)
        task.add_done_callback(_stop_its_loop)
        try:
            self.run_forever()
        except BaseException:
            if is_new and task.done() and not task.cancelled():
                task.exception()  # nobody else can look at it
            raise
        finally:
            task.remove_done_callback(_stop_its_loop)
        if not task.done():
            raise RuntimeError("Event loop stopped before Future completed.")
        return task.result()

    def stop(self) -> None:
        """Stop after what is ready now."""
        self._stopping = True

    def close(self) -> None:
        """Forget all that was to come."""
        if self._running:
            raise RuntimeError("Cannot close a running event loop")
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    def is_running(self) -> bool:
        """Tell whether it runs."""
        return self._running

    def is_closed(self) -> bool:
        """Tell whether it was closed."""
        return self._closed

    async def shutdown_asyncgens(self) -> None:
        """Close the asynchronous generators that are open, in the order in which they were begun."""
        await self._generators.close()

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Do nothing: there is none."""

    # Time and callbacks

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._now

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Call it after what is ready already."""
        if self._closed or get_ident() != self._thread or self._debug:
            self._check(callback, "call_soon")
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Do as ``call_soon``; another thread is refused, for its moment is nobody's choice."""
        self._check_thread("call_soon_threadsafe")
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call it after ``delay`` seconds of virtual time."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call it when ``time()`` is ``when``; of several at one time in the order in which they were set."""
        if self._closed or get_ident() != self._thread or self._debug:
            self._check(callback, "call_at")
        if when != when:  # noqa: PLR0124 - so is NaN, and this is called often
            raise ValueError("a timer cannot be due at NaN")
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers.add(when, timer)
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: the timers look for themselves whether one was cancelled."""

    # Tasks and futures

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future."""
        self._futures += 1
        return SimulatedFuture(loop=self, serial=self._futures)

    def create_task(
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: Context | None = None,
        eager_start: bool | None = None,
    ) -> asyncio.Task[Any]:
        """Make the task of a coroutine."""
        self._check_open()
        self._check_thread("create_task")
        options: dict[str, Any] = {}
        if context is not None:
            options["context"] = context
        if eager_start is not None:
            options["eager_start"] = eager_start
        try:
            return self._births.bear(coro, name=name, options=options)
        except SimulationError as error:
            self._fail(error)

    def set_task_factory(self, factory: Any) -> None:
        """Let ``factory`` make the tasks; it has to make ``SimulatedTask``."""
        self._births.factory = factory

    def get_task_factory(self) -> Any:
        """Return the factory that was set."""
        return self._births.factory

    def birth(self) -> tuple[int, int, int]:
        """Number a task that is being born (for ``SimulatedTask``)."""
        return self._births.number()

    @property
    def has_open_generators(self) -> bool:
        """Tell whether ``shutdown_asyncgens`` has anything to do."""
        return bool(self._generators)

    @property
    def tasks(self) -> list[SimulatedTask[Any]]:
        """The tasks that are not done, the oldest first."""
        return [task for task in self._births.alive() if not task.done()]

    def report_unheard(self) -> None:
        """Hand the exception handler each error of a task at which nobody has looked until now."""
        garbage.collect()
        for task in self._births.alive():
            if is_unheard(task):
                mark_heard(task)
                error = task.exception()
                if error is not self._failure:
                    message = "Task exception was never retrieved"
                    self.call_exception_handler(
                        {"message": message, "exception": error, "task": task}
                    )

    # Debugging

    def get_debug(self) -> bool:
        """Tell whether debug mode is on."""
        return self._debug

    def set_debug(self, enabled: bool) -> None:  # noqa: FBT001  asyncio's signature
        """Switch debug mode: handles, futures and coroutines remember where they were made."""
        self._debug = enabled

    def __repr__(self) -> str:
        state = "closed" if self._closed else "running" if self._running else "idle"
        return f"<SimulatedLoop {state}, seed {self.seed}, at {self._now:f} s>"

    # What is refused

    def refuse(self, call: str) -> NoReturn:
        """Refuse a call that reaches for the real world, and end the run, whoever handles the error."""
        task = asyncio.current_task(self) if self._running else None
        who = "A callback" if task is None else f"Task {task.get_name()!r}"
        self._fail(
            RealWorld(
                f"{who} called {call}, which is real; a simulated loop has only virtual time.",
                todo="Give the program a fake of it, or run it on a real loop.",
            )
        )

    def _fail(self, error: SimulationError) -> NoReturn:
        if self._running and self._failure is None:
            self._failure = error
        raise error

    def _check(self, callback: object, call: str) -> None:
        self._check_open()
        self._check_thread(call)
        if self._debug:
            _check_callback(callback, call)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")

    def _check_thread(self, call: str) -> None:
        if get_ident() != self._thread:
            self._fail(
                RealWorld(
                    f"Thread {threading.current_thread().name!r} called {call} of a simulated loop that is another thread's.",
                    todo="Start no threads in a simulation; let a task do it.",
                )
            )

    # The steps

    @contextmanager
    def _as_running(self) -> Generator[None]:
        depth = sys.get_coroutine_origin_tracking_depth()
        if self._debug:
            sys.set_coroutine_origin_tracking_depth(10)
        asyncio._set_running_loop(self)  # noqa: SLF001  it is made for loops
        self._running, self._failure = True, None
        try:
            yield
        finally:
            self._running = self._stopping = False
            self._progress.rest()
            asyncio._set_running_loop(None)  # noqa: SLF001
            sys.set_coroutine_origin_tracking_depth(depth)

    def _run_ready(self) -> None:
        """Run what is ready now, as the standard loop does: what that makes ready waits for the next turn.

        A seed looks for another choice after each step.
        """
        ready = self._ready
        if not ready and not self._stopping:
            self._move_on()
        for timer in self._timers.due(self._now):
            ready.append(timer)
        count = len(ready) if self.seed is None else min(1, len(ready))
        run = self._progress.runner(count, self._run, self._unfinished)
        for _ in range(count):
            handle = ready.popleft()
            if not handle._cancelled:  # noqa: SLF001 - a call less for each step
                run(handle)
                if self._failure is not None:
                    return

    def _unfinished(self) -> list[SimulatedTask[Any]]:
        return self.tasks

    def _move_on(self) -> None:
        """Jump to the next timer."""
        when = self._timers.next()
        self._progress.check_jump(when, self._unfinished)
        if when is not None:
            self._now = max(when, self._now)


def _stop_its_loop(future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and isinstance(future.exception(), SystemExit | KeyboardInterrupt):
        return  # it ends the loop by itself
    future.get_loop().stop()


def _check_callback(callback: object, call: str) -> None:
    if asyncio.iscoroutine(callback) or inspect.iscoroutinefunction(callback):
        raise TypeError(f"coroutines cannot be used with {call}()")
    if not callable(callback):
        raise TypeError(f"a callable object was expected by {call}(), got {callback!r}")
