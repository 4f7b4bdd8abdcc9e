"""The real engine on a world of the Kubeflow shape: it relies on nothing that only Slurm's shape does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dispatch.model.status import Cause, State
from shell.world import RESUBMIT, World, ended, opened, submission

if TYPE_CHECKING:
    from pathlib import Path

    from dispatch.model.policy import Policy


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, shape="kubeflow")


def final(world: World, job: str) -> tuple[State, Cause | None]:
    verdict = world.until(job, ended).verdict
    assert verdict is not None
    assert world.env.overlaps() == ()
    return verdict.state, verdict.cause


def running(world: World, policy: Policy | None = None) -> str:
    job = world.submit(policy)
    world.until(job, opened)
    world.env.run(job)
    world.advance(job)
    return job


def test_a_job_that_succeeds_ends(world: World) -> None:
    job = running(world)
    world.env.finish(job)
    assert final(world, job) == (State.SUCCEEDED, None)


def test_a_launch_that_failed_is_resubmitted(world: World) -> None:
    job = world.submit(RESUBMIT)
    world.until(job, opened)
    world.env.fail_launch(job)
    world.until(job, submission(2))
    world.env.run(job)
    world.env.finish(job)
    assert final(world, job) == (State.SUCCEEDED, None)


def test_a_stopped_job_ends_although_its_object_is_gone(world: World) -> None:
    job = running(world)
    world.process.operator.ask_stop(job)
    assert final(world, job)[0] is not State.SUCCEEDED
    assert (world.env.live(), world.env.runnable()) == ((), ())
