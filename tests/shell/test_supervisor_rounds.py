"""What one round of the supervisor covers, and what it does not ask again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.model.errors import StoreError
from dispatch.model.journal import StopAsked
from dispatch.shell import supervisor as module
from dispatch.shell.supervisor import Supervisor
from shell.world import RESUBMIT, World, opened, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch.spi.adapter import Reading


def supervisor(world: World) -> Supervisor:
    return Supervisor(world.process.ledger, world.process.clusters, "test")


@pytest.fixture
def two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_AT_ONCE", 2)


class Watched(MemoryBackend):
    """A view of the cluster which tells when it is read, and what happens while the listing is under way."""

    listings: list[tuple[str, ...]]
    meanwhile: Callable[[], object]

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        self.listings.append(tuple(jobs))
        self.meanwhile()
        return await super().find_many(jobs, known)


def watch(world: World, meanwhile: Callable[[], object] = lambda: None) -> list[tuple[str, ...]]:
    """Watch the listings of the world's process."""
    world.behave(Watched)
    listings: list[tuple[str, ...]] = []
    backend: Any = world.process.backend
    backend.listings, backend.meanwhile = listings, meanwhile
    return listings


@pytest.mark.usefixtures("two_at_once")
def test_a_round_covers_every_job_that_is_due_some_with_each_listing(world: World) -> None:
    jobs = [world.submit() for _ in range(5)]
    listings = watch(world)
    assert run(supervisor(world).round()).looked_at == 5
    assert all(opened(world.view(job)) for job in jobs)
    assert max(map(len, listings)) == 2


@pytest.mark.usefixtures("two_at_once")
def test_a_stop_is_heeded_between_two_listings(world: World) -> None:
    for _ in range(5):
        world.submit()
    stops: list[Supervisor] = []

    def stop() -> None:
        stops[0].stop()

    watch(world, stop)
    stops.append(supervisor(world))
    assert run(stops[0].round()).looked_at == 2


@pytest.mark.usefixtures("two_at_once")
def test_jobs_that_another_has_claimed_hide_none_of_the_others(world: World) -> None:
    jobs = [world.submit() for _ in range(5)]
    now = world.clock.now()
    world.store.claim(jobs[:4], "another", now + timedelta(seconds=15), now)
    assert run(supervisor(world).round()).looked_at == 1
    assert opened(world.view(jobs[4]))


def test_a_kept_view_is_folded_on_where_another_process_has_appended(world: World) -> None:
    jobs = [world.submit(RESUBMIT) for _ in range(2)]
    one = supervisor(world)
    run(one.round())
    kept = world.process.ledger.recall(jobs)
    assert set(kept) == set(jobs)
    world.another("host2").operator.ask_stop(jobs[0])
    assert set(world.process.ledger.recall(jobs)) == {jobs[1]}
    assert run(one.round()).looked_at == 1
    assert "stop" in world.verbs(jobs[0])


def test_records_that_cannot_be_asked_recall_nothing(world: World) -> None:
    job = world.submit()
    world.store.close()
    assert world.process.ledger.recall([job]) == {}
    with pytest.raises(StoreError):
        world.process.ledger.view(job)


def test_a_request_that_lands_after_the_decision_is_not_slept_over(world: World) -> None:
    job = world.submit()
    run(supervisor(world).round())
    decided = world.view(job)
    other = world.another("host2")
    later = world.clock.now() + timedelta(hours=1)
    assert other.ledger.append(other.ledger.view(job), [StopAsked(by="bob")])
    world.process.ledger.reschedule(job, later, decided.version)
    assert world.store.summary(job).due == world.clock.now()
    world.process.ledger.reschedule(job, later, decided.version + 1)
    assert world.store.summary(job).due == later


def test_a_listing_is_judged_by_what_was_folded_before_it_was_sent(world: World) -> None:
    """Another process asks for a stop while the listing is under way: what was decided without it is not appended."""
    job = world.submit()
    run(supervisor(world).round())
    world.env.run(job)
    world.clock.advance(timedelta(seconds=20))
    other = world.another("host2")
    asked: list[int] = []

    def ask() -> None:
        if not asked:
            asked.append(other.operator.ask_stop(job).version)

    watch(world, ask)
    world.process.ledger.view(job)
    run(supervisor(world).round())
    events = world.events(job)
    assert isinstance(events[asked[0] - 1], StopAsked)
    assert [entry.version for entry in world.history(job)] == list(range(1, len(events) + 1))
    assert "stop" in world.verbs(job)
