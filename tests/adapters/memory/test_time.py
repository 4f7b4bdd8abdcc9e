"""The world's own future, and time that passes inside calls."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from adapters.memory.bench import Bench, do, job_id, seconds
from dispatch.adapters.memory import MemoryBackend
from dispatch.adapters.memory.backend import SystemClock
from dispatch.model.errors import Unsupported
from dispatch.spi.adapter import CallMeta


def test_the_next_event_is_known_and_reached() -> None:
    bench = Bench(minJobAge="5m")
    assert bench.env.next_event() is None
    assert bench.env.advance_to_next_event() is None
    bench.env.finish(bench.running())
    moment = bench.clock.now() + seconds(300)
    assert (
        bench.env.next_event() == bench.env.advance_to_next_event() == bench.clock.now() == moment
    )
    assert bench.count() == 0


def test_events_happen_at_their_own_times_however_long_nobody_looked() -> None:
    bench = Bench(
        slurmdTimeout="40s", minJobAge="1m", capabilities={"AccountingHistory": {"value": "yes"}}
    )
    ref = bench.running()
    lost = bench.clock.now()
    bench.env.lose_node("n1")
    bench.pass_time(100_000)
    seen = bench.see(ref)
    assert seen.ended == lost + seconds(40)
    assert seen.final


def test_a_clock_that_stands_back_lets_nothing_unhappen() -> None:
    bench = Bench()
    bench.pass_time(100)
    ref = bench.running()
    view = MemoryBackend(bench.env._world)
    bench.clock._now -= seconds(50)
    assert do(view.inspect(ref)) == bench.see(ref)
    assert do(view.find(job_id())).sent == bench.clock.now() + seconds(50)


def test_the_clock_of_the_machine_is_read_but_not_moved() -> None:
    backend = MemoryBackend.create(clock=SystemClock())
    do(backend.start(Bench().order(), CallMeta(deadline=datetime.now(UTC) + seconds(60))))
    (seen,) = do(backend.find(job_id())).observations
    do(backend.stop(seen.ref, CallMeta(deadline=datetime.now(UTC) + seconds(60))))
    with pytest.raises(Unsupported):
        backend.env.advance_to_next_event()


def test_the_clock_of_the_machine_wakes_at_once_where_the_moment_has_passed() -> None:
    clock = SystemClock()
    asyncio.run(asyncio.wait_for(clock.sleep_until(clock.now() - seconds(5)), 1))
