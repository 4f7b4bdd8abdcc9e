"""What has happened to one job, in the order in which it truly did: the events of its record, and its executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar, cast

from dispatch.adapters.memory.records import Execution
from dispatch.model.journal import Accepted, Adopted, Entry, Event, Observed
from dispatch.model.status import Cause, Observation

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Written:
    """An event that was put on the disk: its place in the history, the true time, and the event in its entry."""

    place: int
    at: datetime
    entry: Entry


@dataclass(frozen=True, slots=True)
class Begun:
    """Processes of an execution that began, of the object ``ref``."""

    place: int
    at: datetime
    ref: str
    execution: Execution


@dataclass(frozen=True, slots=True)
class Told:
    """An event with its place and its true time."""

    place: int
    at: datetime
    event: Event


@dataclass
class History:
    """One job's history, and what people and the cluster have truly done to it.

    ``skew`` is by how much any host's clock may differ from the true time.
    """

    job: str
    label: str
    skew: timedelta = timedelta()
    counts_restarts: bool = True
    """Whether the scheduler counts every execution of an object, and tells signals from exit codes: Slurm does."""
    length: int = 0
    begun: list[Begun] = field(default_factory=list[Begun])
    opened_by_hand: set[str] = field(default_factory=set[str])
    """Refs of objects whose gate a person has opened by hand."""
    unlaunched: set[str] = field(default_factory=set[str])
    """Refs of objects whose launch has truly failed."""
    cancelled: set[str] = field(default_factory=set[str])
    """Refs of objects that somebody else has truly cancelled."""
    stopped: set[str] = field(default_factory=set[str])
    """Refs of objects that a stop of ours has truly ended."""
    successes: dict[str, str] = field(default_factory=dict[str, str])
    """The newest object that each process has read to have succeeded, where its last read showed one."""
    bereft: set[int] = field(default_factory=set[int])
    """Serials of executions of which a node was truly lost while they lived."""
    befell: dict[int, set[Cause]] = field(default_factory=dict[int, set[Cause]])
    """By the serial of an execution, what the scheduler has truly done to it; more than one can be true of its end."""
    lost: dict[str, datetime] = field(default_factory=dict[str, datetime])
    """When each node was truly lost last."""
    forgetful: bool = False
    """Whether the controller has ever crashed since the job was accepted."""
    set_back: list[int] = field(default_factory=list[int])
    """Places at which a person has set the records back to an older copy."""
    recorded: dict[int, Observation] = field(default_factory=dict[int, Observation])
    """By the number of a submission, what the record as it stands has read last under it."""
    written: list[Written] = field(default_factory=list[Written])
    _told: dict[type[Event], list[Told]] = field(default_factory=dict[type[Event], list[Told]])

    def write(self, entry: Entry, at: datetime) -> Written:
        """Add an event of the record."""
        self.length += 1
        one = Written(self.length, at, entry)
        self.written.append(one)
        self._read(entry)
        told = Told(self.length, at, entry.event)
        self._told.setdefault(type(entry.event), []).append(told)
        return one

    def _read(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, Observed | Adopted):
            self.recorded[event.submission] = event.observation

    def rewind(self, entries: Sequence[Entry]) -> None:
        """Take note that the record was set back to these entries, which may be of another past than the last ones."""
        self.set_back.append(self.length)
        self.recorded.clear()
        for entry in entries:
            self._read(entry)

    def begin(self, ref: str, execution: Execution, at: datetime) -> Begun:
        """Add an execution."""
        self.length += 1
        one = Begun(self.length, at, ref, execution)
        self.begun.append(one)
        return one

    def told(self, kind: type[Event]) -> list[Told]:
        """The events of that kind."""
        return self._told.get(kind, [])

    def events(self, kind: type[E]) -> list[E]:
        """The events of that kind, without when and where."""
        return [cast("E", told.event) for told in self._told.get(kind, ())]

    @property
    def header(self) -> Accepted:
        """The header of the record."""
        return self.events(Accepted)[0]
