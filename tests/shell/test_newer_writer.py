"""An older supervisor beside a newer one on the same records (12, T4): what the newer has written to is the newer's alone."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from dispatch.model.errors import NewerSchema
from dispatch.model.journal import SCHEMA, AnyEvent, Entry, StopAsked
from dispatch.model.status import State
from dispatch.model.view import JobView
from dispatch.shell.ledger import Ledger
from dispatch.shell.supervisor import CLAIM, Supervisor
from dispatch.shell.sweeping import EVERY
from dispatch.spi.store import Query
from dispatch.stores.sqlite import SqliteStore
from shell.test_sweeping import lives, start_late
from shell.world import RESUBMIT, Process, World, ended, run, submission

NEXT = SCHEMA + 1


class NewerLedger(Ledger):
    """Writes events of the next schema."""

    def _entry(self, version: int, now: datetime, event: AnyEvent) -> Entry:
        return replace(super()._entry(version, now, event), schema=NEXT)


class Newer(Process):
    """A process of the next dispatch: what it writes is of the next schema, which it can read."""

    def __init__(self, world: World) -> None:
        store = SqliteStore.open(world.place, now=world.clock.now())
        super().__init__(store, world.clock, world.env.view(), "new")
        self.ledger.__class__ = NewerLedger
        self.supervisor = Supervisor(self.ledger, self.clusters, "next")

    def round(self) -> None:
        """Supervise for a round."""
        with next_schema():
            run(self.supervisor.round())

    def view(self, job: str) -> JobView:
        """The job as this dispatch reads it."""
        with next_schema():
            return self.ledger.view(job)

    def history(self, job: str) -> Sequence[Entry]:
        """The record of a job, as this dispatch reads it."""
        with next_schema():
            return self.ledger.history(job)


@contextmanager
def next_schema() -> Generator[None]:
    """Let the store be the next dispatch's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dispatch.stores.sqlite.journal.SCHEMA", NEXT)
        patch.setattr("dispatch.stores.sqlite.rows.SCHEMA", NEXT)
        yield


class Site:
    """Two jobs that an older supervisor has opened, of which a newer one has then written to the first."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.theirs, self.ours = world.submit(RESUBMIT), world.submit(RESUBMIT)
        self.older = Supervisor(world.process.ledger, world.process.clusters, "this")
        run(self.older.round())
        world.env.run_all()
        world.clock.advance(timedelta(seconds=20))
        world.env.preempt(self.theirs)
        self.newer = Newer(world)
        with next_schema():
            run(self.newer.clusters.advance("c", [self.theirs]))
        self.version = self.newer.view(self.theirs).version
        assert self.newer.history(self.theirs)[-1].schema == NEXT

    def pass_time(self, minutes: int) -> None:
        """Let both supervise, turn and turn about."""
        for _ in range(minutes * 6):
            run(self.older.round())
            self.newer.round()
            self.world.env.run_all()
            self.world.clock.advance(timedelta(seconds=10))

    def writers(self, job: str) -> list[str]:
        """On which host each event was written since the newer one began with the first job."""
        return [entry.actor.host for entry in self.newer.history(job)[self.version :]]


@pytest.fixture
def site(world: World) -> Site:
    return Site(world)


def test_the_older_leaves_that_job_alone_for_as_long_as_it_runs_and_goes_on_with_the_others(
    site: Site,
) -> None:
    site.world.env.preempt(site.ours)
    for _ in range(60):
        run(site.older.round())
        site.world.env.run_all()
        site.world.clock.advance(timedelta(minutes=1))
    assert site.newer.view(site.theirs).version == site.version
    assert submission(2)(site.world.view(site.ours))
    with pytest.raises(NewerSchema, match=site.theirs):
        site.world.view(site.theirs)


def test_the_newer_brings_that_job_to_its_end_beside_the_older(site: Site) -> None:
    site.pass_time(10)
    site.world.env.finish(site.theirs)
    site.pass_time(10)
    view = site.newer.view(site.theirs)
    assert ended(view)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED
    assert set(site.writers(site.theirs)) == {"new"}
    assert site.world.env.overlaps() == ()
    assert [ticket.epoch for ticket in site.world.env.tickets(site.theirs)] == [
        1_000_000,
        2_000_000,
    ]


def test_what_people_ask_of_it_with_the_older_is_refused_and_says_what_to_do(site: Site) -> None:
    for ask in (
        site.world.process.operator.ask_stop,
        site.world.process.operator.ask_hold,
        site.world.process.operator.ask_release,
    ):
        with pytest.raises(NewerSchema, match=site.theirs) as refused:
            ask(site.theirs)
        assert "Upgrade" in refused.value.todo
    assert site.newer.view(site.theirs).version == site.version


def test_a_write_that_the_older_was_about_to_make_is_not_made(world: World) -> None:
    """The newer one writes between the older's fold and its intent: the append is refused, and nothing is called."""
    job = world.submit()
    stale = world.process.ledger.view(job)
    newer = Newer(world)
    with next_schema():
        newer.operator.ask_hold(job)
    with pytest.raises(NewerSchema, match=job):
        world.process.ledger.append(stale, (StopAsked(by="alice"),))
    assert world.env.truths(job) == ()


def test_status_says_so_of_that_job_alone(site: Site) -> None:
    told = {job.id: job.why for job in site.world.store.list(Query())}
    assert "Written by a newer dispatch" in told[site.theirs]
    assert "newer" not in told[site.ours]


def test_the_older_says_so_once(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(60):
            run(site.older.round())
            site.world.clock.advance(timedelta(minutes=1))
    assert len([r for r in caplog.records if site.theirs in r.getMessage()]) == 1


def test_the_older_puts_nothing_off_and_keeps_the_newer_waiting_for_one_claim_at_most(
    site: Site,
) -> None:
    due = site.world.store.summary(site.theirs).due
    assert due is not None
    run(site.older.round())
    assert site.world.store.summary(site.theirs).due == due
    site.world.clock.advance(CLAIM)
    run(site.older.round())
    site.newer.round()
    site.world.clock.advance(site.world.backend.declarations.save_window)
    site.newer.round()
    assert site.newer.view(site.theirs).version > site.version


def test_the_older_puts_nothing_off_either_where_the_cluster_is_away_just_then(site: Site) -> None:
    """It has met the newer one's job before it learns that; a cluster that is away puts off all jobs of a round."""
    due = {job: site.world.store.summary(job).due for job in (site.theirs, site.ours)}
    site.world.clock.advance(timedelta(minutes=1))
    site.world.env.make_unavailable(timedelta(minutes=5))
    run(site.older.round())
    after = {job: site.world.store.summary(job).due for job in due}
    assert after[site.theirs] == due[site.theirs]
    assert after[site.ours] != due[site.ours]


def test_what_lives_of_a_job_that_the_newer_has_ended_is_the_newers_to_stop(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    job = world.submit()
    world.advance(job)
    newer = Newer(world)
    with next_schema():
        newer.operator.ask_stop(job)
    for _ in range(20):
        newer.round()
        world.clock.advance(timedelta(minutes=1))
    late = start_late(world, newer.view(job))
    older = Supervisor(world.process.ledger, world.process.clusters, "this", sweeps=("c",))
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            run(older.round())
            world.clock.advance(EVERY)
    assert lives(world, late)
    assert len([r for r in caplog.records if job in r.getMessage()]) == 1
    sweeping = Supervisor(newer.ledger, newer.clusters, "next", sweeps=("c",))
    run(older.round())
    with next_schema():
        run(sweeping.round())
    assert not lives(world, late)
