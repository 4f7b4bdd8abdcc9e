"""The nodes and the processes on them: the ground truth, which the controller only hears of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Execution, Node

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from dispatch.adapters.memory.records import WorldObject
    from dispatch.model.epoch import Epoch
    from dispatch.model.status import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTicket:
    """The mark of one started epoch in the shared directory (12, O4), and how its program ended."""

    execution: int
    object: int
    nodes: tuple[str, ...]
    end: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Two executions of one job that lived at once."""

    job: str
    at: datetime
    first: int
    second: int


class Machines:
    """All nodes, all executions that ever were, and the tickets of their starts."""

    def __init__(self, count: int) -> None:
        self.nodes = {
            name: Node(name=name) for name in (f"n{number}" for number in range(1, count + 1))
        }
        self.executions: list[Execution] = []
        self.live: dict[int, Execution] = {}
        self.tickets: dict[str, dict[Epoch, StartTicket]] = {}
        self.clashes: list[Clash] = []

    def is_fenced(self, job: str, epoch: Epoch) -> bool:
        """Whether this epoch, or a higher one, has already started."""
        return any(taken >= epoch for taken in self.tickets.get(job, ()))

    def launch(
        self, item: WorldObject, epoch: Epoch, nodes: tuple[str, ...], at: datetime
    ) -> Execution:
        """Start the processes of an execution, and write down whom they overlap."""
        serial = len(self.executions) + 1
        job = item.order.id
        execution = Execution(
            serial=serial,
            object=item.serial,
            job=job,
            epoch=epoch,
            attempt=f"{item.order.attempt}.{serial}",
            nodes=nodes,
            alive=set(nodes),
            started=at,
        )
        self.clashes += [
            Clash(job=job, at=at, first=other.serial, second=serial)
            for other in self.live.values()
            if other.job == job
        ]
        self.tickets.setdefault(job, {}).setdefault(
            epoch, StartTicket(execution=serial, object=item.serial, nodes=nodes)
        )
        self.executions.append(execution)
        self.live[serial] = execution
        item.executions.append(execution)
        return execution

    def end(self, execution: Execution, text: str, cause: Cause | None, at: datetime) -> None:
        """Let the program end by itself on all its nodes; the job script writes the end beside the ticket."""
        execution.end = text
        tickets = self.tickets[execution.job]
        ticket = tickets[execution.epoch]
        if ticket.execution == execution.serial:
            tickets[execution.epoch] = replace(ticket, end=text)
        self.kill(execution, tuple(execution.alive), cause, at)

    def kill(
        self, execution: Execution, nodes: Iterable[str], cause: Cause | None, at: datetime
    ) -> None:
        """End the processes of an execution on some nodes. The first cause is the true one."""
        if execution.serial not in self.live:
            return
        execution.cause = execution.cause or cause
        execution.alive.difference_update(nodes)
        if not execution.alive:
            execution.ended = at
            del self.live[execution.serial]
