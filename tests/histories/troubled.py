"""Lives with lost nodes, lost replies, late calls, controllers that forget, and records that were set back."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.model.answers import Declarations
from dispatch.model.errors import Busy, Rejected
from dispatch.model.journal import Adopted, Forgot, Outcome, Settled, Verb
from dispatch.model.policy import (
    Cessation,
    Policy,
)
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import Reading
from dispatch.stores.sqlite import SqliteStore
from histories.ordinary import Life, finished, running
from shell.world import RESUBMIT, World, ended, opened


def lost_node(world: World) -> str:
    """A node is lost, comes back, and proves that the first copy is gone."""
    job = world.submit(RESUBMIT, nodes=2)
    world.until(job, opened)
    world.env.run(job, nodes=("n1", "n2"))
    world.advance(job)
    world.env.lose_node("n2")
    world.until(job, lambda view: bool(view.current and view.current.awaiting))
    world.env.return_node("n2")
    running(world, job, 2)
    return finished(world, job)


def lost_node_and_a_declared_wait(world: World) -> str:
    """A node is lost for good; the policy accepts a wait in place of proof."""
    job = world.submit(Policy(rules=RESUBMIT.rules, cessation=Cessation(after="30m")))
    world.until(job, opened)
    world.env.run(job, nodes=("n1",))
    world.env.lose_node("n1")
    running(world, job, 2)
    return finished(world, job)


def lost_node_and_a_release(world: World) -> str:
    """A node is lost for good; the job is held for want of proof, and a person says that the copy is gone."""
    job = world.submit(
        Policy(rules=RESUBMIT.rules, cessation=Cessation(hold_after=Duration(hours=1)))
    )
    world.until(job, opened)
    world.env.run(job, nodes=("n1",))
    world.env.lose_node("n1")
    world.until(job, lambda view: view.hold is not None)
    world.process.operator.ask_release(job)
    running(world, job, 2)
    return finished(world, job)


def late_success(world: World) -> str:
    """A copy that was given up succeeds while the proof that it is gone is awaited."""
    job = world.submit(RESUBMIT)
    world.until(job, opened)
    world.env.run(job, nodes=("n1",))
    world.env.lose_node("n1")
    world.until(job, lambda view: bool(view.current and view.current.awaiting))
    return finished(world, job)


def reply_lost(world: World) -> str:
    """The replies of its start and its open are lost, and read back."""
    job = world.submit()
    world.env.drop_next_reply()
    world.turn(job)
    world.env.drop_next_reply()
    running(world, job)
    return finished(world, job)


def start_not_landed(world: World) -> str:
    """Its start lands long after every bound: it is started again, and the late one is swept."""
    job = world.submit()
    world.env.delay_next_call(timedelta(minutes=30))
    running(world, job)
    world.clock.advance(timedelta(minutes=40))
    world.advance(job)
    world.advance(job)
    return finished(world, job)


def open_not_landed_and_learnt_late(world: World) -> str:
    """Two reads settle an open as not landed; the process that made it learns that it landed (12, R4)."""
    job = world.submit()
    world.turn(job)
    world.env.delay_next_call(timedelta(minutes=30))
    world.turn(job)
    (made,) = world.view(job).intents
    world.until(job, lambda view: not view.intents)
    landed = Settled(intent=made.intent.id, outcome=Outcome.LANDED, ref=made.intent.ref)
    assert world.process.ledger.append(world.view(job), (landed,)) is not None
    world.clock.advance(timedelta(minutes=30))
    running(world, job)
    return finished(world, job)


def open_under_another_boot(world: World) -> str:
    """The outcome of its open is not known, and the controller has restarted: it may have run (12, O2)."""
    job = world.submit()
    world.turn(job)
    world.clock.advance(timedelta(minutes=1))
    world.env.delay_next_call(timedelta(minutes=30))
    world.turn(job)
    world.env.crash()
    world.env.reboot()
    running(world, job, 2)
    return finished(world, job)


def busy_and_rejected(world: World) -> str:
    """It is refused for now, and then for good."""
    job = world.submit()
    world.env.refuse_next(Busy("QOSMaxSubmitJobPerUserLimit"))
    world.advance(job)
    world.env.refuse_next(Rejected("Invalid partition name specified"))
    world.until(job, ended)
    return job


def start_forgotten(world: World) -> str:
    """The controller forgets the gated object: it is started again under the same number (12, O6)."""
    job = world.submit()
    world.turn(job)
    world.env.crash(timedelta(seconds=1))
    world.env.reboot()
    world.until(job, lambda _: bool(world.events(job, Forgot)))
    running(world, job)
    return finished(world, job)


def open_forgotten(world: World) -> str:
    """The controller forgets its open: the object is stopped, and the job goes on as the next (12, O3)."""
    job = world.submit()
    world.turn(job)
    world.clock.advance(timedelta(minutes=1))
    world.until(job, opened)
    world.env.crash(timedelta(seconds=1))
    world.env.reboot()
    running(world, job, 2)
    return finished(world, job)


def execution_forgotten(world: World) -> str:
    """The controller forgets that it runs (12, O3)."""
    job = world.submit()
    world.turn(job)
    world.clock.advance(timedelta(minutes=1))
    running(world, job)
    world.env.crash(timedelta(seconds=1), partly=True)
    world.env.reboot()
    running(world, job, 2)
    return finished(world, job)


def vanished(world: World) -> str:
    """Its controller purges it while nobody looks: nobody knows what became of it."""
    job = world.submit()
    running(world, job)
    world.env.finish(job, 1)
    world.env.purge_now(job)
    world.until(job, ended)
    return job


def adopted(world: World) -> str:
    """The record is set back while the job runs: its object is found and adopted (12, O1)."""
    job = world.submit()
    old = world.place.with_name("old.db")
    world.store.backup(old)
    running(world, job)
    world.store.close()
    for stale in world.place.parent.glob(f"{world.place.name}*"):
        stale.unlink()
    shutil.copy(old, world.place)
    world.store = SqliteStore.open(world.place, now=world.clock.now())
    world.process = world.another("host2")
    world.until(job, lambda _: bool(world.events(job, Adopted)))
    return finished(world, job)


def bounds_grew(world: World) -> str:
    """Its cluster declares wider bounds while it runs (12, T5)."""
    job = world.submit()
    running(world, job)
    wide = Declarations(call_bound=Duration(seconds=60), clock_skew=Duration(seconds=5))
    backend = world.process.backend
    backend._declarations = backend.declarations.widened(wide)
    return finished(world, job)


def slow_read(world: World) -> str:
    """Its node comes back, and its end is read, while a controller under load takes twenty seconds to answer."""
    slow = timedelta(seconds=20)

    class Slow(MemoryBackend):
        async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
            sent = world.clock.now()
            world.clock.advance(slow)
            return replace(await super().find_many(jobs, known), sent=sent)

    world.behave(Slow)
    job = world.submit(RESUBMIT)
    world.until(job, opened)
    world.env.run(job, nodes=("n1",))
    world.env.lose_node("n1")
    world.until(job, lambda view: bool(view.current and view.current.awaiting))
    world.env.return_node("n1")
    running(world, job, 2)
    return finished(world, job)


def unfinished(world: World) -> str:
    """It is left in the middle: a start and a stop are intended, and nobody knows yet what became of them."""
    job = world.submit()
    world.turn(job)
    world.env.delay_next_call(timedelta(minutes=1))
    world.turn(job)
    world.process.operator.ask_stop(job)
    world.env.delay_next_call(timedelta(minutes=1))
    world.turn(job)
    verbs = [known.intent.verb for known in world.view(job).intents]
    assert verbs == [Verb.OPEN, Verb.STOP]
    return job


TROUBLED: tuple[Life, ...] = (
    lost_node,
    lost_node_and_a_declared_wait,
    lost_node_and_a_release,
    late_success,
    reply_lost,
    start_not_landed,
    open_not_landed_and_learnt_late,
    open_under_another_boot,
    busy_and_rejected,
    start_forgotten,
    open_forgotten,
    execution_forgotten,
    vanished,
    adopted,
    bounds_grew,
    slow_read,
    unfinished,
)
