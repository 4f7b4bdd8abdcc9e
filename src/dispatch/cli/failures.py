"""Errors to one message and one exit code. No traceback reaches a user who has not asked for it."""

from __future__ import annotations

import json
import os
import traceback
from typing import Any

import click

from dispatch.cli.exits import KINDS, Exit

TRACEBACK_VARIABLE = "DISPATCH_TRACEBACK"


def report(error: BaseException, *, as_json: bool) -> Exit:
    """Tell an error on standard error, and return the exit code that it stands for."""
    error = _innermost(error)
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    document, code = _document(error)
    if as_json:
        text = json.dumps({"schemaVersion": 1, "error": document})
    else:
        text = _text(document, error)
    click.echo(text, err=True)
    return code


def _innermost(error: BaseException) -> BaseException:
    """Find what a group of tasks failed of: one error of ours says more than the group."""
    members: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return _innermost(members[0]) if members else error


def _document(error: BaseException) -> tuple[dict[str, Any], Exit]:
    from dispatch.model.errors import DispatchError, Invalid, Refused  # noqa: PLC0415 - not at help time

    match error:
        case DispatchError():
            document: dict[str, Any] = {"kind": error.kind, "what": error.what, "todo": error.todo}
            if isinstance(error, Invalid):
                document["faults"] = [_fault(fault) for fault in error.faults]
            if isinstance(error, Refused):
                document["reasons"] = list(error.reasons)
            return document, KINDS.get(error.kind, Exit.INTERNAL)
        case click.ClickException():
            return _usage(error)
        case KeyboardInterrupt() | click.Abort():
            todo = "What was recorded stays so; `dispatch status` shows it."
            return {"kind": "Interrupted", "what": "Interrupted.", "todo": todo}, Exit.INTERRUPTED
        case _:
            what = f"dispatch met a fault of its own: {type(error).__name__}: {error}".rstrip(": ")
            told = f"Nothing is half done. Please report it, with what {TRACEBACK_VARIABLE}=1 in front of the command prints."
            todo = " ".join((*getattr(error, "__notes__", ()), told))
            return {"kind": "Internal", "what": what, "todo": todo}, Exit.INTERNAL


def _fault(fault: Any) -> dict[str, Any]:
    told = {"path": fault.path, "found": fault.found, "allowed": fault.allowed}
    return told | ({"line": fault.line} if fault.line else {})


def _usage(error: click.ClickException) -> tuple[dict[str, Any], Exit]:
    context = getattr(error, "ctx", None)
    path = context.command_path if isinstance(context, click.Context) else "dispatch"
    todo = f"See `{path} --help`."
    return {"kind": "Usage", "what": error.format_message(), "todo": todo}, Exit.USAGE


def _text(document: dict[str, Any], error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return f"interrupted; {document['todo']}"
    from dispatch.cli.terminal import clean  # noqa: PLC0415 - not at help time

    # What a scheduler, a file or a command line said stands in these texts: its control characters are shown, not obeyed.
    lines = [clean(line) for line in f"error: {document['what']}".split("\n")]
    for fault in document.get("faults", ()):
        where = f"line {fault['line']}, {fault['path']}" if "line" in fault else fault["path"]
        lines += [
            f"  {clean(where)}",
            f"      found    {clean(fault['found'])}",
            f"      allowed  {clean(fault['allowed'])}",
        ]
    lines += [f"  - {clean(reason)}" for reason in document.get("reasons", ())]
    lines += [clean(line) for line in document["todo"].split("\n") if line]
    return "\n".join(lines)
