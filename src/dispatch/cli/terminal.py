"""What is written where: results to standard output, all else to standard error, control characters nowhere."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import click

SCHEMA_VERSION = 1


class Cell(NamedTuple):
    """A cell of a table: its text, and the colour that it has on a terminal."""

    text: str
    colour: str | None = None


def emit(document: Mapping[str, Any]) -> None:
    """Write one JSON document on a line, with the version of its schema."""
    click.echo(json.dumps({"schemaVersion": SCHEMA_VERSION, **document}))


def say(lines: str | Iterable[str]) -> None:
    """Write text for people on standard output."""
    for line in [lines] if isinstance(lines, str) else lines:
        click.echo(line, color=_colour(sys.stdout))


def note(text: str) -> None:
    """Write a remark on standard error, where no result is looked for; a document where the command answers in JSON."""
    context = click.get_current_context(silent=True)
    if context is not None and context.params.get("as_json"):
        click.echo(json.dumps({"schemaVersion": SCHEMA_VERSION, "note": text}), err=True)
        return
    click.echo(click.style(clean(text), dim=True), err=True, color=_colour(sys.stderr))


def _colour(stream: Any) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """Tell how wide the terminal is; ``None`` where the output is no terminal, and nothing needs to be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def clean(text: str) -> str:
    """Take the power out of control characters: a job's name must not move the cursor or set the title."""
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "backslashreplace").decode()


def columns(text: str) -> int:
    """Count the columns that a text takes: East Asian letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(letter)
        else 2
        if unicodedata.east_asian_width(letter) in "WF"
        else 1
        for letter in text
    )


def cut(text: str, most: int) -> str:
    """Cut a text to so many columns, with an ellipsis where something is missing."""
    if columns(text) <= most:
        return text
    kept = ""
    for letter in text:
        if columns(kept + letter) > most - 1:
            break
        kept += letter
    return f"{kept}…"


def table(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], most: int | None = None
) -> list[str]:
    """Lay out a table; the last column is cut so that no line is wider than ``most`` columns."""
    texts = [[clean(cell.text) for cell in row] for row in rows]
    sizes = [max(map(columns, column)) for column in zip(headings, *texts, strict=True)]
    if most is not None:
        room = most - sum(sizes[:-1]) - 2 * (len(sizes) - 1)
        sizes[-1] = min(sizes[-1], max(room, 10))
    lines = [
        "  ".join(_padded(name, size) for name, size in zip(headings, sizes, strict=True)).rstrip()
    ]
    for row, shown in zip(rows, texts, strict=True):
        cells = zip(row, shown, sizes, strict=True)
        lines.append("  ".join(_painted(cell, text, size) for cell, text, size in cells).rstrip())
    return lines


def _padded(text: str, size: int) -> str:
    return text + " " * (size - columns(text))


def _painted(cell: Cell, text: str, size: int) -> str:
    text = cut(text, size)
    painted = click.style(text, fg=cell.colour) if cell.colour else text
    return painted + " " * (size - columns(text))
