"""The front door: run a program in virtual time, and leave nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from dispatch.testing.clock import START
from dispatch.testing.loop import garbage
from dispatch.testing.loop.errors import LeakedErrors, SimulationError
from dispatch.testing.loop.event_loop import SimulatedLoop
from dispatch.testing.loop.peeking import let_go
from dispatch.testing.loop.progress import PATIENCE
from dispatch.testing.loop.trace import Recorder

T = TypeVar("T")


def simulate(
    main: Coroutine[Any, Any, T],
    *,
    seed: int | None = None,
    start: datetime = START,
    trace: Recorder | None = None,
    patience: int = PATIENCE,
    horizon: timedelta | None = None,
    debug: bool = False,
) -> T:
    """Run ``main`` as ``asyncio.run`` does, in virtual time, and return its result.

    Its task is called "main". What it leaves running is cancelled, and its generators are closed. The arguments are those of
    ``SimulatedLoop``. Raises what ``main`` raises; ``SimulationError`` where the simulation cannot go on; ``LeakedErrors``
    where a task or a callback failed and nobody looked.
    """
    try:
        loop = SimulatedLoop(
            seed=seed, start=start, trace=trace, patience=patience, horizon=horizon
        )
    except BaseException:
        main.close()
        raise
    loop.set_debug(debug)
    return run_on(loop, main)


def run_on(loop: SimulatedLoop, main: Coroutine[Any, Any, T]) -> T:
    """Do what ``simulate`` does on a loop that was made before, and close it."""
    if not asyncio.iscoroutine(main):
        raise SimulationError(
            f"A simulation runs a coroutine, not {main!r}.",
            todo="Call the function: simulate(main()).",
        )
    if asyncio._get_running_loop() is not None:  # noqa: SLF001  get_running_loop raises where none runs
        main.close()
        raise SimulationError(
            "A simulation was started where an event loop runs already.",
            todo="Await the coroutine there.",
        )
    try:
        with garbage.held():
            return _run(loop, main)
    finally:
        loop.close()


def _run(loop: SimulatedLoop, main: Coroutine[Any, Any, T]) -> T:
    task: asyncio.Task[T] = loop.create_task(main, name="main")
    try:
        result = loop.run_until_complete(task)
    except BaseException as error:
        for problem in _wind_up(loop):
            error.add_note(f"While winding up: {problem}")
        raise
    for problem in _wind_up(loop):
        raise problem
    return result


def _wind_up(loop: SimulatedLoop) -> list[Exception]:
    """Cancel what is left, close generators, look for errors nobody saw; return what went wrong with that."""
    problems: list[Exception] = []
    left = loop.tasks
    for task in left:
        task.cancel()
    try:
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        if loop.has_open_generators:
            loop.run_until_complete(loop.shutdown_asyncgens())
    except SimulationError as error:
        problems.append(error)
    for task in left:
        if task.done() and not task.cancelled() and task.exception() is not None:
            message = "unhandled exception during shutdown"
            loop.call_exception_handler(
                {"message": message, "exception": task.exception(), "task": task}
            )
    for task in loop.tasks:
        let_go(task)
    loop.report_unheard()
    if loop.leaks:
        leaked = LeakedErrors(tuple(loop.leaks))
        leaked.__cause__ = loop.leaks[0].get("exception")
        problems.append(leaked)
    return problems
