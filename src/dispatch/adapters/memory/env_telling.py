"""What is really so, and what will happen next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from dispatch.adapters.memory.env_base import EnvBase
from dispatch.adapters.memory.truth import execution_truth, object_truth, overlap, tickets_of
from dispatch.model.errors import Unsupported

if TYPE_CHECKING:
    from datetime import datetime

    from dispatch.adapters.memory.truth import ExecutionTruth, ObjectTruth, Overlap, Ticket


@runtime_checkable
class Advancing(Protocol):
    """A clock that can be moved, such as ``dispatch.testing.clock.ManualClock``."""

    def advance_to(self, moment: datetime) -> object:
        """Move on to a moment."""
        ...


class Telling(EnvBase):
    """Tells the ground truth, and moves a clock that can be moved."""

    # ------------------------------------------------------------------- time

    def next_event(self) -> datetime | None:
        """The moment of the next thing that will happen by itself."""
        self._world.settle()
        return self._world.agenda.next()

    def advance_to_next_event(self) -> datetime | None:
        """Move the clock there and let it happen; ``None`` where nothing will."""
        moment = self.next_event()
        if moment is not None:
            clock = cast("Any", self._world.clock)
            if not isinstance(clock, Advancing):
                raise Unsupported(
                    "This world's clock cannot be moved.", todo="Make the world with a ManualClock."
                )
            clock.advance_to(moment)
            self._world.settle()
        return moment

    # ------------------------------------------------------------ ground truth

    def truth(self, target: str) -> ObjectTruth:
        """Tell the truth of one object, also of one that the scheduler has forgotten."""
        self._world.settle()
        return object_truth(self._world, self._item(target))

    def truths(self, job: str | None = None) -> tuple[ObjectTruth, ...]:
        """Tell the truth of every object of a job, or of all, oldest first."""
        self._world.settle()
        items = self._world.objects if job is None else self._world.by_job.get(job, [])
        return tuple(object_truth(self._world, item) for item in items)

    def live(self, job: str | None = None) -> tuple[ExecutionTruth, ...]:
        """List the executions that have processes left, of a job or of all."""
        self._world.settle()
        live = self._world.machines.live.values()
        return tuple(execution_truth(self._world, one) for one in live if job in (None, one.job))

    def overlaps(self, job: str | None = None) -> tuple[Overlap, ...]:
        """List the overlaps so far, of a job or of all."""
        self._world.settle()
        clashes = self._world.machines.clashes
        return tuple(overlap(self._world, clash) for clash in clashes if job in (None, clash.job))

    def tickets(self, job: str) -> tuple[Ticket, ...]:
        """List the epochs of a job that have started, in order."""
        self._world.settle()
        return tickets_of(self._world, job)
