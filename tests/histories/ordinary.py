"""Lives in which people and policies do what they do, and nothing goes wrong with dispatch or its cluster."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from dispatch.model.answers import Action
from dispatch.model.job import Job, Launcher
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


ORDINARY: tuple[Life, ...] = (
    success,
    preempted,
    preempted_beyond_its_limit,
    held_before_its_open,
    held_until_a_time,
    held_by_its_policy,
    cancelled_in_the_queue,
    stopped_while_gated,
    stopped_while_running,
    stopped_while_backing_off,
    changed_by_its_policy,
    one_of_a_batch,
)
