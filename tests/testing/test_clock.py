"""The clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from dispatch.testing.clock import ManualClock

MINUTE = timedelta(minutes=1)


def test_time_passes_only_by_hand() -> None:
    clock = ManualClock()
    start = clock.now()
    assert clock.now() == start
    assert clock.advance(MINUTE) == clock.now() == start + MINUTE


def test_it_speaks_utc_and_takes_aware_moments_only() -> None:
    abroad = datetime(2026, 1, 1, 3, tzinfo=timezone(timedelta(hours=3)))
    assert ManualClock(abroad).now() == datetime(2026, 1, 1, tzinfo=UTC)
    assert ManualClock(abroad).now().tzinfo is UTC
    with pytest.raises(ValueError, match="aware"):
        ManualClock(datetime(2026, 1, 1))  # noqa: DTZ001  that is what is refused


def test_it_does_not_go_back() -> None:
    clock = ManualClock()
    with pytest.raises(ValueError, match="back"):
        clock.advance(-MINUTE)


def test_sleepers_wake_in_the_order_of_their_moments() -> None:
    async def scene() -> list[int]:
        clock, woken = ManualClock(), list[int]()

        async def sleep(minutes: int) -> None:
            await clock.sleep_until(clock.now() + minutes * MINUTE)
            woken.append(minutes)

        async with asyncio.TaskGroup() as group:
            for minutes in (3, 1, 2):
                group.create_task(sleep(minutes))
            await asyncio.sleep(0)
            assert clock.next_alarm == clock.now() + MINUTE
            clock.advance(2 * MINUTE)
            await asyncio.sleep(0)
            assert woken == [1, 2]
            clock.advance(MINUTE)
        return woken

    assert asyncio.run(scene()) == [1, 2, 3]


def test_a_moment_that_has_passed_is_not_slept_for() -> None:
    clock = ManualClock()
    asyncio.run(clock.sleep_until(clock.now()))
    asyncio.run(clock.sleep_until(clock.now() - MINUTE))
    assert clock.next_alarm is None


def test_a_sleeper_that_was_cancelled_is_passed_over() -> None:
    async def scene() -> None:
        clock = ManualClock()
        sleeper = asyncio.ensure_future(clock.sleep_until(clock.now() + MINUTE))
        await asyncio.sleep(0)
        sleeper.cancel()
        await asyncio.sleep(0)
        assert clock.next_alarm is None
        clock.advance(MINUTE)

    asyncio.run(scene())
