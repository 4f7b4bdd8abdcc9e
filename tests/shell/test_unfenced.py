"""Where nodes do not share the tickets nothing tells of a start that the controller forgot; what dispatch does itself is safe all the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from dispatch.model.answers import Action
from dispatch.model.journal import Ceased, Proof
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import Cause
from shell.world import World, opened

AGAIN = Policy(rules=(Rule(when=(Cause.CANCELLED,), do=Action.RESUBMIT, limit=1),))


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
    current = world.view(job).current
    assert current is not None
    assert current.awaiting == ("n1",)


def test_where_tickets_are_shared_such_a_cancellation_needs_no_proof(
    worlds: Callable[..., World],
) -> None:
    """It waited in the queue while the controller was restarted, as it does on any cluster in service."""
    world = worlds()
    job = world.submit(AGAIN)
    world.until(job, opened)
    world.clock.advance(timedelta(minutes=10))
    world.env.crash(timedelta(seconds=1), partly=True)
    world.env.reboot()
    world.env.lose_node("n1")
    world.env.cancel(job, who="owner")
    world.until(job, lambda view: len(view.objects) == 2)
    proofs = [event.proof for event in world.events(job, Ceased) if isinstance(event, Ceased)]
    assert proofs == [Proof.NEVER_RAN]
