"""What a scheduler's shape decides; the world keeps time, nodes, objects and the controller's health."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import Execution, WorldObject
    from dispatch.model.plan import Plan
    from dispatch.model.policy import Policy
    from dispatch.model.status import By, Observation
    from dispatch.spi.adapter import HoldMeta, StartOrder

T = TypeVar("T")
Steps = Generator[None, None, T]
"""A write in its steps: the caller can die, or the reply be lost, at each ``yield``."""


class Shape(Protocol):
    """The rules of one scheduler: how it writes, what happens to an object, and how that reads."""

    durable: bool
    """What the controller acknowledged outlives its crash, and it starts nothing that it has forgotten."""
    small_ids: bool
    """Objects are known by ids that wrap and are used again."""

    def submit(self, order: StartOrder) -> Steps[str]:
        """Create a gated object; give its ref."""
        ...

    def open(self, item: WorldObject) -> Steps[None]:
        """Lift the gate."""
        ...

    def stop(self, item: WorldObject) -> Steps[None]:
        """End it for good."""
        ...

    def hold(self, item: WorldObject, meta: HoldMeta) -> Steps[None]:
        """Keep it from starting."""
        ...

    def release(self, item: WorldObject, instance: int, *, opened: bool) -> Steps[None]:
        """Lift the hold of that instance; ``opened`` as in ``CallMeta``."""
        ...

    def revive(self, item: WorldObject) -> Steps[None]:
        """Bring an ended object back to pending, with a requeue bit that is borrowed for that."""
        ...

    def restore_bit(self, item: WorldObject) -> Steps[None]:
        """Clear its requeue bit."""
        ...

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        """Turn the rules that the scheduler carries out into what an order says of it."""
        ...

    def name(self, item: WorldObject) -> str:
        """Give the name that it was created with."""
        ...

    def rename(self, item: WorldObject, name: str) -> None:
        """Give it another name, as a person does."""
        ...

    def weakness(self, item: WorldObject) -> str | None:
        """Say why its identity is no longer its own; ``None`` where it is."""
        ...

    def ref(self, item: WorldObject) -> str:
        """Name the object in the adapter's own text."""
        ...

    def instance(self, item: WorldObject) -> int | None:
        """Tell the instance of our hold on it."""
        ...

    def observe(self, item: WorldObject) -> Observation:
        """Read the object."""
        ...

    def obstacle(self, item: WorldObject) -> str | None:
        """Say why it cannot start now; ``None`` where it can."""
        ...

    def launch(self, item: WorldObject, nodes: tuple[str, ...]) -> Execution | None:
        """Start it; ``None`` where the start ticket was taken and no program ran."""
        ...

    def launch_failed(self, item: WorldObject, nodes: tuple[str, ...]) -> None:
        """Fail to start it on these nodes."""
        ...

    def program_ended(self, item: WorldObject, execution: Execution) -> None:
        """Hear from the nodes that the program has ended by itself."""
        ...

    def timed_out(self, item: WorldObject) -> None:
        """End it at its time limit."""
        ...

    def preempted(self, item: WorldObject) -> None:
        """Take its nodes away for another."""
        ...

    def node_down(self, item: WorldObject, node: str) -> None:
        """Give up one of the nodes on which it runs."""
        ...

    def missing(self, item: WorldObject) -> None:
        """Find that what should run on registered nodes does not."""
        ...

    def registered(self, item: WorldObject, nodes: set[str]) -> None:
        """Hear from these nodes what they run of it."""
        ...

    def silenced(self, item: WorldObject, node: str) -> None:
        """Give up waiting for a node that cleans up after it."""
        ...

    def fenced(self, item: WorldObject, node: str) -> None:
        """Hear that a node is surely off."""
        ...

    def relaunch_refused(self, item: WorldObject) -> None:
        """Launch it again on the nodes that have killed it, which refuse."""
        ...

    def set_flag(self, item: WorldObject, by: By) -> None:
        """Hold it, as a person or an administrator does."""
        ...

    def clear_flag(self, item: WorldObject, by: By) -> None:
        """Release everything, as a person or an administrator does."""
        ...

    def set_begin(self, item: WorldObject, begin: int | None) -> None:
        """Set its begin time, as a person does."""
        ...

    def cancel(self, item: WorldObject, who: str) -> None:
        """Cancel it, as somebody other than us does."""
        ...

    def requeue(self, item: WorldObject) -> bool:
        """Requeue it, as somebody other than us does; whether it came back to pending."""
        ...
