"""The picture of the demo: a timeline of the job and of each node, and what happened last. Pure: frames in, lines out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from dispatch.cli.demo_story import NODES, Frame
from dispatch.cli.telling import Told
from dispatch.model.epoch import Epoch
from dispatch.model.status import Cause, State

COLUMN = timedelta(seconds=4)
LAST = 9

SUBMISSIONS = ("cyan", "blue", "green", "magenta")
STATES = {
    State.PENDING: ("·", "yellow"),
    State.RUNNING: ("█", "cyan"),
    State.SUCCEEDED: ("✓", "bold green"),
    State.FAILED: ("×", "red"),
    State.CANCELLED: ("×", "magenta"),
    State.UNKNOWN: ("?", "red"),
}
WAITS = {Cause.AWAITING_CESSATION: ("?", "magenta"), Cause.BACKING_OFF: ("z", "yellow")}


class Mark(NamedTuple):
    """One letter of the picture and its style, in rich's words."""

    letter: str
    style: str = ""


Line = list[Mark]


class Timeline:
    """Keeps a column of marks for every few seconds of virtual time."""

    def __init__(self) -> None:
        self._rows: dict[str, Line] = {
            name: [] for name in ("job", *(f"n{i + 1}" for i in range(NODES)))
        }
        self._next: datetime | None = None

    def add(self, frame: Frame) -> None:
        """Take in a frame; one that belongs to the last column takes its place."""
        is_new = self._next is None or frame.now >= self._next
        if is_new:
            self._next = (self._next or frame.now) + COLUMN
        for name, line in self._rows.items():
            mark = job_mark(frame) if name == "job" else node_mark(frame, name)
            if is_new:
                line.append(mark)
            else:
                line[-1] = mark

    def lines(self) -> list[Line]:
        """Draw a row for the job and for each node."""
        return [[Mark(f"{name:<5}", "bold"), *marks] for name, marks in self._rows.items()]


def job_mark(frame: Frame) -> Mark:
    """Draw the job's state at one time."""
    cause = frame.explanation.cause
    if cause is not None and cause in WAITS:
        return Mark(*WAITS[cause])
    return Mark(*STATES[frame.explanation.state])


def node_mark(frame: Frame, name: str) -> Mark:
    """Draw what a node really does, which is more than the scheduler knows."""
    for execution in frame.live:
        if name in execution.alive:
            submission = Epoch.of(execution.epoch).submission
            colour = SUBMISSIONS[(submission - 1) % len(SUBMISSIONS)]
            return Mark("▓" if name in frame.lost else "█", "red" if name in frame.lost else colour)
    return Mark("×", "red") if name in frame.lost else Mark("·", "dim")


def happenings(
    told: Sequence[Told], played: Sequence[tuple[datetime, str]]
) -> list[tuple[datetime, Mark]]:
    """Merge what the record says with what was played on the cluster, by time."""
    recorded = [(event.at, Mark(f"  {event.text}")) for event in told]
    done = [(at, Mark(f"▶ {text}", "bold yellow")) for at, text in played]
    return sorted([*done, *recorded], key=lambda item: item[0])


def clock(at: datetime, start: datetime) -> str:
    """Write the time since the start: 02:05."""
    seconds = int((at - start).total_seconds())
    return f"{seconds // 60:02}:{seconds % 60:02}"


def log_lines(
    happened: Sequence[tuple[datetime, Mark]], start: datetime, most: int | None
) -> list[Line]:
    """Draw the last happenings, or all."""
    shown = happened if most is None else happened[-most:]
    return [[Mark(f"{clock(at, start)}  ", "dim"), mark] for at, mark in shown]


LEGEND: Line = [
    Mark("one column is 4 s; on the nodes, in truth: submissions "),
    Mark("1", SUBMISSIONS[0]), Mark(" "), Mark("2", SUBMISSIONS[1]), Mark(" "), Mark("3", SUBMISSIONS[2]),
    Mark(", "), Mark("▓", "red"), Mark(" silent"),
]  # fmt: skip
