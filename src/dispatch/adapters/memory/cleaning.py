"""How the nodes clean up after an execution that was ended from outside; both shapes share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Stage

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import WorldObject
    from dispatch.adapters.memory.world import World
    from dispatch.model.status import Cause


def blame(world: World, item: WorldObject, cause: Cause) -> None:
    """Write into the truth why the execution ends; its processes die with the cleaning."""
    if item.record.stage is Stage.RUNNING and item.record.execution is not None:
        execution = world.machines.executions[item.record.execution - 1]
        execution.cause = execution.cause or cause


def plan_cleaning(world: World, item: WorldObject) -> None:
    """Let the nodes in ``cleaning`` clean up in their time."""
    if not item.record.cleaning:
        return
    if world.settings.cleaning_time:
        world.after(world.settings.cleaning_time, lambda: _clean(world, item))
    else:
        _clean(world, item)


def _clean(world: World, item: WorldObject) -> None:
    """Let the nodes that answer kill what they run of it, and say so; the others stay in ``cleaning``."""
    nodes = world.machines.nodes
    if not world.serving or not item.queued:
        return
    done = {n for n in item.record.cleaning if nodes[n].silent is None and not nodes[n].kill_fails}
    for execution in item.live:
        if not world.believed(execution):
            world.machines.kill(execution, done & execution.alive, None, world.now)
    world.change(item, cleaning=tuple(n for n in item.record.cleaning if n not in done))
    world.shape.registered(item, done)
