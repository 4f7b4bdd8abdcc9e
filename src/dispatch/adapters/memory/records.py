"""What the controller writes down of an object, and what really runs on the nodes: two things that may differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from dispatch.model.status import ObjectKey

if TYPE_CHECKING:
    from datetime import datetime

    from dispatch.model.epoch import Epoch
    from dispatch.model.status import By, Cause
    from dispatch.spi.adapter import HoldMeta, StartOrder


class Stage(StrEnum):
    """Where the controller believes an object to be."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One version of what the controller knows of an object; a crash takes it back to an older one.

    ``begin`` is in Unix seconds. ``flag`` is who set the hold flag. ``cleaning`` are the nodes that have not yet said that
    they killed what they ran.
    """

    submitted: datetime
    begin: int | None
    flag: By | None
    requeue: bool
    stage: Stage = Stage.PENDING
    restarts: int = 0
    state: str = "PENDING"
    reason: str = "None"
    exit_code: str = "0:0"
    nodes: tuple[str, ...] = ()
    failed_nodes: tuple[str, ...] = ()
    cleaning: tuple[str, ...] = ()
    started: datetime | None = None
    ended: datetime | None = None
    cancelled_by: str | None = None
    execution: int | None = None
    """The serial number of the execution that it believes to run, or to have run last."""
    fenced: bool = False
    """The job script found its ticket taken, and ran nothing."""
    refused: bool = False
    """The node refused the launch, so no batch step was ever there."""
    purged: bool = False
    name: str | None = None
    """What somebody has renamed it to by hand; None for the name that it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainJobRecord(Record):
    """What the API server keeps of a TrainJob and its Workload. ``flag`` is who else deactivated the Workload."""

    gated: bool = True
    hold: HoldMeta | None = None
    """Our hold: the Workload is inactive, and its annotations say who, until when and why."""
    last_instance: int = 0
    """The highest instance of a hold that it ever had (12, B5)."""
    stopping: bool = False
    """Suspended for a stop that has not deleted it yet."""
    deleting: bool = False
    """Deleted, and still shown for as long as pods of it are left."""
    lost_at: datetime | None = None
    """When the node of one of its pods was given up."""
    max_restarts: int = 0
    """How often the JobSet restarts a program that failed, by itself."""


@dataclass(slots=True, kw_only=True, eq=False)
class Execution:
    """Processes of one object, as they really are. ``alive`` are the nodes on which any is left."""

    serial: int
    object: int
    job: str
    epoch: Epoch
    attempt: str
    nodes: tuple[str, ...]
    alive: set[str]
    started: datetime
    ended: datetime | None = None
    cause: Cause | None = None
    end: str | None = None
    """How the program itself ended, as Slurm writes it (``3:0``, ``0:11``); None where it was killed or still runs."""
    reported: bool = True

    @property
    def live(self) -> bool:
        """Whether any process of it is left."""
        return bool(self.alive)


@dataclass(slots=True, kw_only=True, eq=False)
class WorldObject:
    """One object that was ever created, with the versions of its record that a crash can go back to."""

    serial: int
    id: int
    order: StartOrder
    versions: list[tuple[datetime, Record]] = field(default_factory=list["tuple[datetime, Record]"])
    executions: list[Execution] = field(default_factory=list[Execution])
    forgotten: bool = False
    """A crash took even its submission."""
    key: ObjectKey = field(init=False)
    """Whose object it is."""
    ref: str = field(init=False, default="")
    """Its ref, which never changes; the shape gives it."""

    def __post_init__(self) -> None:
        order = self.order
        self.key = ObjectKey(
            job=order.id, store=order.store, submission=order.submission, attempt=order.attempt
        )

    @property
    def record(self) -> Record:
        """What the controller knows now."""
        return self.versions[-1][1]

    @property
    def queued(self) -> bool:
        """Whether the controller itself still knows it."""
        return not self.forgotten and not self.record.purged

    @property
    def live(self) -> list[Execution]:
        """Its executions that have processes left."""
        return [execution for execution in self.executions if execution.live]


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """One machine, as it is (``silent`` since then), and as the controller has noticed (``missed``, then ``down``)."""

    name: str
    silent: datetime | None = None
    missed: bool = False
    down: bool = False
    fenced: bool = False
    kill_fails: bool = False

    @property
    def state(self) -> str:
        """What the controller says of it."""
        if self.fenced:
            return "POWERED_DOWN"
        if self.kill_fails:
            return "DRAINED"
        return "DOWN*" if self.down else "UP*" if self.missed else "UP"
