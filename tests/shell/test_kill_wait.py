"""When the engine reads nodes for a proof of cessation, and which (12, E4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.model.errors import Unavailable
from dispatch.model.journal import Ceased, NodesBack, Observed
from dispatch.model.status import NodeReport
from dispatch.spi.adapter import Reading
from shell.world import RESUBMIT, World, opened, submission


class Preempted:
    """A world in which an execution on n1 and n2 has just been preempted, and what nodes are asked for is kept."""

    def __init__(self, world: World) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.away = False
        """Whether questions for nodes are not answered."""
        self.requeued = False
        """Whether reads show that it has been requeued, twice, since the nodes were asked for first."""
        told = self

        class Asked(MemoryBackend):
            async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
                told.asked.append(tuple(names))
                if told.away:
                    raise Unavailable("no answer")
                return await super().nodes(names, ref)

            async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
                reading = await super().find_many(jobs, known)
                twice = 2 if told.requeued and told.asked else 0
                seen = (replace(one, restarts=twice) for one in reading.observations)
                return replace(reading, observations=tuple(seen))

        world.behave(Asked)
        self.job = world.submit(RESUBMIT, nodes=2)
        world.until(self.job, opened)
        world.env.run(self.job, nodes=("n1", "n2"))
        world.advance(self.job)
        world.env.preempt(self.job)


def test_the_nodes_are_read_beside_the_first_read_of_an_end(world: World) -> None:
    made = Preempted(world)
    world.until(made.job, lambda view: bool(view.current and view.current.ended))
    events = world.events(made.job, Observed, NodesBack)
    assert [type(event) for event in events[-2:]] == [Observed, NodesBack]
    assert made.asked == [("n1", "n2")]
    since = world.clock.now()
    world.until(made.job, submission(2))
    (gone,) = [one.at for one in world.history(made.job) if isinstance(one.event, Ceased)]
    declared = world.backend.declarations
    poll = timedelta(seconds=15)
    assert (
        declared.kill_wait <= gone - since <= max(declared.save_window, declared.kill_wait) + poll
    )


def test_nodes_that_cannot_be_read_keep_no_end_from_being_judged(world: World) -> None:
    made = Preempted(world)
    made.away = True
    world.until(made.job, lambda view: view.last_decision is not None)
    assert world.events(made.job, NodesBack) == []
    assert world.view(made.job).objects[1].awaiting_since is None
    made.away = False
    world.until(made.job, submission(2))


def test_an_answer_for_fewer_nodes_is_none_for_more(world: World) -> None:
    made = Preempted(world)
    world.until(made.job, lambda view: bool(view.current and view.current.nodes_back))
    made.requeued = True
    world.until(made.job, lambda view: bool(view.current and view.current.ran_unseen))
    assert made.asked[-2:] == [("n1", "n2"), ()]
