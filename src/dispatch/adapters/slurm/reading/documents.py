"""What ``squeue`` and ``sacct`` print, of every release, as one kind of row.

Slurm changes the shape of its documents from release to release: a state is text or a list, a number is plain or
``{set, infinite, number}``, an exit is a struct or a raw wait status. All that is told apart here, and nowhere else.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from dispatch.model.base import Value
from dispatch.model.errors import Unavailable

_BY_UID = re.compile(r"(\w+) by (\d+)")


class Exit(Value):
    """How a process ended: its exit code, or the number of the signal that ended it."""

    code: int = 0
    signal: int = 0

    def __str__(self) -> str:
        return f"{self.code}:{self.signal}"


class QueueRow(Value):
    """One job as the controller knows it. Times are Unix seconds, 0 where there is none; ``limit`` is in minutes."""

    number: int
    name: str
    comment: str = ""
    states: tuple[str, ...] = ()
    reason: str = ""
    description: str = ""
    exit: Exit = Exit()
    derived: Exit = Exit()
    submitted: int = 0
    start: int = 0
    end: int = 0
    preempted: int = 0
    limit: int = 0
    restarts: int = 0
    requeue: bool = False
    held: bool = False
    nodes: str = ""
    failed_node: str = ""
    sluid: str = ""


class StepRow(Value):
    """One step of a run: ``batch`` is the job script."""

    name: str
    states: tuple[str, ...]
    exit: Exit


class AccountingRow(Value):
    """One run of a job as accounting knows it. ``killer`` is a user's name or number, as the release has it."""

    number: int
    name: str
    comment: str = ""
    submit_line: str = ""
    states: tuple[str, ...] = ()
    reason: str = ""
    exit: Exit = Exit()
    derived: Exit = Exit()
    submitted: int = 0
    start: int = 0
    end: int = 0
    limit: int = 0
    restarts: int | None = None
    nodes: str = ""
    failed_node: str = ""
    killer: str = ""
    sluid: str = ""
    steps: tuple[StepRow, ...] = ()


class _Document(msgspec.Struct):
    jobs: list[Any] | None = None
    errors: list[Any] | None = None


def read_document(text: bytes, asked: str) -> list[dict[str, Any]]:
    """Decode what ``asked`` printed into its jobs. Raises ``Unavailable``: what cannot be read says nothing."""
    try:
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unavailable(
            f"{asked} returned success but not the document that was asked for: {error}.",
            todo="Run it by hand; dispatch tries again at the next poll.",
        ) from error
    if document.errors:
        raise Unavailable(f"{asked} reports errors: {_plain(document.errors)}.")
    if document.jobs is None:
        raise Unavailable(f"{asked} returned a document without jobs.")
    if not all(isinstance(job, dict) for job in document.jobs):
        raise Unavailable(f"{asked} returned a job in a shape that dispatch does not know.")
    return cast("list[dict[str, Any]]", document.jobs)


def _plain(errors: list[Any]) -> str:
    return "; ".join(
        text(_in(error, "description")) or text(_in(error, "error")) or str(error)
        for error in errors
    )


def queue_row(job: dict[str, Any]) -> QueueRow:
    """Read one job of ``squeue --json``. Raises ``Unavailable`` where id or name are missing."""
    return QueueRow(
        number=_identity(job),
        name=text(job.get("name")),
        comment=text(job.get("comment")),
        states=states(job.get("job_state")),
        reason=text(job.get("state_reason")),
        description=text(job.get("state_description")),
        exit=exit_of(job.get("exit_code")),
        derived=exit_of(job.get("derived_exit_code")),
        submitted=number(job.get("submit_time")),
        start=number(job.get("start_time")),
        end=number(job.get("end_time")),
        preempted=number(job.get("preempt_time")),
        limit=number(job.get("time_limit")),
        restarts=number(job.get("restart_cnt")),
        requeue=job.get("requeue") in (True, 1),
        held=job.get("hold") is True,
        nodes=text(job.get("nodes")),
        failed_node=text(job.get("failed_node")),
        sluid=text(_in(job, "step_id", "sluid")),
    )


