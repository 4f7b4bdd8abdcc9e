"""What dispatch logs while a command runs, on standard error: lines for people, or JSON Lines; never a traceback."""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime

import click

from dispatch.cli.failures import TRACEBACK_VARIABLE
from dispatch.cli.telling import moment
from dispatch.cli.terminal import clean


class Lines(logging.Formatter):
    """A line for people; with times for what runs for long."""

    def __init__(self, *, times: bool) -> None:
        super().__init__()
        self._times = times

    def format(self, record: logging.LogRecord) -> str:
        """Write a line."""
        text = f"{record.levelname.lower()}: {clean(record.getMessage())}{_fault(record)}"
        return f"{_time(record)} {text}" if self._times else text


class Documents(logging.Formatter):
    """A JSON document a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a document."""
        log = {
            "at": _time(record),
            "level": record.levelname.lower(),
            "part": record.name,
            "text": record.getMessage() + _fault(record),
        }
        return json.dumps({"schemaVersion": 1, "log": log})


class Stderr(logging.Handler):
    """Writes to whatever standard error is now."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        click.echo(self.format(record), err=True)


def set_up(*, as_json: bool, long: bool = False) -> None:
    """Show what dispatch logs: warnings, and with ``long`` also what a supervisor reports, with times."""
    handler = Stderr()
    handler.setFormatter(Documents() if as_json else Lines(times=long))
    log = logging.getLogger("dispatch")
    log.handlers = [handler]
    log.propagate = False
    log.setLevel(logging.INFO if long else logging.WARNING)


def _time(record: logging.LogRecord) -> str:
    return moment(datetime.fromtimestamp(record.created, UTC))


def _fault(record: logging.LogRecord) -> str:
    """Tell the exception of a record in a line, or wholly where that was asked for."""
    if not record.exc_info or record.exc_info[1] is None:
        return ""
    if os.environ.get(TRACEBACK_VARIABLE):
        return "\n" + logging.Formatter().formatException(record.exc_info)
    error = record.exc_info[1]
    return f" [{type(error).__name__}: {clean(str(error))}; {TRACEBACK_VARIABLE}=1 shows where]"
