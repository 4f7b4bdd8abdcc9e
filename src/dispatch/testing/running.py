"""How what is asynchronous of a simulated test runs: the test, its examples, its fixtures."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, cast

from dispatch.testing.loop import SimulatedLoop
from dispatch.testing.loop.simulate import run_on

NewLoop = Callable[[], SimulatedLoop]


def run_test(loop: SimulatedLoop, test: Coroutine[Any, Any, object], *, outlived: bool) -> None:
    """Run a test on its loop; one that fixtures outlive it on is wound up when they have ended."""
    if outlived:
        loop.run_until_complete(loop.create_task(test, name="main"))
    else:
        run_on(loop, test)


def wind_up(loop: SimulatedLoop) -> None:
    """Cancel what is left on a loop, and close it; nothing where that is done. Raises ``LeakedErrors``."""
    if not loop.is_closed():
        run_on(loop, _nothing())


def run_examples(given: Any, arguments: dict[str, Any], new_loop: NewLoop) -> None:
    """Let hypothesis run a coroutine test, each example on a loop of its own."""
    handle = given.hypothesis
    inner = handle.inner_test

    @functools.wraps(inner)
    def example(*args: Any, **kwargs: Any) -> None:
        run_on(new_loop(), inner(*args, **kwargs))

    handle.inner_test = example
    try:
        given(**arguments)
    finally:
        handle.inner_test = inner  # another parameter of the test has the same


def on_loop(fixture: Callable[..., Any], loop: SimulatedLoop) -> Callable[..., Any]:
    """Make a plain fixture of a coroutine function, which runs on the loop."""

    @functools.wraps(fixture)
    def run(*args: Any, **kwargs: Any) -> object:
        return loop.run_until_complete(fixture(*args, **kwargs))

    return run


def on_loop_to_its_end(fixture: Callable[..., Any], loop: SimulatedLoop) -> Callable[..., Any]:
    """Make a plain fixture of an asynchronous generator function, which runs on the loop: what follows the yield too."""

    @functools.wraps(fixture)
    def run(*args: Any, **kwargs: Any) -> Generator[object]:
        generator = cast("AsyncGenerator[object]", fixture(*args, **kwargs))
        yield loop.run_until_complete(anext(generator))
        try:
            loop.run_until_complete(anext(generator))
        except StopAsyncIteration:
            return
        raise RuntimeError(f"the fixture {fixture.__name__} yields more than once")

    return run


async def _nothing() -> None:
    """Be what runs while a loop is wound up."""
