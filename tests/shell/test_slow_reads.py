"""A read takes its time: what it shows was true when it was answered, which may be long after it was sent.

``sent`` is the earliest moment of a read. A window that must have passed *since* something was seen does not begin then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.model.journal import Ceased, Ended, Entry, Intended
from dispatch.model.policy import Backoff
from dispatch.model.quantity import Duration
from dispatch.model.status import NodeReport
from dispatch.spi.adapter import Reading
from shell.world import RESUBMIT, World, ended, opened, submission

SLOW = timedelta(seconds=20)
"""Within the call bound; a controller under load is as slow."""


def written(world: World, job: str, kind: type) -> datetime:
    """When the first event of that kind was written."""
    found: Sequence[Entry] = [one for one in world.history(job) if isinstance(one.event, kind)]
    return found[0].at


def test_the_kill_wait_begins_when_the_nodes_were_read(world: World) -> None:
    """The node registers after the queue was read, and before the nodes are."""
    registered: list[datetime] = []

    class Slow(MemoryBackend):
        async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
            if waits and not registered:
                world.clock.advance(SLOW)
                world.env.return_node("n1")
                registered.append(world.clock.now())
            return await super().nodes(names, ref)

    waits = False
    world.behave(Slow)
    job = world.submit(RESUBMIT)
    world.until(job, opened)
    world.env.run(job, nodes=("n1",))
    world.advance(job)
    world.env.lose_node("n1")
    world.until(job, lambda view: bool(view.current and view.current.awaiting))
    waits = True
    world.until(job, lambda _: bool(world.events(job, Ceased)))
    waited = written(world, job, Ceased) - registered[0]
    assert waited >= world.backend.declarations.kill_wait


def test_the_save_window_begins_when_the_end_was_read(world: World) -> None:
    """The program ends after the read was sent, and before it is answered."""
    over: list[datetime] = []

    class Slow(MemoryBackend):
        async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
            sent = world.clock.now()
            if waits and not over:
                world.clock.advance(SLOW)
                world.env.finish(job)
                over.append(world.clock.now())
            return replace(await super().find_many(jobs, known), sent=sent)

    waits = False
    world.behave(Slow)
    job = world.submit()
    world.until(job, opened)
    world.env.run(job)
    world.advance(job)
    waits = True
    world.until(job, ended)
    assert written(world, job, Ended) - over[0] >= world.backend.declarations.save_window


def test_a_backoff_begins_when_the_end_was_read(world: World) -> None:
    """It is never cut short by the time that the read has taken (12, B1)."""
    over: list[datetime] = []

    class Slow(MemoryBackend):
        async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
            sent = world.clock.now()
            if waits and not over:
                world.clock.advance(SLOW)
                world.env.preempt(job)
                over.append(world.clock.now())
            return replace(await super().find_many(jobs, known), sent=sent)

    waits = False
    world.behave(Slow)
    hour = Backoff(initial=Duration(hours=1), max=Duration(hours=1), jitter=0)
    job = world.submit(replace(RESUBMIT, rules=(replace(RESUBMIT.rules[0], backoff=hour),)))
    world.until(job, opened)
    world.env.run(job)
    world.advance(job)
    waits = True
    world.until(job, submission(2))
    started = [entry.at for entry in world.history(job) if isinstance(entry.event, Intended)]
    assert started[2] - over[0] >= hour.initial
