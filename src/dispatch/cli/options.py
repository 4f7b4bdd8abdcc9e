"""The options that commands share, and the words that they take."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from dispatch.model.quantity import Duration

F = TypeVar("F", bound=Callable[..., Any])


class Common(NamedTuple):
    """What every command is told: how to answer, and where everything is."""

    as_json: bool = False
    records: Path | None = None
    config: Path | None = None


def common_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that all have; it takes them as its first argument."""

    @click.option("--json", "as_json", is_flag=True, help="Answer in JSON, a document a line.")
    @click.option(
        "--records", type=click.Path(path_type=Path), metavar="PATH", help="Where the records are."
    )
    @click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The only configuration to read.",
    )
    @wraps(function)
    def with_common(
        *args: Any, as_json: bool, records: Path | None, config: Path | None, **options: Any
    ) -> Any:
        return function(Common(as_json, records, config), *args, **options)

    return with_common


def jobs_argument(function: F) -> F:
    """Give a command the jobs that it is about."""
    return click.argument("jobs", nargs=-1, required=True, metavar="JOB...")(function)


def job_argument(function: F) -> F:
    """Give a command the one job that it is about."""
    return click.argument("job", metavar="JOB")(function)


# Functions and not subclasses of click.ParamType, whose generic form only newer clicks have.


def duration(text: str) -> Duration:
    """Read a duration, as job files write it."""
    try:
        return Duration.parse(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not {error}.") from None


def label(text: str) -> tuple[str, str]:
    """Read a label and its value, ``team=nlp``."""
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise click.BadParameter(f"{text!r} is no NAME=VALUE.")
    return name, value


def when(text: str) -> datetime | timedelta:
    """Read a moment in RFC 3339, a date in UTC, or a duration from now on or back, as the option means it."""
    try:
        return Duration.parse(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        allowed = f"neither 2026-11-30T12:00:00Z, nor 2026-11-30, nor {Duration.ALLOWED}"
        raise click.BadParameter(f"{text!r} is {allowed}.") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
