"""The scheduler's side of a memory world, in a test's hands, and its ground truth."""

from __future__ import annotations

from signal import Signals
from typing import TYPE_CHECKING

from dispatch.adapters.memory.env_disturbing import Disturbing
from dispatch.adapters.memory.env_telling import Telling
from dispatch.adapters.memory.records import Stage
from dispatch.adapters.memory.slurm_reading import OUT_OF_MEMORY_EXIT, by_exit
from dispatch.adapters.memory.truth import execution_truth
from dispatch.model.errors import Conflict, Invalid
from dispatch.model.status import By

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dispatch.adapters.memory.backend import MemoryBackend
    from dispatch.adapters.memory.records import Execution, WorldObject
    from dispatch.adapters.memory.truth import ExecutionTruth
    from dispatch.adapters.memory.world import World


class Env(Disturbing, Telling):
    """Drives what the backend cannot: jobs, other people, nodes, time, the controller and the network.

    A ``target`` is a ref, or a job's id for its newest object. What cannot happen in the present state is ``Conflict``.
    """

    def __init__(self, world: World, view: Callable[..., MemoryBackend]) -> None:
        super().__init__(world)
        self._view = view

    def view(self, *, read_only: bool = False) -> MemoryBackend:
        """Open another view of the same world."""
        return self._view(read_only=read_only)

    # ------------------------------------------------------------------- jobs

    def runnable(self) -> tuple[str, ...]:
        """List the refs of what could start now, oldest first."""
        self._world.settle()
        if not self._world.serving:
            return ()
        items = [
            item for item in self._world.queue.values() if self._world.shape.obstacle(item) is None
        ]
        return tuple(
            self._world.shape.ref(item) for item in sorted(items, key=lambda item: item.serial)
        )

    def run(self, target: str, *, nodes: tuple[str, ...] | None = None) -> ExecutionTruth | None:
        """Let the scheduler start a pending object; ``None`` where its start ticket was taken, so nothing ran."""
        item = self._served(target)
        if obstacle := self._world.shape.obstacle(item):
            raise Conflict(f"{self._world.shape.ref(item)} cannot start: {obstacle}.")
        execution = self._world.shape.launch(item, self._place(item, nodes))
        return execution_truth(self._world, execution) if execution else None

    def _place(self, item: WorldObject, nodes: tuple[str, ...] | None) -> tuple[str, ...]:
        free, count = self._world.free_nodes(item), item.order.job.nodes
        chosen = tuple(free[:count]) if nodes is None else nodes
        if len(set(chosen)) != count or not set(chosen) <= set(free):
            raise Conflict(f"{', '.join(chosen)} are not {count} nodes that are free for it.")
        return chosen

    def fail_launch(self, target: str) -> None:
        """Let the node fail to start the job script, as with a missing working directory; nothing runs."""
        item = self._served(target)
        if obstacle := self._world.shape.obstacle(item):
            raise Conflict(f"{self._world.shape.ref(item)} cannot start: {obstacle}.")
        self._world.shape.launch_failed(item, self._place(item, None))

    def run_all(self) -> tuple[str, ...]:
        """Let the scheduler start, oldest first, everything that fits."""
        begun: list[str] = []
        for ref in self.runnable():
            if self._world.shape.obstacle(self._world.named(ref)) is None:
                self.run(ref)
                begun.append(ref)
        return tuple(begun)

    def finish(self, target: str, exit_code: int = 0, *, signal: str | int | None = None) -> None:
        """Let the program of the newest live execution end by itself, with a code or by a signal (``"SEGV"``, ``11``)."""
        self._end(
            self._living(target), f"{exit_code}:0" if signal is None else f"0:{_number(signal)}"
        )

    def out_of_memory(self, target: str) -> None:
        """Let the kernel kill it for its memory."""
        self._end(self._living(target), OUT_OF_MEMORY_EXIT)

    def _end(self, execution: Execution, text: str) -> None:
        self._world.machines.end(execution, text, by_exit(text, ()).cause, self._world.now)
        self._world.report(execution)

    def time_out(self, target: str) -> None:
        """Let it reach its time limit."""
        self._world.shape.timed_out(self._running(target))

    def preempt(self, target: str) -> None:
        """Let the scheduler take its nodes away."""
        self._world.shape.preempted(self._running(target))

    def cancel(self, target: str, *, who: str = "root") -> None:
        """Cancel it as ``root``, as ``owner`` by hand, or as another user."""
        self._world.shape.cancel(self._served(target), who)

    def admin_hold(self, target: str) -> None:
        """Hold it as an administrator."""
        self._world.shape.set_flag(self._served(target), By.ADMINISTRATOR)

    def admin_release(self, target: str) -> None:
        """Release everything of it as an administrator."""
        self._world.shape.clear_flag(self._served(target), By.ADMINISTRATOR)

    def person_hold(self, target: str) -> None:
        """Hold it by hand as the job's owner, ``scontrol hold``; a running one is held at its next start."""
        self._world.shape.set_flag(self._served(target), By.OWNER)

    def person_release(self, target: str) -> None:
        """Release everything of it by hand, ``scontrol release``; our gate stays closed."""
        self._world.shape.clear_flag(self._served(target), By.OWNER)

    def person_begin(self, target: str, begin: datetime | None) -> None:
        """Set its begin time by hand, ``scontrol update StartTime=``; ``None`` for now, which opens even our gate."""
        self._world.shape.set_begin(
            self._served(target), None if begin is None else int(begin.timestamp())
        )

    def requeue_externally(self, target: str) -> bool:
        """Set its requeue bit, leave it set, and requeue it; whether it came back to pending. A pending one refuses."""
        return self._world.shape.requeue(self._served(target))

    def rename(self, target: str, name: str) -> None:
        """Give it another name by hand; reads find it by its ref alone."""
        self._world.shape.rename(self._served(target), name)

    def purge_now(self, target: str) -> None:
        """Let the queue forget an ended object at once; one that is still being cleaned up stays until it is."""
        item = self._served(target)
        if item.record.stage is not Stage.ENDED:
            raise Conflict(f"{self._world.shape.ref(item)} has not ended, so it is not purged.")
        if item.record.cleaning:
            raise Conflict(f"{self._world.shape.ref(item)} is still being cleaned up.")
        self._world.purge(item)

    def __repr__(self) -> str:
        return f"Env({self._world!r})"


def _number(signal: str | int) -> int:
    """The number of a signal, given as such or by its name with or without ``SIG``."""
    if isinstance(signal, int):
        return signal
    try:
        return Signals[f"SIG{signal.removeprefix('SIG')}"].value
    except KeyError:
        raise Invalid(
            f"There is no signal {signal!r}.", todo="Use a name such as TERM, or a number."
        ) from None
