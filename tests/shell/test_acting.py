"""The one writer: what each answer of an adapter means for the record."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.core.deciding import next_step
from dispatch.model.errors import (
    Busy,
    Conflict,
    DispatchError,
    Expired,
    Finished,
    Invalid,
    NotFound,
    OutcomeUnknown,
    ReadOnly,
    Rejected,
    Unavailable,
    Unsupported,
)
from dispatch.model.journal import Intended, Intent, Outcome, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Call
from dispatch.shell.engine import Engine
from dispatch.shell.intents import outcome_of
from dispatch.spi.adapter import CallMeta, StartOrder
from shell.world import World, opened, run

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def intent(verb: Verb) -> Intent:
    return Intent(id="i", verb=verb, submission=1, deadline=NOW, boot="b")


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Expired, Outcome.NOT_LANDED),
        (Busy, Outcome.BUSY),
        (Unavailable, Outcome.NOT_LANDED),
        (ReadOnly, Outcome.NOT_LANDED),
        (Finished, Outcome.NOT_LANDED),
        (NotFound, Outcome.NOT_LANDED),
        (Conflict, Outcome.NOT_LANDED),
        (OutcomeUnknown, None),
        (DispatchError, None),
    ],
)
def test_an_error_is_read_by_what_can_be_concluded_from_it(
    verb: Verb, error: type[DispatchError], outcome: Outcome | None
) -> None:
    settled = outcome_of(intent(verb), error("words of the scheduler"), NOW)
    assert (settled.outcome if settled else None) is outcome
    if settled is not None:
        assert settled.reason == "words of the scheduler"
        # What was refused is never tried again at once: that would be a hot loop.
        assert settled.retry_at is not None
        assert settled.retry_at > NOW


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize("error", [Rejected, Invalid, Unsupported])
def test_only_a_start_that_is_refused_for_good_ends_the_job(
    verb: Verb, error: type[DispatchError]
) -> None:
    settled = outcome_of(intent(verb), error("no"), NOW)
    assert settled is not None
    assert settled.outcome is (Outcome.REJECTED if verb is Verb.START else Outcome.NOT_LANDED)


def test_the_intent_is_in_the_record_before_the_call_is_made(world: World) -> None:
    job = world.submit()
    seen: list[type[Any]] = []

    class Watching(MemoryBackend):
        async def start(self, order: StartOrder, meta: CallMeta) -> str:
            seen.extend(type(event) for event in world.events(job))
            return await super().start(order, meta)

    world.behave(Watching)
    world.turn(job)
    assert seen[-1] is Intended


def test_a_deadline_is_on_the_clock_of_the_host_where_commands_run(world: World) -> None:
    job = world.submit()
    world.turn(job)
    (intended,) = world.events(job, Intended)
    assert isinstance(intended, Intended)
    window = world.backend.declarations.call_window
    assert intended.intent.deadline == world.clock.now() + window


def test_a_call_whose_deadline_has_passed_is_not_made(world: World) -> None:
    """As of a process that was paused between its intent and its call."""
    job = world.submit()
    writer = run(_engine(world)).writer
    append = writer.ledger.append

    def slow(*arguments: Any) -> Any:
        after = append(*arguments)
        world.clock.advance(timedelta(minutes=5))
        return after

    writer.ledger.append = slow  # type: ignore[method-assign,assignment]
    world.turn(job)
    writer.ledger.append = append  # type: ignore[method-assign]
    assert world.env.truths(job) == ()
    settled = world.events(job, Settled)
    assert isinstance(settled[0], Settled)
    assert settled[0].outcome is Outcome.NOT_LANDED


def test_a_call_that_never_answers_leaves_its_intent_open_and_is_settled_by_reading(
    world: World,
) -> None:
    job = world.submit()

    class Hanging(MemoryBackend):
        async def start(self, order: StartOrder, meta: CallMeta) -> str:
            await super().start(order, meta)
            raise TimeoutError

    world.behave(Hanging)
    world.turn(job)
    assert world.view(job).intents
    world.behave(MemoryBackend)
    world.until(job, opened)
    assert len(world.env.truths(job)) == 1


def test_an_unforeseen_fault_of_an_adapter_counts_as_an_unknown_outcome(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    job = world.submit()

    class Broken(MemoryBackend):
        async def start(self, order: StartOrder, meta: CallMeta) -> str:
            raise KeyError(order.id, meta.deadline)  # a bug

    world.behave(Broken)
    world.turn(job)
    assert world.view(job).intents
    assert "read back" in caplog.text
    world.behave(MemoryBackend)
    world.until(job, opened)


async def _engine(world: World) -> Engine:
    return await world.process.clusters.named("c").engine()


def test_calls_wait_for_a_slot_before_their_intent_is_written(world: World) -> None:
    """An intent that waits in a queue would expire there, for ever under load (12, O7)."""
    job = world.submit()

    async def contended() -> list[type[Any]]:
        engine = await _engine(world)
        view, writer = world.view(job), engine.writer
        writer.slots = asyncio.Semaphore(0)
        reading = await engine.backend.find(job)
        listing = Listing(version=view.version, requested=NOW, sent=reading.sent, boot=reading.boot)
        step = next_step(view, listing, world.clock.now())
        assert isinstance(step, Call)
        making = asyncio.ensure_future(writer.make(view, step, listing))
        await asyncio.sleep(0)
        waiting = [type(event) for event in world.events(job)]
        writer.slots.release()
        await making
        return waiting

    assert Intended not in run(contended())
    assert Intended in [type(event) for event in world.events(job)]
