"""Calls that are made together: each job's record says the same as if it had been called for alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.model.errors import Busy, DispatchError, OutcomeUnknown, Rejected
from dispatch.model.journal import Intended, Outcome, Settled, Verb
from dispatch.shell.batch import MOST_TOGETHER
from dispatch.spi.adapter import CallMeta, StartOrder
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
