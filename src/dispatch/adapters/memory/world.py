"""The world of the memory adapter: time, nodes, objects, and a controller that may be away or forget.

Nothing happens by itself: each call first works out what has happened since the last one, at the times at which it did.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from dispatch.adapters.memory.agenda import Agenda
from dispatch.adapters.memory.answers import answers_of
from dispatch.adapters.memory.faults import Faults
from dispatch.adapters.memory.kubeflow import KubeflowShape
from dispatch.adapters.memory.machines import Machines
from dispatch.adapters.memory.records import Stage, WorldObject
from dispatch.adapters.memory.settings import ShapeName
from dispatch.adapters.memory.slurm import SlurmShape
from dispatch.adapters.memory.watching import Stream
from dispatch.model.answers import Capability
from dispatch.model.errors import Busy, Invalid, NotFound, Unavailable
from dispatch.model.status import Cause, NodeReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dispatch.adapters.memory.records import Execution, Record
    from dispatch.adapters.memory.settings import Settings
    from dispatch.adapters.memory.shape import Shape
    from dispatch.model.status import Observation
    from dispatch.spi.adapter import StartOrder
    from dispatch.spi.clock import Clock


class World:
    """One cluster in memory, shared by all its views. ``clock`` drives everything."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.answers = answers_of(settings)
        self.has_accounting = self.answers.capability(Capability.ACCOUNTING_HISTORY).yes
        self.now = clock.now()
        self.agenda = Agenda()
        self.machines = Machines(settings.nodes)
        self.faults = Faults()
        self.objects: list[WorldObject] = []
        self.by_job: dict[str, list[WorldObject]] = {}
        self.queue: dict[int, WorldObject] = {}
        self.capacity = settings.capacity
        self.boot_number = 1
        self.up = True
        self.hung = False
        self._running = 0
        self._in_use: Counter[str] = Counter()
        self.backlog: list[Callable[[], None]] = []
        self.last_ids: list[tuple[datetime, int]] = [(self.now, 0)]
        self.streams: list[Stream] = []
        self._free: list[str] | None = None
        self.shape: Shape = _SHAPES[settings.shape](self)

    # ------------------------------------------------------------------ time

    def settle(self) -> datetime:
        """Let everything happen that is due; return now."""
        until = max(self.now, self.clock.now())
        while entry := self.agenda.take(until):
            self.now = max(self.now, entry[0])
            entry[1]()
        self.now = until
        return until

    def after(self, delay: timedelta, action: Callable[[], None]) -> None:
        """Let ``action`` happen ``delay`` from now."""
        self.agenda.enter(self.now + delay, action)

    @property
    def boot(self) -> str:
        """The controller's incarnation."""
        return f"boot-{self.boot_number}"

    @property
    def serving(self) -> bool:
        """Whether the controller is up and at work."""
        return self.up and not self.hung

    # --------------------------------------------------------------- objects

    def create(self, order: StartOrder, record: Record) -> WorldObject:
        """Write down a new object under the next id."""
        serial = len(self.objects) + 1
        number = self._next_id() if self.shape.small_ids else serial
        item = WorldObject(serial=serial, id=number, order=order)
        item.versions.append((self.now, record))
        self.objects.append(item)
        self.by_job.setdefault(order.id, []).append(item)
        self.queue[item.id] = item
        self.tell(item)
        return item

    def _next_id(self) -> int:
        """Give the id after the last one; ids in use are passed over, and after the highest comes the lowest."""
        last, highest = self.last_ids[-1][1], self.settings.max_job_id
        if len(self.queue) >= highest:
            raise Busy(
                f"All {highest} job ids are in use.", todo="Wait until ended jobs are purged."
            )
        candidate = last % highest + 1
        while candidate in self.queue:
            candidate = candidate % highest + 1
        self.last_ids.append((self.now, candidate))
        _trim(self.last_ids, self.now - self.settings.save_window)
        return candidate

    def change(self, item: WorldObject, **changes: Any) -> None:
        """Write a new version of the object's record."""
        self._count(item, -1)
        item.versions.append((self.now, replace(item.record, **changes)))
        self._count(item, 1)
        _trim(item.versions, self.now - self.settings.save_window)
        self.tell(item)

    def tell(self, item: WorldObject) -> None:
        """Tell whoever watches how the object reads now."""
        if self.streams and self.visible(item):
            seen = self.shape.observe(item)
            for stream in self.streams:
                stream.send(seen)
            self.streams = [stream for stream in self.streams if not stream.closed]

    def watch(self) -> Stream:
        """Subscribe to every change from now on, after how every object reads now."""
        shown = [self.shape.observe(item) for item in self.objects if self.visible(item)]
        stream = Stream(shown, self.settings.watch_buffer)
        self.streams.append(stream)
        return stream

    def end_streams(self) -> None:
        """Cut off whoever watches."""
        for stream in self.streams:
            stream.end()
        self.streams = []

    def _count(self, item: WorldObject, by: int) -> None:
        """Keep count of what runs and of the nodes in use, so that no read needs to go through the whole queue."""
        record = item.record
        running = record.stage is Stage.RUNNING
        if item.queued:
            self._running += by if running else 0
            for name in record.nodes if running else record.cleaning:
                self._in_use[name] += by

    def visible(self, item: WorldObject) -> bool:
        """Whether a read can show it: the queue knows it, or accounting does."""
        return item.queued or (self.has_accounting and not item.forgotten)

    def named(self, ref: str) -> WorldObject:
        """Find the object of a ref, among all that ever were."""
        found = [item for item in self.by_job.get(_job_of(ref), ()) if self.shape.ref(item) == ref]
        if found:
            # A start that lands again, after a crash has forgotten it and its id, makes an object of the very same ref.
            return next((item for item in reversed(found) if self.visible(item)), found[-1])
        raise NotFound(
            f"No object has the ref {ref!r}.",
            todo="Find the job's objects and use one of their refs.",
        )

    def shown(self, ref: str) -> WorldObject:
        """Find the object of a ref, as far as the scheduler still shows it."""
        item = self.named(ref)
        if not self.visible(item):
            raise NotFound(
                f"The scheduler does not know {ref} (any more).",
                todo="This is no proof that it never ran.",
            )
        return item

    # ------------------------------------------------------ ends, and after

    def plan_purge(self, item: WorldObject) -> None:
        """Let the queue forget an ended object once it is old enough."""
        self.agenda.enter(self._purge_time(item), lambda: self._purge_if_old(item))

    def _purge_time(self, item: WorldObject) -> datetime:
        return max((item.record.ended or self.now) + self.settings.min_job_age, self.now)

    def _purge_if_old(self, item: WorldObject) -> None:
        if (
            self.serving
            and item.queued
            and item.record.stage is Stage.ENDED
            and self._purge_time(item) <= self.now
        ):
            if item.record.cleaning:
                self.after(timedelta(seconds=1), lambda: self._purge_if_old(item))
            else:
                self.purge(item)

    def purge(self, item: WorldObject) -> None:
        """Let the queue forget an object."""
        self.change(item, purged=True)
        del self.queue[item.id]

    def restore(self) -> None:
        """Gather the queue anew, after records went back to older versions."""
        self.queue = {item.id: item for item in self.objects if item.queued}
        self._running = 0
        self._in_use.clear()
        for item in self.queue.values():
            self._count(item, 1)

    def believed(self, execution: Execution) -> bool:
        """Whether the controller believes that this execution runs."""
        item = self.objects[execution.object - 1]
        return (
            item.queued
            and item.record.stage is Stage.RUNNING
            and item.record.execution == execution.serial
        )

    def report(self, execution: Execution) -> None:
        """Tell the controller that a program has ended, now or when both it and the batch node answer again."""
        reachable = self.serving and self.machines.nodes[execution.nodes[0]].silent is None
        execution.reported = reachable
        if reachable and self.believed(execution):
            self.shape.program_ended(self.objects[execution.object - 1], execution)

    # ----------------------------------------------------------------- nodes

    def free_nodes(self, item: WorldObject) -> list[str]:
        """List the nodes on which the controller could place the object now."""
        free = self._free if self._free is not None else self._list_free()
        exclude = item.order.exclude
        return [name for name in free if name not in exclude] if exclude else free

    def _list_free(self) -> list[str]:
        nodes = self.machines.nodes.values()
        return [n.name for n in nodes if n.state == "UP" and not self._in_use[n.name]]

    def observe_all(self, items: Iterable[WorldObject]) -> tuple[Observation, ...]:
        """Read many objects at one moment: the free nodes are looked for once, not once for each."""
        self._free = self._list_free()
        try:
            return tuple(map(self.shape.observe, items))
        finally:
            self._free = None

    def is_full(self) -> bool:
        """Whether as many objects run as may."""
        return self.capacity is not None and self._running >= self.capacity

    def watch_silence(self, name: str) -> None:
        """Let the controller notice a silent node: first that it misses its pings, then that it is down."""
        node, since = self.machines.nodes[name], self.machines.nodes[name].silent

        def miss() -> None:
            if self.serving and node.silent is not None and node.silent == since:
                node.missed = True

        def give_up() -> None:
            if self.serving and node.silent is not None and node.silent == since:
                self.declare_down(name)

        self.after(self.settings.slurmd_timeout / 4, miss)
        self.after(self.settings.slurmd_timeout, give_up)

    def declare_down(self, name: str) -> None:
        """Conclude that a node is down, and what follows for the objects on it."""
        node = self.machines.nodes[name]
        node.missed = node.down = True
        for item in list(self.queue.values()):
            if name in item.record.cleaning:
                self.shape.silenced(item, name)
            if item.record.stage is Stage.RUNNING and name in item.record.nodes:
                self.shape.node_down(item, name)

    def register(self, names: Iterable[str]) -> None:
        """Let nodes tell what they run: they kill what they should not, and report what ended unheard."""
        answering = {n for n in names if self.machines.nodes[n].silent is None}
        able = {n for n in answering if not self.machines.nodes[n].kill_fails}
        for execution in list(self.machines.live.values()):
            if not self.believed(execution):
                self.machines.kill(execution, execution.alive & able, Cause.FORGOTTEN, self.now)
        for item in list(self.queue.values()):
            if able.intersection(item.record.cleaning):
                self.change(item, cleaning=tuple(n for n in item.record.cleaning if n not in able))
            self._settle_account(item, answering)
            self.shape.registered(item, answering)

    def _settle_account(self, item: WorldObject, answering: set[str]) -> None:
        """Compare what the controller believes to run with what the nodes that answer say."""
        record = item.record
        if record.stage is not Stage.RUNNING or record.execution is None:
            return
        execution = self.machines.executions[record.execution - 1]
        gone = [n for n in record.nodes if n in answering and n not in execution.alive]
        if execution.end is None and gone and execution.live:
            self.shape.node_down(
                item, gone[0]
            )  # the node has restarted, and its processes are no more
        elif not execution.live and record.nodes[0] in answering:
            if execution.end is not None and not execution.reported:
                self.report(execution)
            else:
                self.shape.missing(item)

    def node_reports(self, names: Sequence[str]) -> tuple[NodeReport, ...]:
        """Tell what the controller says of these nodes, or of all."""
        fixed = self.settings.cessation
        return tuple(
            NodeReport(name=name, responding=fixed.ceased, state=fixed.detail)
            if fixed
            else self._node_report(name)
            for name in (names or self.machines.nodes)
        )

    def _node_report(self, name: str) -> NodeReport:
        node = self.machines.nodes.get(name)
        if node is None:
            return NodeReport(name=name, responding=False, state="UNKNOWN")
        responding = not (node.missed or node.down or node.fenced)
        return NodeReport(
            name=name, responding=responding, kill_failed=node.kill_fails, state=node.state
        )

    # --------------------------------------------------------------- serving

    def refuse_if_away(self) -> None:
        """Raise ``Unavailable`` where the controller cannot be reached."""
        if not self.up or self.faults.is_away(self.now):
            raise Unavailable(
                "The controller of the memory world does not answer.", todo="Try again later."
            )

    def __repr__(self) -> str:
        health = "hung" if self.hung else "up" if self.up else "down"
        return f"World({self.settings.shape}, {self.boot} {health}, {len(self.queue)} queued, {len(self.machines.live)} live)"


_SHAPES: dict[ShapeName, Callable[[World], Shape]] = {
    ShapeName.SLURM: SlurmShape,
    ShapeName.KUBEFLOW: KubeflowShape,
}


def _trim(versions: list[tuple[datetime, Any]], before: datetime) -> None:
    """Drop the versions that no crash can go back to: all but one of those older than the save window."""
    while len(versions) > 1 and versions[1][0] <= before:
        del versions[0]


def _job_of(ref: str) -> str:
    parts = ref.split(":")
    if len(parts) < 2:
        raise Invalid(f"{ref!r} is no ref of the memory adapter.", todo="Use a ref that it gave.")
    return parts[1]
