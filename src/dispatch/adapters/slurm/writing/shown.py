"""What ``scontrol show job`` says of an object, as far as a write has to know it."""

from __future__ import annotations

import re

from dispatch.adapters.slurm.reading.key import Ref
from dispatch.model.base import Value

_FIELD = re.compile(r"(?:^| )([A-Z][A-Za-z/:]*)=([^ ]*)")

WAITING = frozenset({"PENDING"})
ALIVE = frozenset(
    {
        "RUNNING",
        "SUSPENDED",
        "CONFIGURING",
        "REQUEUED",
        "SIGNALING",
        "STAGE_OUT",
        "STOPPED",
        "RESIZING",
    }
)
CLEANING = "COMPLETING"


class Shown(Value):
    """One object as the controller shows it. ``begin`` is in Unix seconds, ``None`` where it has none."""

    name: str
    comment: str
    state: str
    reason: str
    held: bool
    requeue: bool
    begin: int | None

    @property
    def pending(self) -> bool:
        """Whether it waits."""
        return self.state in WAITING

    @property
    def ended(self) -> bool:
        """Whether it has ended, its clean-up perhaps not."""
        return self.state not in WAITING | ALIVE

    def instance(self, ref: Ref) -> int | None:
        """The hold instance for which it waits; 0 is the gate."""
        return ref.instance(self.begin)


def read_rows(text: str, mark: str) -> dict[int, Shown]:
    """Read what many.sh has squeue print, by the objects' numbers; one that is shown twice is left out: neither is believed."""
    *words, _ = text.split(f"{mark}=")
    rows = [words[start : start + _ROW] for start in range(0, len(words) - _ROW + 1, _ROW)]
    numbers = [row[0].strip() for row in rows]
    return {
        int(number): _of_row(row)
        for number, row in zip(numbers, rows, strict=True)
        if number.isdecimal() and numbers.count(number) == 1
    }


_ROW = 8


def _of_row(row: list[str]) -> Shown:
    _, name, comment, state, reason, begin, priority, requeue = row
    return Shown(
        name=name,
        comment=comment,
        state=state,
        reason=reason,
        held=priority == "0",
        requeue=requeue in {"1", "yes"},
        begin=int(begin) if begin.isdecimal() else None,
    )


def read_shown(text: str) -> Shown:
    """Read the many-line form, whose fields of free text have a line of their own."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("Comment="):
            fields.setdefault("Comment", stripped.removeprefix("Comment="))
            continue
        for name, value in _FIELD.findall(stripped):
            fields.setdefault(name, value)
    begin = fields.get("StartTime", "")
    return Shown(
        name=fields.get("JobName", ""),
        comment=fields.get("Comment", ""),
        state=fields.get("JobState", ""),
        reason=fields.get("Reason", ""),
        held=fields.get("Priority") == "0",
        requeue=fields.get("Requeue") == "1",
        begin=int(begin) if begin.isdecimal() else None,
    )
