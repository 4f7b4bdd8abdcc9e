"""The shipped faults: what a dead process can no longer do, and what a wrapped backend still offers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from crash.exploring import Plan, Telling
from crash.site import Process, Records
from crash.stories import BY_NAME
from dispatch.adapters.memory import MemoryBackend
from dispatch.adapters.slurm.adapter import SlurmBackend
from dispatch.model.errors import OutcomeUnknown
from dispatch.model.holds import base_of
from dispatch.model.journal import Entry, Intended, Outcome, Settled
from dispatch.model.status import State
from dispatch.spi import adapter
from dispatch.spi.adapter import CallMeta, StartOrder
from dispatch.spi.store import Query, Store, Turn
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.clock import ManualClock
from dispatch.testing.faults import (
    Crash,
    Die,
    Fault,
    FaultyBackend,
    FaultyStore,
    LoseReply,
    Pause,
    Points,
)
from stores.samples import NOW, header, job_id, summary

OPTIONAL: list[Any] = [
    found for found in vars(adapter).values() if getattr(found, "_is_runtime_protocol", False)
]


@pytest.mark.parametrize("kind", [MemoryBackend, SlurmBackend, FaultyBackend])
def test_a_wrapped_backend_offers_what_the_backend_within_offers(kind: Any) -> None:
    backend = object.__new__(kind)  # what it offers is its class's, so it need not be made
    wrapped = FaultyBackend(backend, Points())
    assert len(OPTIONAL) >= 5
    for protocol in OPTIONAL:
        assert isinstance(wrapped, protocol) == isinstance(backend, protocol), protocol
    assert isinstance(wrapped, FaultyBackend)


def test_the_protocols_differ_so_that_the_comparison_says_something() -> None:
    slurm, memory = object.__new__(SlurmBackend), object.__new__(MemoryBackend)
    bare = object.__new__(FaultyBackend)
    for protocol in OPTIONAL:
        assert isinstance(slurm, protocol) or isinstance(memory, protocol), protocol
    assert not any(isinstance(bare, protocol) for protocol in OPTIONAL)


@pytest.fixture
def store(records: Records) -> SqliteStore:
    return records.store


@pytest.mark.parametrize(("point", "kept"), [(0, 0), (1, 1)])
def test_a_process_that_dies_before_a_write_has_not_made_it(
    store: SqliteStore, point: int, kept: int
) -> None:
    points = Points({point: Die()})
    with pytest.raises(Crash):
        FaultyStore(store, points).create(header(job_id(1)), summary(job_id(1)))
    assert len(store.list(Query())) == kept
    assert points.passed == ["create, before", "create, after"][: point + 1]


METHODS: dict[str, Callable[[Store], object]] = {
    "create": lambda store: store.create(header(job_id(2)), summary(job_id(2))),
    "append": lambda store: store.append(job_id(1), 1, [], summary(job_id(1))),
    "load": lambda store: store.load(job_id(1)),
    "summary": lambda store: store.summary(job_id(1)),
    "resolve": lambda store: store.resolve("train"),
    "list": lambda store: store.list(Query()),
    "due": lambda store: store.due(NOW, 1),
    "reschedule": lambda store: store.reschedule(job_id(1), None),
    "reschedule_all": lambda store: store.reschedule_all([Turn(job=job_id(1), due=None)]),
    "versions": lambda store: store.versions([job_id(1)]),
    "claim": lambda store: store.claim([job_id(1)], "me", NOW, NOW),
    "unclaim": lambda store: store.unclaim("me"),
    "unbeat": lambda store: store.unbeat("me"),
    "heartbeats": lambda store: store.heartbeats(NOW),
    "close": lambda store: store.close(),
}


@pytest.mark.parametrize("method", METHODS)
def test_no_method_of_a_dead_processs_store_does_anything(store: SqliteStore, method: str) -> None:
    store.create(header(job_id(1)), summary(job_id(1)))
    before = store.list(Query())
    with pytest.raises(Crash):
        METHODS[method](FaultyStore(store, Points(dead=True)))
    assert store.list(Query()) == before


def gated(number: int) -> StartOrder:
    """An order for a first object."""
    job = header(job_id(number)).event
    return StartOrder(
        id=job_id(number),
        job=job.job,  # type: ignore[union-attr]
        spec_hash="",
        store="s",
        submission=1,
        attempt="a",
        base=base_of(NOW),
    )


def cluster() -> MemoryBackend:
    return MemoryBackend.create(clock=ManualClock(NOW))


META = CallMeta(deadline=NOW + timedelta(seconds=30))


@pytest.mark.parametrize(("point", "made"), [(0, 0), (1, 1), (2, 1)])
def test_a_process_that_dies_during_a_call_has_made_it(point: int, made: int) -> None:
    backend = cluster()
    wrapped = FaultyBackend(backend, Points({point: Die()}))
    with pytest.raises(Crash):
        asyncio.run(wrapped.start(gated(1), META))
    assert len(backend.env.truths()) == made


CALLS: dict[str, Callable[[Any], Awaitable[object]]] = {
    "start": lambda backend: backend.start(gated(2), META),
    "open": lambda backend: backend.open("r", META),
    "stop": lambda backend: backend.stop("r", META),
    "hold": lambda backend: backend.hold("r", META),
    "release": lambda backend: backend.release("r", 1, META),
    "find": lambda backend: backend.find(job_id(1)),
    "find_many": lambda backend: backend.find_many([job_id(1)]),
    "start_many": lambda backend: backend.start_many([gated(2)], META),
    "open_many": lambda backend: backend.open_many(["r"], META),
    "requeue": lambda backend: backend.requeue("r", META),
    "restore_requeue_bit": lambda backend: backend.restore_requeue_bit("r", META),
    "watch": lambda backend: backend.watch(),
    "weakness": lambda backend: backend.weakness("r"),
    "list_living": lambda backend: backend.list_living(),
    "inspect": lambda backend: backend.inspect("r"),
    "nodes": lambda backend: backend.nodes((), "r"),
    "close": lambda backend: backend.close(),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_call_of_a_dead_process_leaves_it(call: str) -> None:
    backend = cluster()

    async def make() -> None:
        await CALLS[call](FaultyBackend(backend, Points(dead=True)))

    with pytest.raises(Crash):
        asyncio.run(make())
    assert backend.env.truths() == ()


def test_a_lost_reply_is_an_unknown_outcome_of_a_call_that_has_landed() -> None:
    backend = cluster()
    with pytest.raises(OutcomeUnknown):
        asyncio.run(FaultyBackend(backend, Points({1: LoseReply()})).start(gated(1), META))
    assert len(backend.env.truths()) == 1
    with pytest.raises(ValueError, match="no call is under way"):
        asyncio.run(FaultyBackend(backend, Points({0: LoseReply()})).start(gated(2), META))


def test_a_fault_by_name_happens_the_first_time() -> None:
    seen: list[int] = []
    points = Points(named={"x": Pause(lambda: seen.append(len(points.passed)))})
    for name in ("y", "x", "x"):
        points.reach(name)
    assert seen == [2]


def test_a_crash_is_no_exception_that_a_handler_could_take_for_an_error() -> None:
    points = Points({0: Die()})
    told: list[str] = []
    with points.life():
        try:
            points.reach("somewhere")
        except Exception:  # noqa: BLE001 - the very thing that must not catch it
            told.append("handled")
    assert points.dead
    assert told == []
    with pytest.raises(KeyError), Points().life():
        raise KeyError


def told(records: Records, story: str, point: str, fault: Callable[[Telling], Fault]) -> Telling:
    """Tell a story with a fault at the last point of that name."""
    telling = Telling(BY_NAME[story], records, Plan("none"), Process)
    telling.tell()
    names = telling.lives[0].passed
    number = len(names) - 1 - names[::-1].index(point)
    telling = Telling(BY_NAME[story], records, Plan(point, (number, fault)), Process)
    telling.tell()
    return telling


def outslept(rounds: int) -> Callable[[Telling], Fault]:
    """Another process goes on for so many rounds while this one sleeps past its deadline."""

    def fault(telling: Telling) -> Fault:
        def meanwhile() -> None:
            telling.site.clock.advance(timedelta(seconds=31))
            telling.site.elsewhere(lambda: telling.live({}, rounds))

        return Pause(meanwhile)

    return fault


def writes(telling: Telling) -> list[Entry]:
    """The intents and outcomes in the record."""
    history = telling.site.history(telling.tale.job)
    return [entry for entry in history if isinstance(entry.event, Intended | Settled)]


def test_a_call_that_was_slept_over_expires_where_its_command_runs(records: Records) -> None:
    telling = told(records, "preempted, resubmitted, success", "call start, before", outslept(4))
    assert telling.failure() is None
    late = [
        entry.event
        for entry in writes(telling)
        if entry.actor.host == "host1"
        and isinstance(entry.event, Settled)
        and entry.event.outcome is Outcome.NOT_LANDED
    ]
    assert "after its deadline" in str(late[0])
    assert len(telling.site.env.truths()) == 2  # one object a submission: the late start made none


def test_an_outcome_that_was_slept_over_is_recorded_late(records: Records) -> None:
    telling = told(records, "preempted, resubmitted, success", "call open, after", outslept(1))
    assert telling.failure() is None
    of = {
        entry.event.intent: [
            other.actor.host
            for other in writes(telling)
            if isinstance(other.event, Settled) and other.event.intent == entry.event.intent
        ]
        for entry in writes(telling)
        if isinstance(entry.event, Settled)
    }
    assert ["host2", "host1"] in of.values()
    verdict = telling.tale.view.verdict
    assert verdict is not None
    assert verdict.state is State.SUCCEEDED
