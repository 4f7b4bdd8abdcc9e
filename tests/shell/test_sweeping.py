"""The sweep: what lives of jobs that have ended, and what the records do not know, on the memory scheduler (12, T1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec.structs import replace

from dispatch.core.recovery import effective_job
from dispatch.model.epoch import ulid
from dispatch.model.errors import CorruptRecord, Unavailable
from dispatch.model.status import State
from dispatch.model.view import JobView
from dispatch.shell.supervisor import FRESH, Supervisor
from dispatch.shell.sweeping import EVERY
from dispatch.spi.adapter import CallMeta, StartOrder
from dispatch.spi.store import Store, Summary
from shell.world import World, ended, run

GATE = 4_000_000_000
"""A begin time in 2096."""


class Damaged:
    """A store in which the record of one job is damaged."""

    def __init__(self, inner: Store, job: str) -> None:
        self.inner = inner
        self.job = job

    def summary(self, job: str) -> Summary:
        """Refuse the damaged one."""
        if job == self.job:
            raise CorruptRecord(f"The head of job {job} cannot be read.")
        return self.inner.summary(job)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def supervisor(world: World) -> Supervisor:
    return Supervisor(world.process.ledger, world.process.clusters, "test", sweeps=("c",))


def ended_job(world: World) -> str:
    job = world.submit()
    world.advance(job)
    world.process.operator.ask_stop(job)
    world.until(job, ended)
    assert world.store.summary(job).finished
    return job


def start_late(world: World, job: str | JobView, *, store: str | None = None) -> str:
    """Let a start land that was sent for the job before its end: its object is gated, and the record never learns of it."""
    view = world.view(job) if isinstance(job, str) else job
    order = StartOrder(
        id=view.id,
        job=effective_job(view),
        spec_hash=view.header.spec_hash,
        store=store or world.store.id,
        submission=view.next_submission,
        attempt="late",
        base=GATE,
    )
    return run(
        world.backend.start(order, CallMeta(deadline=world.clock.now() + timedelta(minutes=1)))
    )


def lives(world: World, ref: str) -> bool:
    return any(one.ref == ref for one in run(world.backend.list_living()))


def test_a_start_that_lands_after_its_job_has_ended_is_swept(world: World) -> None:
    job = ended_job(world)
    late = start_late(world, job)
    assert lives(world, late)
    run(supervisor(world).round())
    assert not lives(world, late)
    assert world.verbs(job)[-1] == "stop"
    verdict = world.view(job).verdict
    assert verdict is not None
    assert verdict.state is State.CANCELLED


def test_what_comes_later_is_found_by_a_later_sweep(world: World) -> None:
    job = ended_job(world)
    one = supervisor(world)
    run(one.round())
    late = start_late(world, job)
    run(one.round())
    assert lives(world, late), "the next sweep is not yet due"
    world.clock.advance(EVERY)
    run(one.round())
    assert not lives(world, late)


def test_a_stop_whose_answer_was_lost_is_settled_by_a_sweep_soon_after(world: World) -> None:
    job = ended_job(world)
    late = start_late(world, job)
    world.env.drop_next_reply()
    one = supervisor(world)
    run(one.round())
    for _ in range(20):
        world.clock.advance(timedelta(seconds=10))
        run(one.round())
    assert not lives(world, late)


def test_an_object_of_another_store_is_never_touched(world: World) -> None:
    job = ended_job(world)
    foreign = start_late(world, job, store=ulid(0, bytes(10)))
    before = world.verbs(job)
    run(supervisor(world).round())
    assert lives(world, foreign)
    assert world.verbs(job) == before


def test_an_object_whose_job_the_records_do_not_know_is_shown_once_and_left_alone(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    known = ended_job(world)
    view = world.view(known)
    stranger = ulid(1, bytes(10))
    order = StartOrder(
        id=stranger, job=replace(view.job), spec_hash="00", store=world.store.id, submission=1, attempt="a",
        base=GATE,
    )  # fmt: skip
    meta = CallMeta(deadline=world.clock.now() + timedelta(minutes=1))
    ref = run(world.backend.start(order, meta))
    one = supervisor(world)
    for _ in range(3):
        run(one.round())
        world.clock.advance(EVERY)
    assert lives(world, ref)
    assert caplog.text.count(ref) == 1
    (beat,) = world.store.heartbeats(world.clock.now() - EVERY - FRESH)
    assert any(ref in line and "do not know" in line for line in beat.clusters)
    run(world.backend.stop(ref, replace(meta, deadline=world.clock.now() + timedelta(minutes=1))))
    run(one.round())
    run(one.round())
    (beat,) = world.store.heartbeats(world.clock.now() - FRESH)
    assert beat.clusters == ()


def test_what_another_store_made_is_none_of_our_strays(world: World) -> None:
    view = world.view(ended_job(world))
    order = StartOrder(
        id=ulid(1, bytes(10)), job=view.job, spec_hash="00", store=ulid(2, bytes(10)), submission=1, attempt="a",
        base=GATE,
    )  # fmt: skip
    run(world.backend.start(order, CallMeta(deadline=world.clock.now() + timedelta(minutes=1))))
    run(supervisor(world).round())
    assert world.process.clusters.named("c").strays == ""


def test_a_job_that_ends_between_two_sweeps_is_not_taken_for_one_that_goes_on(world: World) -> None:
    job = world.submit()
    world.advance(job)
    one = supervisor(world)
    run(one.round())
    world.process.operator.ask_stop(job)
    world.until(job, ended)
    late = start_late(world, job)
    world.clock.advance(EVERY)
    run(one.round())
    assert not lives(world, late)


def test_a_record_that_cannot_be_read_keeps_no_other_job_from_being_swept(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    broken, well = ended_job(world), ended_job(world)
    kept, late = start_late(world, broken), start_late(world, well)
    world.process.ledger.store = cast("Store", Damaged(world.store, broken))
    run(supervisor(world).round())
    assert lives(world, kept)
    assert not lives(world, late)
    assert f"job {broken} was not swept" in caplog.text


def test_a_cluster_that_cannot_be_listed_stops_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    job = ended_job(world)
    late = start_late(world, job)
    world.env.fail_next_read(Unavailable("The controller hangs."))
    one = supervisor(world)
    run(one.round())
    assert "was not swept" in caplog.text
    world.clock.advance(EVERY)
    run(one.round())
    assert not lives(world, late)


def test_a_cluster_without_a_job_in_the_records_is_not_even_opened(world: World) -> None:
    run(
        Supervisor(
            world.process.ledger, world.process.clusters, "test", sweeps=("c", "never opened")
        ).round()
    )
