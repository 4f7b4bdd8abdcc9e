"""The scheduler at work: it starts what can start, and what it has started comes to the end that the seed has drawn."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Execution, Stage
from dispatch.model.errors import DispatchError
from dispatch.model.status import Cause
from dispatch.sim.climate import only

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import WorldObject
    from dispatch.sim.chance import Stream
    from dispatch.sim.site import Site

PASS_EVERY = 30.0
"""Seconds between two looks of the scheduler at its queue, at most."""
LONGEST_REST = 60.0
"""Once the faults have ceased, an execution succeeds within so many seconds."""

ENDS: tuple[tuple[str, float], ...] = (
    ("succeeds", 6.0),
    ("exits with 1", 2.0),
    ("exits with 137", 0.5),
    ("is killed by a signal", 0.7),
    ("runs out of memory", 0.7),
    ("times out", 0.7),
    ("is preempted", 2.0),
    ("is cancelled by its owner", 0.4),
    ("is cancelled by root", 0.3),
    ("is requeued by somebody", 0.7),
    ("loses its node", 2.5),
)


DONE_BY_THE_SCHEDULER = {
    "times out": Cause.TIMEOUT,
    "is preempted": Cause.PREEMPTED,
    "is requeued by somebody": Cause.REQUEUED,
}


class Scheduler:
    """Passes over the queue, and the fates of what runs."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._planned = False
        self._passes = 0
        draw = site.chance.stream("scheduler")
        self._ends = only(ENDS, site.options.climate.ends)
        self._delay = draw.weighed(((0.5, 2.0), (10.0, 2.0), (40.0, 1.0)))
        self._length = draw.weighed(((20.0, 1.0), (200.0, 3.0), (900.0, 1.0)))
        self._fails_to_launch = draw.weighed(((0.0, 2.0), (0.08, 2.0)))

    def stir(self) -> None:
        """Look at the queue soon."""
        if not self._planned:
            self._planned = True
            self._passes += 1
            draw = self._site.chance.stream(f"pass {self._passes}")
            wait = min(draw.waiting(self._delay), PASS_EVERY)
            self._site.loop.call_later(wait, self._pass)

    def tick(self) -> None:
        """Look at the queue every now and then, whether or not anything stirs."""
        self.stir()
        self._site.loop.call_later(PASS_EVERY, self.tick)

    def _pass(self) -> None:
        self._planned = False
        env, world = self._site.env, self._site.world
        for ref in env.runnable():
            item = world.named(ref)
            name = (
                f"{self._site.label(item.order.id)} {item.order.submission}.{item.record.restarts}"
            )
            draw = self._site.chance.stream(f"launch/{name}/{item.serial}")
            with suppress(DispatchError):
                if draw.happens(self._fails_to_launch) and self._site.faults.allow(
                    f"{name} fails to launch"
                ):
                    env.fail_launch(ref)
                    self._site.history_of(item).unlaunched.add(ref)
                    self._site.step("cluster", f"{name} fails to launch")
                else:
                    nodes = draw.some(world.free_nodes(item), item.order.job.nodes)
                    env.run(ref, nodes=nodes)
        self._site.begun()

    def begin(self, item: WorldObject, execution: Execution) -> None:
        """Draw what becomes of an execution that has just begun."""
        site = self._site
        name = f"{site.label(execution.job)} {execution.epoch}"
        draw = site.chance.stream(f"fate/{name}/{execution.serial}")
        length, fate = 1 + draw.waiting(self._length), draw.weighed(self._ends)
        if site.faults.ceased:
            length, fate = draw.between(1, LONGEST_REST), "succeeds"
        elif site.options.scenario is not None:
            length, fate = site.options.scenario.fate(execution.serial)
        elif fate != "succeeds" and not site.faults.allow(f"{name} {fate}"):
            fate = "succeeds"
        site.loop.call_later(length, self._meet, item, execution, fate, draw)

    def _meet(self, item: WorldObject, execution: Execution, fate: str, draw: Stream) -> None:
        """Let an execution meet its fate; one that cannot now, since the controller is away, meets it later."""
        site = self._site
        site.world.settle()
        if not execution.live:
            return
        if site.faults.ceased:
            fate = "succeeds"
        try:
            fate = self._do(item, execution, fate, draw)
        except DispatchError:
            site.loop.call_later(20, self._meet, item, execution, "succeeds", draw)
        else:
            if (cause := DONE_BY_THE_SCHEDULER.get(fate)) is not None:
                befell = site.history_of(item).befell
                befell.setdefault(execution.serial, set()).add(cause)
            site.step("cluster", f"{site.label(execution.job)} {execution.epoch} {fate}")
            if fate == "loses its node":
                # Its program knows nothing of that, and goes on to its own end.
                site.loop.call_later(
                    draw.waiting(200), self._meet, item, execution, "succeeds", draw
                )
        site.begun()
        self.stir()

    def _do(self, item: WorldObject, execution: Execution, fate: str, draw: Stream) -> str:
        """Let it happen; what the controller does not believe to run can only come to an end of its own. Returns what happened."""
        world, env = self._site.world, self._site.env
        ref = world.shape.ref(item)
        newest = bool(item.live) and item.live[-1] is execution
        current = newest and item.record.stage is Stage.RUNNING and world.believed(execution)
        fate = fate if current else "succeeds"
        match fate:
            case "exits with 1":
                env.finish(ref, 1)
            case "exits with 137":
                env.finish(ref, 137)
            case "is killed by a signal":
                env.finish(ref, signal=draw.pick(("SEGV", "TERM", "KILL")))
            case "runs out of memory":
                env.out_of_memory(ref)
            case "times out":
                env.time_out(ref)
            case "is preempted":
                env.preempt(ref)
            case "is cancelled by its owner" | "is cancelled by root":
                self._site.history_of(item).cancelled.add(ref)
                env.cancel(ref, who=fate.rpartition(" ")[2])
            case "is requeued by somebody":
                env.requeue_externally(ref)
            case "loses its node":
                self._site.lose_node(draw.pick(execution.nodes), draw)
            case _ if newest:
                env.finish(ref)
            case _:
                world.machines.end(execution, "0:0", None, world.now)
        return fate

    def cease(self) -> None:
        """Let everything that runs come to a success soon."""
        for execution in list(self._site.world.machines.live.values()):
            item = self._site.world.objects[execution.object - 1]
            draw = self._site.chance.stream(f"rest/{execution.serial}")
            length = draw.between(1, LONGEST_REST)
            self._site.loop.call_later(length, self._meet, item, execution, "succeeds", draw)
