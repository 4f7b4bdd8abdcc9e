"""Where nodes do not share the tickets nothing tells of a start that the controller forgot; what dispatch does itself is safe all the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from dispatch.model.answers import Action
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import Cause
from shell.world import World, opened

AGAIN = Policy(rules=(Rule(when=(Cause.CANCELLED,), do=Action.RESUBMIT, limit=1),))


@pytest.mark.xfail(
    reason="an object that ended under another boot than that of its open counts as one that never ran (12, O2 and E4)"
)
def test_what_was_cancelled_after_its_start_was_forgotten_may_live_on(
    worlds: Callable[..., World],
) -> None:
    """It starts on a node that then hangs; the controller forgets that, reads it as pending, and a person cancels it."""
    world = worlds(fence=False, relaunch="none")
    job = world.submit(AGAIN)
    world.turn(job)
    world.clock.advance(timedelta(minutes=1))
    world.until(job, opened)
    world.env.run(job, nodes=("n1",))
    world.env.lose_node("n1")
    world.env.crash(timedelta(seconds=1), partly=True)
    world.env.reboot()
    world.env.cancel(job, who="owner")
    for _ in range(60):
        world.advance(job)
        world.env.run_all()
        world.clock.advance(timedelta(seconds=10))
    assert world.env.overlaps(job) == ()
