"""What the parts of the environment share: the world, and finding things in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Stage
from dispatch.model.errors import Conflict, Invalid, NotFound, Unavailable

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import Execution, Node, WorldObject
    from dispatch.adapters.memory.world import World


class EnvBase:
    """Finds objects, executions and nodes, after everything that is due has happened."""

    def __init__(self, world: World) -> None:
        self._world = world

    def _item(self, target: str) -> WorldObject:
        if ":" in target:
            return self._world.named(target)
        if not (items := self._world.by_job.get(target)):
            raise NotFound(f"No object of the job {target} was ever created.")
        return items[-1]

    def _served(self, target: str) -> WorldObject:
        """Find an object that the controller knows, while it is at work."""
        self._world.settle()
        item = self._item(target)
        if not self._world.serving:
            raise Unavailable(
                "The controller is not at work.", todo="Let it resume or reboot first."
            )
        if not item.queued:
            raise NotFound(f"The controller does not know {self._world.shape.ref(item)}.")
        return item

    def _running(self, target: str) -> WorldObject:
        item = self._served(target)
        if item.record.stage is not Stage.RUNNING:
            raise Conflict(f"{self._world.shape.ref(item)} is {item.record.state}, not running.")
        return item

    def _living(self, target: str) -> Execution:
        self._world.settle()
        item = self._item(target)
        if not item.live:
            raise Conflict(f"Nothing of {self._world.shape.ref(item)} runs.")
        return item.live[-1]

    def _node(self, name: str) -> Node:
        self._world.settle()
        if name not in self._world.machines.nodes:
            raise Invalid(
                f"There is no node {name}.",
                todo=f"Name one of n1 to n{len(self._world.machines.nodes)}.",
            )
        return self._world.machines.nodes[name]
