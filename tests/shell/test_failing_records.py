"""Records that fail, as on a full disk: a supervisor says so in words, goes on, and loses nothing (10, bad input)."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

import pytest

from dispatch.model.errors import StoreError
from dispatch.shell.supervisor import AFTER_A_FAILURE, TICK, Round, Supervisor
from dispatch.stores.sqlite import SqliteStore
from shell.world import Process, World, opened, run


class FailingStore(SqliteStore):
    """Fails at one method for some times."""

    method: str = ""
    times: int = 0

    def fail(self, method: str, times: int) -> None:
        """Fail from here on."""
        self.method, self.times = method, times

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "method") and self.times > 0:
            self.times -= 1
            raise StoreError("The disk is full.", todo="Free some space.")
        return super().__getattribute__(name)


WRITES = ("append", "append_all", "claim", "reschedule_all", "beat", "due")


def failing(world: World) -> tuple[FailingStore, Supervisor]:
    """A supervisor on records that can be made to fail; where it waits, time passes."""
    store = FailingStore.open(world.place, now=world.clock.now())
    assert isinstance(store, FailingStore)
    process = Process(store, world.clock, world.env.view(), "host2")
    one = Supervisor(process.ledger, process.clusters, "test")

    async def pause(wait: timedelta = TICK) -> None:
        world.clock.advance(wait)

    one._pause = pause  # type: ignore[method-assign]
    return store, one


@pytest.mark.parametrize("method", WRITES)
def test_a_supervisor_goes_on_where_the_records_fail_and_says_so_without_a_traceback(
    world: World, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    # One job alone is appended to alone.
    jobs = [world.submit() for _ in range(1 if method == "append" else 2)]
    store, one = failing(world)
    rounds: list[datetime] = []

    def look(_: Round) -> None:
        rounds.append(world.clock.now())
        if (
            all(opened(world.view(job)) for job in jobs) or len(rounds) > 200
        ):  # a write whose outcome was not written is read back
            one.stop()

    one.on_round = look
    store.fail(method, times=2)
    run(one.run())
    assert store.times < 2
    assert all(opened(world.view(job)) for job in jobs)
    assert "The disk is full. Free some space." in caplog.text
    assert [record for record in caplog.records if record.exc_info] == []
    for job in jobs:
        assert world.verbs(job) == ["start", "open"]


def test_a_supervisor_whose_records_fail_waits_before_it_tries_and_speaks_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.submit()
    store, one = failing(world)
    begun = world.clock.now()

    def look(_: Round) -> None:
        if world.clock.now() - begun >= timedelta(minutes=2):
            one.stop()

    one.on_round = look
    store.fail("claim", times=1_000)
    run(one.run())
    said = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(said) <= timedelta(minutes=2) / AFTER_A_FAILURE + 1


def test_where_one_cluster_fails_the_others_come_to_the_end_of_their_calls(world: World) -> None:
    job = world.submit()
    stray = world.submit()
    with world.store._db.write("move a job to another cluster") as raw:
        raw.execute("UPDATE jobs SET cluster = 'elsewhere' WHERE id = ?", (stray,))
    process = world.another("host2")
    one = Supervisor(process.ledger, process.clusters, "test")
    claimed = one._claimed

    def claim(jobs: list[str]) -> frozenset[str]:
        if stray in jobs:
            raise StoreError("The disk is full.")
        return claimed(jobs)

    one._claimed = claim  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        run(one.round())
    assert opened(world.view(job))
