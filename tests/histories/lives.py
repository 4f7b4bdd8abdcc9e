"""Typical lives of a job on the memory scheduler, each told once to be recorded; see ``recipe``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta

from dispatch.model.answers import Action, Declarations
from dispatch.model.errors import Busy, Rejected
from dispatch.model.job import Job, Launcher
from dispatch.model.journal import Adopted, Forgot, Outcome, Settled, Verb
from dispatch.model.policy import (
    Backoff,
    Budget,
    Cessation,
    Changes,
    CrashLoop,
    ExcludeNodes,
    Limits,
    Policy,
    Raise,
    Raises,
    Rule,
    Trigger,
)
from dispatch.model.quantity import Duration, Size, TimeLimit
from dispatch.model.status import Cause
from dispatch.stores.sqlite import SqliteStore
from shell.world import RESUBMIT, World, ended, opened, run, submission

Life = Callable[[World], str]
"""Tells a life and gives the id of its job."""

RICH = Policy(
    rules=(
        Rule(
            when=(Cause.NODE_LOST, Trigger(cause=Cause.NON_ZERO_EXIT, exit_code=(134,))),
            do=Action.RESUBMIT,
            budget=Budget.INFRASTRUCTURE,
            exclude_nodes=ExcludeNodes(),
        ),
        Rule(
            when=(Cause.TIMEOUT,),
            do=Action.RESUBMIT,
            limit=2,
            within=Duration(hours=6),
            raise_=Raises(time_limit=Raise(percent=150, max=TimeLimit(hours=72))),
            with_=Changes(partition="long", env={"RESUMED": "1"}),
        ),
    ),
    limits=Limits(total=60, infrastructure=50, program=5),
    crash_loop=CrashLoop(executions=3, shorter_than=Duration(minutes=5)),
    cessation=Cessation(hold_after=Duration(hours=1)),
)
RICH_JOB = Job(
    name="llama-sft",
    key="sft-1",
    cluster="c",
    labels={"team": "nlp", "run": "dix-sept à 100 %"},
    command=("train.py", "--config", "big.yaml"),
    launcher=Launcher.PLAIN,
    workdir="/lustre/me",
    env={"NCCL_DEBUG": "WARN"},
    nodes=2,
    memory=Size.parse("200G"),
    time_limit=TimeLimit(hours=24),
    recovery=RICH,
)


def running(world: World, job: str, number: int = 1) -> None:
    """Let that submission run, and see it."""
    world.until(job, submission(number))
    world.env.run(job)
    world.advance(job)


def finished(world: World, job: str, exit_code: int = 0) -> str:
    """Let the program end, and the job with it."""
    current = world.view(job).current
    world.env.finish(current.ref if current else job, exit_code)
    world.until(job, ended)
    return job


def success(world: World) -> str:
    """It is started, opened, runs and succeeds."""
    job = world.submit(nodes=2)
    running(world, job)
    return finished(world, job)


def preempted(world: World) -> str:
    """It is preempted, resubmitted after its backoff, and succeeds."""
    job = world.submit(RESUBMIT, nodes=2)
    running(world, job)
    world.env.preempt(job)
    running(world, job, 2)
    return finished(world, job)


def preempted_beyond_its_limit(world: World) -> str:
    """It is preempted more often than its policy allows."""
    job = world.submit(RESUBMIT)
    for number in (1, 2, 3, 4):
        running(world, job, number)
        world.env.preempt(job)
    world.until(job, ended)
    return job


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


def held_before_its_open(world: World) -> str:
    """It is held while it is gated, opened under the hold, released, and succeeds."""
    job = world.submit()
    world.process.operator.ask_hold(job, "wait for the data")
    world.until(job, opened)
    world.advance(job)
    world.process.operator.ask_release(job)
    world.advance(job)
    running(world, job)
    return finished(world, job)


def held_until_a_time(world: World) -> str:
    """It is held in the queue until a time that passes."""
    job = world.submit()
    world.until(job, opened)
    until = world.clock.now() + timedelta(hours=1)
    world.process.operator.ask_hold(job, "tonight", until)
    world.advance(job)
    world.until(job, lambda view: view.hold is None)
    world.advance(job)
    running(world, job)
    return finished(world, job)


def held_by_its_policy(world: World) -> str:
    """Its failure is one that wants a person, who releases it."""
    job = world.submit(Policy(rules=(Rule(when=(Cause.NON_ZERO_EXIT,), do=Action.HOLD),)))
    running(world, job)
    world.env.finish(job, 3)
    world.until(job, submission(2))
    world.advance(job)
    world.process.operator.ask_release(job)
    world.advance(job)
    running(world, job, 2)
    return finished(world, job)


def cancelled_in_the_queue(world: World) -> str:
    """Somebody cancels it before it has run, and its policy tries again."""
    again = Rule(when=(Cause.CANCELLED,), do=Action.RESUBMIT, limit=1)
    job = world.submit(Policy(rules=(again,)))
    world.until(job, opened)
    world.env.cancel(job)
    running(world, job, 2)
    return finished(world, job)


def stopped_while_gated(world: World) -> str:
    """It is stopped between its start and its open."""
    job = world.submit()
    world.turn(job)
    world.process.operator.ask_stop(job)
    world.until(job, ended)
    return job


def stopped_while_running(world: World) -> str:
    """It is stopped while it runs."""
    job = world.submit(RESUBMIT)
    running(world, job)
    world.process.operator.ask_stop(job, "wrong data")
    world.until(job, ended)
    return job


def stopped_while_backing_off(world: World) -> str:
    """It is stopped before its next submission is due."""
    job = world.submit(
        Policy(
            rules=(
                Rule(
                    when=(Cause.PREEMPTED,),
                    do=Action.RESUBMIT,
                    backoff=Backoff(initial=Duration(hours=1), max=Duration(hours=1)),
                ),
            )
        )
    )
    running(world, job)
    world.env.preempt(job)
    world.until(job, lambda view: bool(view.current and view.current.proof))
    world.process.operator.ask_stop(job)
    world.until(job, ended)
    return job


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


def changed_by_its_policy(world: World) -> str:
    """Its limit is raised, its partition changed, a node left out; its job and its policy say much."""
    job = run(world.process.operator.submit(RICH_JOB)).id
    running(world, job)
    world.clock.advance(timedelta(hours=24))
    world.env.time_out(job)
    running(world, job, 2)
    world.clock.advance(timedelta(hours=1))
    world.env.finish(job, 134)
    running(world, job, 3)
    return finished(world, job)


def one_of_a_batch(world: World) -> str:
    """It is started and opened by one call together with others; another of them is stopped meanwhile."""
    jobs = [world.submit() for _ in range(3)]
    world.advance(*jobs)
    world.process.operator.ask_stop(jobs[1])
    world.advance(*jobs)
    for job in (jobs[0], jobs[2]):
        world.env.run(job)
    world.advance(*jobs)
    return finished(world, jobs[2])


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


LIVES: tuple[Life, ...] = (
    success,
    preempted,
    preempted_beyond_its_limit,
    lost_node,
    lost_node_and_a_declared_wait,
    lost_node_and_a_release,
    late_success,
    held_before_its_open,
    held_until_a_time,
    held_by_its_policy,
    cancelled_in_the_queue,
    stopped_while_gated,
    stopped_while_running,
    stopped_while_backing_off,
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
    changed_by_its_policy,
    one_of_a_batch,
    unfinished,
)
