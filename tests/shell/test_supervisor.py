"""The supervisor and the driver on the memory scheduler: whose turn it is, and what a fault must not stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from dispatch.model.errors import Invalid
from dispatch.model.status import State
from dispatch.shell.driving import Until
from dispatch.shell.supervisor import FRESH, Supervisor
from dispatch.spi.store import Query
from shell.world import RESUBMIT, Process, World, ended, opened, run


def supervisor(world: World, process: Process | None = None) -> Supervisor:
    process = process or world.process
    return Supervisor(process.ledger, process.clusters, "test")


def test_it_takes_over_every_unfinished_job_from_the_records_alone(world: World) -> None:
    jobs = [world.submit(RESUBMIT) for _ in range(5)]
    world.advance(jobs[0])
    other = world.another("host2")
    run(supervisor(world, other).round())
    assert all(opened(world.view(job)) for job in jobs)


def test_two_share_the_jobs_and_one_takes_over_when_the_other_is_gone(world: World) -> None:
    jobs = [world.submit() for _ in range(4)]
    first, second = supervisor(world), supervisor(world, world.another("host2"))
    assert run(first.round()).looked_at == 4
    assert run(second.round()).looked_at == 0
    world.clock.advance(timedelta(seconds=20))
    assert run(second.round()).looked_at == 4
    for job in jobs:
        assert world.verbs(job) == ["start", "open"]


def test_a_job_that_is_not_due_costs_nothing(world: World) -> None:
    world.submit()
    one = supervisor(world)
    run(one.round())
    assert run(one.round()).looked_at == 0


def test_what_a_person_asks_is_due_at_once(world: World) -> None:
    job = world.submit()
    one = supervisor(world)
    run(one.round())
    world.process.operator.ask_stop(job)
    assert run(one.round()).looked_at == 1
    assert "stop" in world.verbs(job)


def test_a_cluster_that_is_not_configured_any_more_does_not_stop_the_others(world: World) -> None:
    job = world.submit()
    stray = world.submit()

    def gone(alias: str) -> object:
        raise Invalid(f"There is no cluster {alias!r}.")

    world.process.clusters._opener = gone  # type: ignore[assignment]
    with world.store._db.write("move a job to another cluster") as raw:
        raw.execute("UPDATE jobs SET cluster = 'elsewhere' WHERE id = ?", (stray,))
    one = supervisor(world)
    run(one.round())
    assert opened(world.view(job))
    assert world.view(stray).current is None
    due = world.store.summary(stray).due
    assert due is not None
    assert due > world.clock.now()


def test_a_fault_in_one_job_does_not_stop_the_others(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    broken, well = world.submit(), world.submit()
    with world.store._db.write("break a record") as raw:
        raw.execute("DROP TRIGGER IF EXISTS events_are_never_rewritten")
        names = [
            row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        ]
        for name in names:
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("UPDATE events SET event = '{}' WHERE job = ?", (broken,))
    world.process.ledger._kept.clear()
    run(supervisor(world).round())
    assert opened(world.view(well))
    assert broken in caplog.text


def test_it_says_that_it_is_at_work_and_that_it_has_stopped(world: World) -> None:
    one = supervisor(world)
    run(one.round())
    since = world.clock.now() - FRESH
    assert [beat.id for beat in world.store.heartbeats(since)] == [one.id]
    one.stop()
    run(one.run())
    assert world.store.heartbeats(since) == ()


def test_it_tells_which_clusters_it_cannot_reach(world: World) -> None:
    world.submit()
    one = supervisor(world)
    world.env.make_unavailable()
    run(one.round())
    run(one.round())
    (beat,) = world.store.heartbeats(world.clock.now() - FRESH)
    assert "c is away since" in beat.clusters[0]
    world.env.make_available()
    world.clock.advance(timedelta(seconds=30))
    run(one.round())
    run(one.round())
    (beat,) = world.store.heartbeats(world.clock.now() - FRESH)
    assert beat.clusters == ()


def test_jobs_that_are_due_soon_are_read_with_those_that_are_due_now(world: World) -> None:
    jobs = [world.submit() for _ in range(3)]
    one = supervisor(world)
    one.gather = timedelta(seconds=5)
    run(one.round())
    world.store.reschedule(jobs[0], world.clock.now())
    world.store.reschedule(jobs[1], world.clock.now() + timedelta(seconds=4))
    world.store.reschedule(jobs[2], world.clock.now() + timedelta(seconds=6))
    assert run(one.round()).looked_at == 2


def test_once_waits_for_times_of_a_jobs_own_but_not_for_the_queue(
    worlds: Callable[..., World],
) -> None:
    world = worlds(saveWindow="20s")
    job = world.submit()
    world.until(job, opened)
    world.env.run(job)
    world.env.finish(job)

    async def once() -> None:
        working = asyncio.ensure_future(supervisor(world).once())
        while not working.done():
            for _ in range(20):
                await asyncio.sleep(0)
            if world.clock.next_alarm is not None:
                world.clock.advance_to(world.clock.next_alarm)
        await working

    begun = world.clock.now()
    run(once())
    assert ended(world.view(job))
    assert world.clock.now() - begun < timedelta(seconds=40)


def test_a_driver_stops_where_it_was_asked_to(world: World) -> None:
    job = world.submit()
    views = run(world.process.driver.drive([job], Until.OPENED))
    assert opened(views[job])
    assert world.store.list(Query(states=(State.PENDING,)))


def test_a_driver_gives_up_at_its_time(world: World) -> None:
    job = world.submit()
    views = run(world.process.driver.drive([job], Until.ENDED, timeout=timedelta(0)))
    assert views[job].verdict is None


def test_a_driver_watches_what_a_supervisor_has_claimed(world: World) -> None:
    job = world.submit()
    one = supervisor(world, world.another("host2"))

    async def both() -> None:
        await one.round()  # claims and opens it
        await world.process.driver.drive([job], Until.OPENED)

    run(both())
    assert world.verbs(job) == ["start", "open"]


def test_an_absence_of_the_cluster_is_waited_out_ever_longer(world: World) -> None:
    job = world.submit()
    world.env.make_unavailable()
    waits: list[timedelta] = []
    for _ in range(7):
        due = world.advance(job)[job]
        assert due is not None
        waits.append(due - world.clock.now())
        world.clock.advance_to(due)
    assert waits == sorted(waits)
    assert waits[0] == timedelta(seconds=5)
    assert waits[-1] == timedelta(minutes=2)
    world.env.make_available()
    world.advance(job)
    assert opened(world.view(job))
