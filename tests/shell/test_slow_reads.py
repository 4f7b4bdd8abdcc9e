"""A read takes its time: what it shows was true when it was answered, which may be long after it was sent.

``sent`` is the earliest moment of a read. A window that must have passed *since* something was seen does not begin then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.model.journal import Ceased, Ended, Entry, Intended
from dispatch.model.policy import Backoff, Policy
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


class SlowRead:
    """A world in which something befalls the job, once, after a read of it was sent and before that is answered."""

    def __init__(self, world: World, policy: Policy | None, befalls: str) -> None:
        self.world = world
        self.job = ""
        self.moment: datetime | None = None
        """When it befell the job."""
        self.waits = False
        read = self

        class Slow(MemoryBackend):
            async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
                sent = world.clock.now()
                if read.waits and read.moment is None:
                    world.clock.advance(SLOW)
                    getattr(world.env, befalls)(read.job)
                    read.moment = world.clock.now()
                return replace(await super().find_many(jobs, known), sent=sent)

        world.behave(Slow)
        self.job = world.submit(policy)
        world.until(self.job, opened)
        world.env.run(self.job)
        world.advance(self.job)
        self.waits = True

    def since(self, moment: datetime) -> timedelta:
        """How long after it that moment is."""
        assert self.moment is not None
        return moment - self.moment


def test_the_save_window_begins_when_the_end_was_read(world: World) -> None:
    """The program ends after the read was sent, and before it is answered."""
    slow = SlowRead(world, None, "finish")
    world.until(slow.job, ended)
    waited = slow.since(written(world, slow.job, Ended))
    assert waited >= world.backend.declarations.save_window


def test_a_backoff_begins_when_the_end_was_read(world: World) -> None:
    """It is never cut short by the time that the read has taken (12, B1)."""
    hour = Backoff(initial=Duration(hours=1), max=Duration(hours=1), jitter=0)
    policy = replace(RESUBMIT, rules=(replace(RESUBMIT.rules[0], backoff=hour),))
    slow = SlowRead(world, policy, "preempt")
    world.until(slow.job, submission(2))
    started = [entry.at for entry in world.history(slow.job) if isinstance(entry.event, Intended)]
    assert slow.since(started[2]) >= hour.initial
