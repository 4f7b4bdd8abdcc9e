"""Calls that are made together: each job's record says the same as if it had been called for alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.model.errors import (
    Busy,
    DispatchError,
    OutcomeUnknown,
    Rejected,
    StoreError,
    Unavailable,
)
from dispatch.model.journal import Intended, Outcome, Settled, Verb
from dispatch.shell.batch import MOST_TOGETHER
from dispatch.spi.adapter import CallMeta, MultiWriter, StartOrder
from dispatch.spi.store import Added, Addition
from shell.world import World, opened, run


def several(world: World, count: int) -> list[str]:
    return [world.submit() for _ in range(count)]


def turn(world: World, jobs: list[str]) -> None:
    async def act() -> None:
        engine = await world.process.clusters.named("c").engine()
        await engine.advance(jobs, turns=1)

    run(act())


def settled(world: World, job: str) -> list[Outcome]:
    return [event.outcome for event in world.events(job, Settled) if isinstance(event, Settled)]


def test_starts_and_opens_go_together_in_chunks_and_every_intent_comes_first(world: World) -> None:
    jobs = several(world, MOST_TOGETHER + 11)
    calls: list[tuple[str, int]] = []

    class Watching(MemoryBackend):
        async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Any:
            calls.append(("start", len(orders)))
            assert all(world.events(order.id, Intended) for order in orders)
            return await super().start_many(orders, meta)

        async def open_many(self, refs: Sequence[str], meta: CallMeta) -> Any:
            calls.append(("open", len(refs)))
            return await super().open_many(refs, meta)

    world.behave(Watching)
    world.advance(*jobs)
    assert sorted(calls) == [("open", 30), ("open", 31), ("start", 30), ("start", 31)]
    assert all(world.verbs(job) == [Verb.START, Verb.OPEN] for job in jobs)
    assert all(len(world.env.truths(job)) == 1 for job in jobs)


@pytest.mark.parametrize("error", [Rejected("no"), OutcomeUnknown("lost")])
def test_a_fault_of_one_leaves_the_others_alone(world: World, error: DispatchError) -> None:
    jobs = several(world, 3)

    class Faulty(MemoryBackend):
        async def start(self, order: StartOrder, meta: CallMeta) -> str:
            ref = await super().start(order, meta)
            if order.id == jobs[1]:
                raise error
            return ref

    world.behave(Faulty)
    turn(world, jobs)
    for job in (jobs[0], jobs[2]):
        assert settled(world, job) == [Outcome.LANDED]
    unknown = isinstance(error, OutcomeUnknown)
    assert settled(world, jobs[1]) == ([] if unknown else [Outcome.REJECTED])
    assert bool(world.view(jobs[1]).intents) is unknown


@pytest.mark.parametrize("error", [OutcomeUnknown("lost"), TimeoutError(), KeyError("a bug")])
def test_a_call_of_which_nothing_is_heard_leaves_all_intents_open_and_is_read_back(
    world: World, error: Exception
) -> None:
    jobs = several(world, 3)

    class Unheard(MemoryBackend):
        async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Any:
            await super().start_many(orders, meta)
            raise error

    world.behave(Unheard)
    turn(world, jobs)
    assert all(world.view(job).intents for job in jobs)
    world.behave(MemoryBackend)
    for job in jobs:
        world.until(job, opened)
        assert len(world.env.truths(job)) == 1


def test_a_job_whose_intent_another_writer_has_drops_out(world: World) -> None:
    jobs = several(world, 3)
    rival = world.another("host2")
    ledger = world.process.ledger
    append_all = ledger.append_all

    def beaten(changes: Any) -> Any:
        if isinstance(changes[0][1][0], Intended):
            rival.operator.ask_stop(jobs[0])
        return append_all(changes)

    ledger.append_all = beaten  # type: ignore[method-assign]
    turn(world, jobs)
    assert [len(world.env.truths(job)) for job in jobs] == [0, 1, 1]


def test_a_chunk_whose_deadline_has_passed_calls_nothing(world: World) -> None:
    jobs = several(world, 3)
    called: list[int] = []

    class Watching(MemoryBackend):
        async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Any:
            called.append(len(orders))
            return await super().start_many(orders, meta)

    world.behave(Watching)
    ledger = world.process.ledger
    append_all = ledger.append_all

    def slow(changes: Any) -> Any:
        after = append_all(changes)
        world.clock.advance(timedelta(minutes=5))
        return after

    ledger.append_all = slow  # type: ignore[method-assign]
    turn(world, jobs)
    assert called == []
    assert [settled(world, job) for job in jobs] == [[Outcome.NOT_LANDED]] * 3
    assert not any(world.env.truths(job) for job in jobs)


def test_what_is_refused_for_now_as_a_whole_is_refused_for_each(world: World) -> None:
    jobs = several(world, 3)

    class Full(MemoryBackend):
        async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Any:  # noqa: ARG002
            raise Busy("The queue is full.")

    world.behave(Full)
    turn(world, jobs)
    assert [settled(world, job) for job in jobs] == [[Outcome.BUSY]] * 3


def test_a_call_that_does_not_answer_for_each_is_read_back(world: World) -> None:
    jobs = several(world, 3)

    class Short(MemoryBackend):
        async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Any:
            return (await super().start_many(orders, meta))[1:]

    world.behave(Short)
    turn(world, jobs)
    assert all(world.view(job).intents for job in jobs)


async def loop_turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_many_calls_take_their_slot_before_any_intent_is_written(world: World) -> None:
    """Otherwise intents expire while they queue for a slot, for ever under load (12, O7)."""
    jobs = several(world, 3)

    async def act() -> None:
        engine = await world.process.clusters.named("c").engine()
        slots = engine.writer.slots = asyncio.Semaphore(1)
        async with slots:  # another call is under way
            advancing = asyncio.ensure_future(engine.advance(jobs, turns=1))
            await loop_turns()
            assert not any(world.events(job, Intended) for job in jobs)
            world.clock.advance(timedelta(minutes=5))
        await advancing

    run(act())
    assert [settled(world, job) for job in jobs] == [[Outcome.LANDED]] * 3


def test_many_calls_keep_their_slot_until_every_outcome_is_written(world: World) -> None:
    jobs = several(world, 3)
    free: list[bool] = []

    async def act() -> None:
        engine = await world.process.clusters.named("c").engine()
        slots = engine.writer.slots = asyncio.Semaphore(1)
        append_all = world.process.ledger.append_all

        def watched(changes: Any) -> Any:
            if any(
                isinstance(event, Intended | Settled) for _, events in changes for event in events
            ):
                free.append(not slots.locked())
            return append_all(changes)

        world.process.ledger.append_all = watched  # type: ignore[method-assign]
        await engine.advance(jobs, turns=1)

    run(act())
    assert free == [False, False]


def test_what_a_round_writes_of_many_jobs_is_a_transaction_for_each_step(world: World) -> None:
    jobs = several(world, 8)
    world.advance(*jobs)
    for job in jobs:
        world.env.run(job)
    appended: list[int] = []
    append_all = world.store.append_all

    def counted(additions: Sequence[Addition]) -> tuple[Added, ...]:
        appended.append(len(additions))
        return append_all(additions)

    world.store.append_all = counted  # type: ignore[method-assign]
    before = [world.view(job).version for job in jobs]
    world.advance(*jobs)
    assert all(world.view(job).version > version for job, version in zip(jobs, before, strict=True))
    assert set(appended) == {8}


def test_of_many_outcomes_one_that_another_writer_was_faster_with_is_written_all_the_same(
    world: World,
) -> None:
    jobs = several(world, 3)
    rival = world.another("host2")

    class Asked(MemoryBackend):
        async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Any:
            made = await super().start_many(orders, meta)
            rival.operator.ask_hold(jobs[1])
            return made

    world.behave(Asked)
    turn(world, jobs)
    assert [settled(world, job) for job in jobs] == [[Outcome.LANDED]] * 3
    assert world.view(jobs[1]).hold is not None


def test_records_that_cannot_be_written_fault_each_job_and_call_nothing(world: World) -> None:
    jobs = several(world, 3)

    def full(additions: Sequence[Addition]) -> tuple[Added, ...]:
        raise StoreError(f"the disk is full: {len(additions)} appends")

    append_all = world.store.append_all
    world.store.append_all = full  # type: ignore[method-assign]
    turn(world, jobs)
    assert not any(world.env.truths(job) for job in jobs)
    world.store.append_all = append_all  # type: ignore[method-assign]
    turn(world, jobs)
    assert all(len(world.env.truths(job)) == 1 for job in jobs)


class Moody(MemoryBackend):
    """A cluster that refuses, loses the reply of, or has no room for some jobs, by their names."""

    deaf: ClassVar[set[str]] = set()

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        match order.job.name:
            case "refused":
                raise Rejected("no")
            case "crowded":
                raise Busy("later")
            case "undelivered":
                raise Unavailable("away")
            case "lost":
                await super().start(order, meta)
                raise OutcomeUnknown("lost")
            case "deaf":
                ref = await super().start(order, meta)
                self.deaf.add(ref)
                return ref
            case _:
                return await super().start(order, meta)

    async def open(self, ref: str, meta: CallMeta) -> None:
        await super().open(ref, meta)
        if ref in self.deaf:
            raise OutcomeUnknown("lost")


class Alone(Moody):
    """The same, of which each write is a call of its own: it offers no calls for many."""

    start_many = open_many = None  # type: ignore[assignment]


MOODS = ("fine", "fine", "fine", "refused", "crowded", "undelivered", "lost", "deaf")


def story(world: World, job: str) -> list[object]:
    """What was written of a job, but for tokens and times; and how many objects it has."""
    told: list[object] = [len(world.env.truths(job)), world.view(job).verdict]
    for event in world.events(job):
        match event:
            case Intended(intent=intent):
                told.append((intent.verb, intent.submission))
            case Settled(outcome=outcome, reason=reason):
                told.append((outcome, reason))
            case other:
                told.append(type(other))
    return told


@pytest.mark.parametrize("number", range(6))
def test_many_together_end_up_as_one_after_the_other(
    tmp_path: Path, number: int, seed: int
) -> None:
    names = Random(seed * 100 + number).choices(MOODS, k=12)
    told: list[list[list[object]]] = []
    for kind in (Moody, Alone):
        (tmp_path / kind.__name__).mkdir()
        world = World(tmp_path / kind.__name__)
        world.behave(kind)
        assert isinstance(world.process.backend, MultiWriter) is (kind is Moody)
        jobs = [world.submit(name=name) for name in names]
        for _ in range(5):
            world.advance(*jobs)
            world.clock.advance(timedelta(seconds=40))
        told.append([story(world, job) for job in jobs])
    assert told[0] == told[1]
