"""A history that sacct has printed: ``sacct --json``, or a table of ``sacct -P`` with its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dispatch.model.documents_leaves import is_list, is_mapping
from dispatch.model.documents_words import show
from dispatch.model.errors import Fault, Invalid
from dispatch.whatif.history.past import LONGEST_MS, MOST_NODES, History, Past
from dispatch.whatif.history.states import told_by

MOST_FAULTS = 20
LARGEST_CODE = 255
"""Of a status or a signal. Each is a kind of failure of its own, so their number must be bounded."""
LATEST = 1 << 40
"""Seconds since 1970; what is later is no time."""
COLUMNS = "JobID,State,Submit,Start,End,NNodes,ExitCode"
HOW = f"Print it with `sacct --json`, or with `sacct -P -X -o {COLUMNS}`."

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_COUNT = re.compile(r"([0-9]{1,6})(K?)")
_EXIT = re.compile(r"(\d{1,3}):(\d{1,3})")
_NO_TIME = frozenset({"", "Unknown", "None", "N/A", "NONE"})
_NODES = ("NNodes", "AllocNodes")


class _Reader:
    """Collects executions, faults and remarks."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._faults: list[Fault] = []
        self._executions: list[Past] = []
        self._strange: dict[str, int] = {}
        self._unfinished = 0

    def fault(self, path: str, found: object, allowed: str, line: int | None = None) -> None:
        self._faults.append(Fault(path=path, found=show(found), allowed=allowed, line=line))

    def add(
        self, state: str, code: tuple[int, int], times: Sequence[int | None], nodes: int
    ) -> None:
        """Take in one execution: its times of submission, start and end, in seconds."""
        submitted, started, ended = times
        told = told_by(state, *code)
        if told is None:
            self._strange[state] = self._strange.get(state, 0) + 1
        elif not told.ended or started is None or ended is None or ended < started:
            self._unfinished += 1
        else:
            queued = None if submitted is None else max(started - submitted, 0) * 1000
            ran = min((ended - started) * 1000, LONGEST_MS)
            self._executions.append(
                Past(started * 1000, ran, nodes, told.cause, told.exit_code, told.signal, queued)
            )

    def history(self) -> History:
        """Hand over what was read; ``Invalid`` has the faults."""
        if self._faults:
            raise Invalid(
                f"{self._where} is no history that can be read.",
                faults=tuple(self._faults[:MOST_FAULTS]),
                todo=HOW,
            )
        notes = [
            f"{count} with the state {show(state)} are left out: no version of Slurm prints it"
            for state, count in sorted(self._strange.items())[:MOST_FAULTS]
        ]
        if self._unfinished:
            notes.append(f"{self._unfinished} that never started or have not ended are left out")
        return History(tuple(sorted(self._executions, key=lambda past: past.started)), tuple(notes))


# --- the table


def read_table(text: str, where: str) -> History:
    """Read the table of ``sacct -P``: headings, then a line for each job; steps are passed over."""
    lines = text.splitlines()
    heads = lines[0].strip().split("|") if lines else []
    missing = [name for name in ("State", "Start", "End") if name not in heads]
    if not any(name in heads for name in _NODES):
        missing.append("NNodes")
    if missing:
        raise Invalid(
            f"{where} is no history: its first line has no column {', '.join(missing)}.", todo=HOW
        )
    reader = _Reader(where)
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("|")
        if len(cells) == len(heads) + 1 and not cells[-1]:
            cells.pop()  # -p, lower case, ends each line with a bar
        if not line.strip():
            continue
        if len(cells) != len(heads):
            reader.fault(f"line {number}", line[:80], f"{len(heads)} columns, as the headings have")
            continue
        row = dict(zip(heads, cells, strict=True))
        if "." not in row.get("JobID", ""):
            _read_row(reader, row, number)
    return reader.history()


