"""Under which conditions a job is played: its failures, its cluster's waits, and how the program saves its work."""

from __future__ import annotations

from dispatch.model.base import Value
from dispatch.model.errors import Fault, Invalid
from dispatch.model.quantity import Duration
from dispatch.whatif.weather import Source, Spread

ZERO = Spread(mean=Duration())
MOST_EXECUTIONS = 5_000
"""Of one run; one that needs more makes no progress, and is cut off there."""


class Program(Value):
    """How the program saves its work.

    It runs for ``restart_cost`` before its first new step. Then it works for ``checkpoint_every`` and saves for
    ``checkpoint_cost``, in turns; what is not saved when it ends is lost. ``None``: it never saves.
    """

    checkpoint_every: Duration | None = Duration(hours=1)
    checkpoint_cost: Duration = Duration()
    restart_cost: Duration = Duration()
    exit_on_signal: int | None = None
    """It saves at the signal of ``signalBefore`` and exits with this code; ``None``: it ignores the signal."""
    saves_when_preempted: bool = False

    def __post_init__(self) -> None:
        if self.checkpoint_every is not None and self.checkpoint_every.ms == 0:
            fault = Fault(path="checkpointEvery", found="0s", allowed="a duration above 0s")
            raise Invalid("The program is wrong.", faults=(fault,))


class Conditions(Value):
    """Everything that a run depends on, beside the job and the seed."""

    sources: tuple[Source, ...] = ()
    program: Program = Program()
    queue_wait: dict[str, Spread] = {}
    """From the open of an object to its start, by partition; ``""`` is for all others."""
    repair: Spread = Spread(mean=Duration(hours=2))
    """From the loss of a node until it answers again."""
    node_timeout: Duration = Duration(minutes=5)
    """How long a lost node is silent before the scheduler ends the job (Slurm: ``SlurmdTimeout``)."""
    spares: int | None = None
    """Nodes that the job may use beside as many as it needs; ``None``: as many again."""
    person_after: Duration | None = None
    """How long after a hold a person releases it; ``None``: nobody does."""
    poll: Duration = Duration(seconds=10)
    """How long after an end the supervisor reads it."""
    horizon: Duration = Duration(days=30)
    work: Duration | None = None
    """How long the job would take if nothing ever went wrong; ``None``: it has no end of its own."""

    @property
    def window(self) -> Duration:
        """The time over which the growth of the work is told: all of it, or three times the work, if that is less."""
        if self.work is None:
            return self.horizon
        return Duration.of_ms(min(self.horizon.ms, 3 * self.work.ms))

    def wait_in(self, partition: str | None) -> Spread:
        """The wait in that partition's queue."""
        return self.queue_wait.get(partition or "", self.queue_wait.get("", ZERO))

    def sources_in(self, partition: str | None) -> tuple[Source, ...]:
        """The sources that strike in that partition: its own in place of those of the same cause for all others."""
        own = {one.cause for one in self.sources if one.partition == partition and partition}
        return tuple(
            one
            for one in self.sources
            if (one.partition is None and one.cause not in own) or one.partition == partition
        )
