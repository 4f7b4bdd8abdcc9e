"""What can go wrong around the jobs: nodes, calls and replies, and the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.memory import crashing
from dispatch.adapters.memory.env_base import EnvBase
from dispatch.adapters.memory.faults import Cut, Delay, DropReply, Duplicate, Refuse
from dispatch.model.errors import Busy, DispatchError, Unavailable

if TYPE_CHECKING:
    from datetime import timedelta

    from dispatch.adapters.memory.settings import Relaunch


class Disturbing(EnvBase):
    """Disturbs the world."""

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
        for item in list(self._world.queue.values()):
            self._world.shape.fenced(item, name)

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
        self._world.end_streams()
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