def _read_row(reader: _Reader, row: Mapping[str, str], line: int) -> None:
    times: list[int | None] = []
    for name in ("Submit", "Start", "End"):
        text = row.get(name, "").strip()
        seconds = None if text in _NO_TIME else _seconds(text)
        if seconds is None and text not in _NO_TIME:
            reader.fault(name, text, "a time such as 2026-11-30T12:00:00, or Unknown", line)
            return
        times.append(seconds)
    name = next(name for name in _NODES if name in row)
    count = row[name].strip()
    nodes = _nodes(count)
    if nodes is None or nodes > MOST_NODES:
        reader.fault(name, count, f"a whole number up to {MOST_NODES}", line)
        return
    code = row.get("ExitCode", "").strip() or "0:0"
    match = _EXIT.fullmatch(code)
    if match is None or max(int(match[1]), int(match[2])) > LARGEST_CODE:
        reader.fault("ExitCode", code, "a status and a signal such as 0:0 or 1:0", line)
        return
    reader.add(row["State"].strip(), (int(match[1]), int(match[2])), times, max(nodes, 1))


def _nodes(text: str) -> int | None:
    """A count as sacct prints it: 2048 are ``2K``, unless it is told not to convert."""
    match = _COUNT.fullmatch(text)
    return int(match[1]) * (1024 if match[2] else 1) if match else None


def _seconds(text: str) -> int | None:
    """Seconds of a time in the cluster's own zone: only differences are ever used."""
    if not (text.isascii() and _TIME.fullmatch(text)):
        return None
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


# --- JSON


def read_jobs(jobs: object, where: str) -> History:
    """Read the list ``jobs`` of ``sacct --json``."""
    reader = _Reader(where)
    if not is_list(jobs):
        reader.fault("jobs", jobs, "a list")
        return reader.history()
    for index, job in enumerate(jobs):
        _read_job(reader, job, f"jobs[{index}]")
    return reader.history()


def _read_job(reader: _Reader, job: object, path: str) -> None:
    if not is_mapping(job):
        reader.fault(path, job, "a mapping")
        return
    words = _state(_get(job, "state"))
    if not words:
        reader.fault(f"{path}.state", _get(job, "state"), "a state, or a mapping with `current`")
        return
    times: list[int | None] = []
    for name in ("submission", "start", "end"):
        value = _number(_get(job, "time", name))
        if value is None or not 0 <= value <= LATEST:
            reader.fault(f"{path}.time.{name}", _get(job, "time", name), "a time in Unix seconds")
            return
        times.append(value or None)
    nodes = _number(_get(job, "allocation_nodes"))
    if nodes is None or not 0 <= nodes <= MOST_NODES:
        found = _get(job, "allocation_nodes")
        reader.fault(f"{path}.allocation_nodes", found, f"a whole number up to {MOST_NODES}")
        return
    status = _number(_get(job, "exit_code", "return_code")) or 0
    told = _get(job, "exit_code", "signal")
    signal = _number(_get(told, "id")) or _number(_get(told, "signal_id")) or 0  # until 23.02
    if not (0 <= status <= LARGEST_CODE and 0 <= signal <= LARGEST_CODE):
        reader.fault(f"{path}.exit_code", _get(job, "exit_code"), "a status and a signal")
        return
    reader.add(words, (status, signal), times, max(nodes, 1))


def _get(value: object, *names: str) -> Any:
    for name in names:
        value = value.get(name) if is_mapping(value) else None
    return value


def _state(value: object) -> str:
    """The state: a text in old releases, then a mapping of a text, now of a list."""
    current = _get(value, "current") if is_mapping(value) else value
    return next(_texts(current), "")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_list(value):
        yield from (one for one in value if isinstance(one, str))


def _number(value: object) -> int | None:
    """A number, as it is or as newer releases wrap it: ``{"set": true, "infinite": false, "number": 7}``."""
    if is_mapping(value):
        return _number(value.get("number")) if value.get("set", True) is True else 0
    return value if isinstance(value, int) and not isinstance(value, bool) else None
