"""An error that nobody looked at is raised in the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dispatch.testing.loop import LeakedErrors, simulate


def loop() -> Any:
    return asyncio.get_running_loop()


def test_an_error_of_a_task_at_which_nobody_looked_is_raised_in_the_end() -> None:
    async def fail() -> None:
        raise LookupError("lost")

    async def main() -> str:
        task = asyncio.create_task(fail(), name="failing")
        await asyncio.sleep(1)
        return task.get_name()

    with pytest.raises(LeakedErrors, match=r"'failing': .*never retrieved: LookupError") as caught:
        simulate(main())
    assert isinstance(caught.value.__cause__, LookupError)


def test_an_error_of_a_task_that_somebody_still_holds_is_raised_too() -> None:
    kept: list[asyncio.Task[None]] = []

    async def fail() -> None:
        raise LookupError("held")

    async def main() -> None:
        kept.append(asyncio.create_task(fail()))
        await asyncio.sleep(1)

    with pytest.raises(LeakedErrors, match="LookupError"):
        simulate(main())


def test_an_error_of_a_callback_is_raised_in_the_end() -> None:
    async def main() -> None:
        loop().call_soon(int, "x")
        await asyncio.sleep(1)

    with pytest.raises(LeakedErrors, match="Exception in callback"):
        simulate(main())


def test_an_error_while_a_task_is_cancelled_in_the_end_is_raised() -> None:
    async def child() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            raise LookupError("at last")

    async def main() -> None:
        loop()._kept = asyncio.create_task(child())
        await asyncio.sleep(1)

    with pytest.raises(LeakedErrors, match="at last"):
        simulate(main())


def test_the_error_of_main_is_raised_as_it_is_with_a_note_of_what_leaked() -> None:
    async def main() -> None:
        loop().call_soon(int, "x")
        await asyncio.sleep(1)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        simulate(main())
    assert "nobody has looked at 1 error" in caught.value.__notes__[0]
