"""The scheduler's side of a memory world, in a test's hands, and its ground truth."""

from __future__ import annotations

from signal import Signals
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from dispatch.adapters.memory import crashing
from dispatch.adapters.memory.faults import Cut, Delay, DropReply, Duplicate, Refuse
from dispatch.adapters.memory.records import Stage
from dispatch.adapters.memory.slurm_reading import OUT_OF_MEMORY_EXIT, by_exit
from dispatch.adapters.memory.truth import execution_truth, object_truth, overlap, tickets_of
from dispatch.model.errors import (
    Busy,
    Conflict,
    DispatchError,
    Invalid,
    NotFound,
    Unavailable,
    Unsupported,
)
from dispatch.model.status import By

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from dispatch.adapters.memory.backend import MemoryBackend
    from dispatch.adapters.memory.records import Execution, WorldObject
    from dispatch.adapters.memory.settings import Relaunch
    from dispatch.adapters.memory.truth import ExecutionTruth, ObjectTruth, Overlap, Ticket
    from dispatch.adapters.memory.world import World


@runtime_checkable
class Advancing(Protocol):
    """A clock that can be moved, such as ``dispatch.testing.clock.ManualClock``."""

    def advance_to(self, moment: datetime) -> object:
        """Move on to a moment."""
        ...


class Env:
    """Drives what the backend cannot: nodes, other people, time, the controller and the network.

    A ``target`` is a ref, or a job's id for its newest object. What cannot happen in the present state is ``Conflict``.
    """

    def __init__(self, world: World, view: Callable[..., MemoryBackend]) -> None:
        self._world = world
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
        free = self._world.free_nodes(item)
        chosen = tuple(free[: item.order.job.nodes]) if nodes is None else nodes
        if not set(chosen) <= set(free):
            raise Conflict(f"{', '.join(chosen)} are not all free for {target}.")
        execution = self._world.shape.launch(item, chosen)
        return execution_truth(self._world, execution) if execution else None

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

    def requeue_externally(self, target: str) -> bool:
        """Set its requeue bit, leave it set, and requeue it; whether it came back to pending. A pending one refuses."""
        return self._world.shape.requeue(self._served(target))

    def purge_now(self, target: str) -> None:
        """Let the queue forget an ended object at once."""
        item = self._served(target)
        if item.record.stage is not Stage.ENDED:
            raise Conflict(f"{self._world.shape.ref(item)} has not ended, so it is not purged.")
        self._world.purge(item)

    # ------------------------------------------------------------------ nodes

    def lose_node(self, name: str) -> None:
        """Let a node fall silent; its processes go on, and the controller notices in its time."""
        node = self._node(name)
        if node.silent is None:
            node.silent = self._world.now
            self._world.watch_silence(name)

    def return_node(self, name: str, *, rebooted: bool = False, kill_fails: bool = False) -> None:
        """Let a node answer again; it kills ``killDelay`` later what it should not run, unless ``kill_fails``."""
        node = self._node(name)
        node.silent, node.missed, node.down, node.fenced = None, False, False, False
        node.kill_fails = kill_fails
        if rebooted:
            self._clear(name)
        self._world.after(self._world.settings.kill_delay, lambda: self._register(name))

    def _register(self, name: str) -> None:
        if self._world.serving:
            self._world.register([name])

    def fence_node(self, name: str) -> None:
        """Power a node off: nothing runs there any more."""
        node = self._node(name)
        node.fenced = True
        self._clear(name)
        self.lose_node(name)

    def _clear(self, name: str) -> None:
        for execution in list(self._world.machines.live.values()):
            if name in execution.alive:
                self._world.machines.kill(execution, [name], None, self._world.now)

    def set_capacity(self, capacity: int | None) -> None:
        """Let so many objects run at once; ``None``: as many as the nodes hold."""
        self._world.settle()
        self._world.capacity = capacity

    # ----------------------------------------------------- calls and replies

    def drop_next_reply(self) -> None:
        """The next write has its effect; its caller gets ``OutcomeUnknown``."""
        self._world.faults.writes.append(DropReply())

    def delay_next_call(self, by: timedelta) -> None:
        """The next write lands so much later; its caller gets ``OutcomeUnknown`` at once."""
        self._world.faults.writes.append(Delay(by))

    def duplicate_next_call(self, by: timedelta) -> None:
        """The next write lands now, and a second time so much later."""
        self._world.faults.writes.append(Duplicate(by))

    def cut_next_call(self, steps: int = 1) -> None:
        """Only the first steps of the next write are carried out; its caller gets ``OutcomeUnknown``.

        An open has two: the hold flag, then the begin time. A stop has two: the requeue bit, then the cancellation.
        """
        self._world.faults.writes.append(Cut(steps))

    def refuse_next(self, error: DispatchError | None = None) -> None:
        """Refuse the next write, as ``Busy`` unless another error is given."""
        self._world.faults.writes.append(
            Refuse(error or Busy("The scheduler takes no more for now."))
        )

    def fail_next_read(self, error: DispatchError | None = None) -> None:
        """Let the next read fail, as ``Unavailable`` unless another error is given."""
        self._world.faults.reads.append(error or Unavailable("The read was not answered."))

    def make_unavailable(self, for_: timedelta | None = None) -> None:
        """Let nobody reach the cluster, for so long or until ``make_available``; it is well all the same."""
        now = self._world.settle()
        self._world.faults.away = for_ is None
        self._world.faults.away_until = None if for_ is None else now + for_

    def make_available(self) -> None:
        """Let the cluster be reached again."""
        self._world.faults.away, self._world.faults.away_until = False, None

    # -------------------------------------------------------- the controller

    def hang(self) -> None:
        """Let the controller hang: it keeps what it is sent, and answers nothing."""
        self._world.settle()
        self._world.hung = True

    def resume(self, *, reverse: bool = False) -> None:
        """Let it go on, and carry out what it was sent; in reverse, since it keeps no order."""
        world = self._world
        world.settle()
        world.hung = False
        waiting = world.backlog[::-1] if reverse else world.backlog[:]
        world.backlog.clear()
        for action in waiting:
            action()
        crashing.catch_up(world)
        world.register(world.machines.nodes)

    def crash(self, lost: timedelta | None = None, *, partly: bool = False) -> None:
        """Kill the controller; what it acknowledged within ``lost`` (the save window) before now is forgotten.

        ``partly``: starts are forgotten, and submissions, releases, holds and ends are kept. ``reboot`` brings it back.
        """
        self._world.settle()
        crashing.crash(self._world, lost, partly=partly)

    def reboot(self, *, relaunch: Relaunch | None = None) -> str:
        """Start the controller again; return the new boot. One that runs is restarted, and forgets nothing."""
        self._world.settle()
        crashing.boot(self._world, relaunch or self._world.settings.relaunch)
        return self._world.boot

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

    # ---------------------------------------------------------------- finding

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

    def _node(self, name: str) -> Any:
        self._world.settle()
        if name not in self._world.machines.nodes:
            raise Invalid(
                f"There is no node {name}.",
                todo=f"Name one of n1 to n{len(self._world.machines.nodes)}.",
            )
        return self._world.machines.nodes[name]

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
