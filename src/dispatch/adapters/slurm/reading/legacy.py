"""The text of ``squeue`` and ``sacct`` before 23.11, as rows.

Their JSON is of no use there: ``squeue --json`` of 22.05 ignores every filter and so lists the whole cluster, and its
``sacct --json`` shows exit code 0 for a job that failed with 3 (both seen on 22.05.8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatch.adapters.slurm.reading.documents import (
    AccountingRow,
    QueueRow,
    StepRow,
    exit_of,
    states,
)
from dispatch.model.errors import Unavailable

SEPARATOR = "\x1f"
"""Between the fields of a line; a name or a comment cannot hold it by accident."""

_RECORD = re.compile(rf"[0-9]{{1,12}}(?:\.[A-Za-z0-9_+]+)?{SEPARATOR}")

QUEUE_FIELDS = (
    "JobID", "Name", "State", "Reason", "SubmitTime", "StartTime", "EndTime", "exit_code", "RestartCnt", "Requeue",
    "PriorityLong", "NodeList", "PreemptTime", "Comment",
)  # fmt: skip
"""The comment is last: a separator in it does no harm."""

ACCOUNTING_FIELDS = (
    "JobIDRaw", "JobName", "State", "ExitCode", "DerivedExitCode", "Submit", "Start", "End", "TimelimitRaw", "NodeList",
    "Reason", "SubmitLine", "Comment",
)  # fmt: skip


def queue_rows(text: str) -> list[QueueRow]:
    """Read the lines of ``squeue -O`` with these fields. Raises ``Unavailable``: a line that is cut says nothing."""
    return [_queue_row(fields) for fields in _lines(text, QUEUE_FIELDS, "squeue -O")]


def _queue_row(of: dict[str, str]) -> QueueRow:
    raw = of["exit_code"]
    return QueueRow(
        number=_whole(of["JobID"]),
        name=of["Name"],
        comment=of["Comment"],
        states=states(of["State"]),
        reason=of["Reason"],
        # 22.05 prints the raw wait status, later ones code:signal.
        exit=exit_of(raw if ":" in raw else _whole(raw)),
        submitted=_whole(of["SubmitTime"]),
        start=_whole(of["StartTime"]),
        end=_whole(of["EndTime"]),
        preempted=_whole(of["PreemptTime"]),
        restarts=_whole(of["RestartCnt"]),
        requeue=of["Requeue"] in {"1", "yes"},
        held=of["PriorityLong"] == "0",
        nodes=of["NodeList"],
    )


def accounting_rows(text: str) -> list[AccountingRow]:
    """Read the lines of ``sacct -D -P`` with these fields: a line a run, then one for each of its steps."""
    rows: list[AccountingRow] = []
    steps: list[list[StepRow]] = []
    for of in _lines(text, ACCOUNTING_FIELDS, "sacct -P"):
        number, _, step = of["JobIDRaw"].partition(".")
        if not step:
            rows.append(_accounting_row(of, number))
            steps.append([])
        elif rows and rows[-1].number == _whole(number):
            steps[-1].append(
                StepRow(name=step, states=states(of["State"]), exit=exit_of(of["ExitCode"]))
            )
    return [_with_steps(row, tuple(own)) for row, own in zip(rows, steps, strict=True)]


def _accounting_row(of: dict[str, str], number: str) -> AccountingRow:
    _, _, killer = of["State"].partition(" by ")
    nodes = of["NodeList"]
    return AccountingRow(
        number=_whole(number),
        name=of["JobName"],
        comment=of["Comment"],
        submit_line=of["SubmitLine"],
        states=states(of["State"]),
        reason=of["Reason"],
        exit=exit_of(of["ExitCode"]),
        derived=exit_of(of["DerivedExitCode"]),
        submitted=_whole(of["Submit"]),
        start=_whole(of["Start"]),
        end=_whole(of["End"]),
        limit=_whole(of["TimelimitRaw"]),
        nodes="" if nodes == "None assigned" else nodes,
        killer=killer.removesuffix("+"),
    )


def _with_steps(row: AccountingRow, steps: tuple[StepRow, ...]) -> AccountingRow:
    return AccountingRow(
        **{name: getattr(row, name) for name in row.__struct_fields__ if name != "steps"},
        steps=steps,
    )


def _lines(text: str, names: tuple[str, ...], asked: str) -> Iterator[dict[str, str]]:
    records: list[str] = []
    for line in text.split("\n"):
        if _RECORD.match(line):
            records.append(line)
        elif line and records:
            records[-1] += f" {line}"  # a comment with a line break in it
        elif line:
            raise _unreadable(asked, line)
    for record in records:
        fields = record.split(SEPARATOR, len(names) - 1)
        if len(fields) != len(names):
            raise _unreadable(asked, record)
        yield dict(zip(names, (field.rstrip(SEPARATOR) for field in fields), strict=True))


def _unreadable(asked: str, line: str) -> Unavailable:
    return Unavailable(f"{asked} printed a line that dispatch cannot read: {line[:200]!r}.")


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
