"""A controller that dies, forgets what it had not saved, and comes back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Stage
from dispatch.adapters.memory.settings import Relaunch
from dispatch.model.errors import Invalid

if TYPE_CHECKING:
    from datetime import datetime

    from dispatch.adapters.memory.records import WorldObject
    from dispatch.adapters.memory.world import World


def crash(world: World, lost: timedelta | None, *, partly: bool) -> None:
    """Kill the controller. What it acknowledged within ``lost`` before is forgotten; ``partly``: only the starts are."""
    world.end_streams()
    if world.shape.durable:
        if lost:
            raise Invalid(
                f"A crash cannot forget {lost}: a Kubernetes API server forgets nothing.",
                todo="Crash it without.",
            )
        world.up = world.hung = False
        world.backlog.clear()
        return
    lost = world.settings.save_window if lost is None else lost
    if lost > world.settings.save_window:
        raise Invalid(
            f"A crash cannot forget {lost}: the save window is {world.settings.save_window}.",
            todo="Raise saveWindow, or forget less.",
        )
    saved = world.now - lost
    for item in world.objects:
        if not item.forgotten:
            _forget_start(world, item, saved) if partly else _go_back(world, item, saved)
    if not partly:
        while len(world.last_ids) > 1 and world.last_ids[-1][0] > saved:
            world.last_ids.pop()
    world.restore()
    world.up = world.hung = False
    world.backlog.clear()


def _go_back(world: World, item: WorldObject, saved: datetime) -> None:
    """Take the record back to what was saved last; an object that never was saved is gone, and its id free."""
    kept = [version for version in item.versions if version[0] <= saved]
    if not kept:
        item.forgotten = True
    elif len(kept) < len(item.versions):
        item.versions[:] = [*kept[:-1], (world.now, kept[-1][1])]


def _forget_start(world: World, item: WorldObject, saved: datetime) -> None:
    """Keep the release and forget the start: the job reads as pending again, while it runs (07, later findings)."""
    record = item.record
    if (
        record.stage is Stage.RUNNING
        and world.machines.executions[(record.execution or 0) - 1].started > saved
    ):
        forgotten = replace(
            record,
            stage=Stage.PENDING,
            state="PENDING",
            reason="None",
            nodes=(),
            started=None,
            execution=None,
        )
        item.versions[:] = [(world.now, forgotten)]


def boot(world: World, relaunch: Relaunch) -> None:
    """Start the controller again, under a new boot; nodes register ``killDelay`` later and kill what it does not know."""
    world.boot_number += 1
    world.up, world.hung = True, False
    if world.shape.durable:
        relaunch = Relaunch.NONE
    if relaunch is Relaunch.OTHER_NODES:
        world.after(world.settings.kill_delay / 2, lambda: _relaunch_elsewhere(world))
    world.after(world.settings.kill_delay, lambda: _registered(world, relaunch))
    catch_up(world)


def catch_up(world: World) -> None:
    """Plan again what a controller that was away has missed."""
    for item in world.queue.values():
        if item.record.stage is Stage.ENDED:
            world.plan_purge(item)
    for name, node in world.machines.nodes.items():
        if node.silent is not None and not node.down:
            world.watch_silence(name)


def _registered(world: World, relaunch: Relaunch) -> None:
    if not world.serving:
        return
    lost = _forgotten_starts(world)
    world.register(world.machines.nodes)
    if relaunch is Relaunch.SAME_NODES:
        for item in lost:
            if item.record.flag is None and item.record.begin is None:
                world.shape.relaunch_refused(item)


def _relaunch_elsewhere(world: World) -> None:
    for item in _forgotten_starts(world):
        if world.serving and world.shape.obstacle(item) is None:
            old = {name for execution in item.live for name in execution.nodes}
            free = [name for name in world.free_nodes(item) if name not in old]
            if len(free) >= item.order.job.nodes:
                world.shape.launch(item, tuple(free[: item.order.job.nodes]))


def _forgotten_starts(world: World) -> list[WorldObject]:
    """Objects that read as pending while processes of the very same epoch live."""
    return [
        item
        for item in world.queue.values()
        if item.record.stage is Stage.PENDING
        and any(execution.epoch.restarts == item.record.restarts for execution in item.live)
    ]