def accounting_row(job: dict[str, Any]) -> AccountingRow:
    """Read one run of ``sacct -D --json``. Raises ``Unavailable`` where id or name are missing."""
    states_seen = states(_in(job, "state", "current"))
    times = job.get("time")
    return AccountingRow(
        number=_identity(job),
        name=text(job.get("name")),
        comment=text(_in(job, "comment", "job")),
        submit_line=text(job.get("submit_line")),
        states=states_seen,
        reason=text(_in(job, "state", "reason")),
        exit=exit_of(job.get("exit_code")),
        derived=exit_of(job.get("derived_exit_code")),
        submitted=number(_in(times, "submission")),
        start=number(_in(times, "start")),
        end=number(_in(times, "end")),
        limit=number(_in(times, "limit")),
        restarts=number(job["restart_cnt"]) if "restart_cnt" in job else None,
        nodes=_nodes(job.get("nodes")),
        failed_node=text(job.get("failed_node")),
        killer=text(job.get("kill_request_user")) or _killer(_in(job, "state", "current")),
        sluid=text(job.get("sluid")),
        steps=tuple(_step(step) for step in _list(job.get("steps"))),
    )


def _step(step: object) -> StepRow:
    # 5.batch, or batch in 22.05. Not the step's name: that is the program's, and a program may be called batch.
    name = text(_in(step, "step", "id")).rpartition(".")[2]
    return StepRow(
        name=name, states=states(_in(step, "state")), exit=exit_of(_in(step, "exit_code"))
    )


def _identity(job: dict[str, Any]) -> int:
    found = number(job.get("job_id"))
    if found <= 0 or not isinstance(job.get("name"), str):
        raise Unavailable(
            "Slurm listed a job without an id or a name.",
            todo="Run squeue by hand; this release is not known.",
        )
    return found


def number(value: object) -> int:
    """A number, plain or as ``{set, infinite, number}``; 0 where it is not set, infinite or no whole number."""
    match value:
        case bool():
            return 0
        case int():
            return value
        case {"set": True, "infinite": False, "number": int(found)} if not isinstance(found, bool):
            return found
        case _:
            return 0


def text(value: object) -> str:
    """Text, or nothing where it is none. A control character would break what people read."""
    match value:
        case str():
            return (
                value
                if value.isprintable()
                else "".join(c if c.isprintable() else " " for c in value)
            )
        case int() if not isinstance(value, bool):
            return str(value)
        case _:
            return ""


def states(value: object) -> tuple[str, ...]:
    """The state and its flags, in upper case: from text, from a list, or from ``CANCELLED by 2001``."""
    match value:
        case str():
            first = value.strip().removesuffix("+")
            return (first.split()[0].upper(),) if first else ()
        case list():
            return tuple(
                name for entry in cast("list[object]", value) for name in states(text(entry))
            )
        case _:
            return ()


def _killer(value: object) -> str:
    found = _BY_UID.fullmatch(text(value))
    return found[2] if found else ""


def exit_of(value: object) -> Exit:
    """How it ended: from a struct, from ``3:0``, or from 22.05's raw wait status."""
    match value:
        case str():
            code, _, signal = value.partition(":")
            return Exit(code=_digits(code), signal=_digits(signal))
        case int() if not isinstance(value, bool):
            return Exit(code=value >> 8 & 0xFF, signal=value & 0x7F)
        case {"signal": {"signal_id": int(signal)}} if not isinstance(signal, bool):
            return Exit(signal=signal)
        case _:
            return Exit(
                code=number(_in(value, "return_code")), signal=number(_in(value, "signal", "id"))
            )


def _digits(value: str) -> int:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0


def _nodes(value: object) -> str:
    found = text(value)
    return "" if found in {"None assigned", "(null)"} else found


def _in(value: object, *path: str) -> object:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, object]", value).get(name)
    return value


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
