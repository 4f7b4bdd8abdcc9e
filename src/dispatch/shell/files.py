"""Files that people write, read strictly: YAML, TOML or JSON by their ending, and jobs from them."""

from __future__ import annotations

import difflib
import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeVar

import msgspec

from dispatch.model.documents import MOST_FAULTS, decode_document
from dispatch.model.documents_words import show
from dispatch.model.errors import Fault, Invalid, NotFound
from dispatch.model.job import Job

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dispatch.shell.config import Config

T = TypeVar("T")

LARGEST = 1 << 20
"""Bytes of one file."""
STDIN = Path("-")


class Document(NamedTuple):
    """Plain data of one file, how the file is named to people, and the lines of its paths where they are known."""

    data: object
    where: str
    lines: Mapping[str, int]


def read_document(path: Path, *, stdin: BinaryIO | None = None) -> object:
    """Read plain data from a file; the path ``-`` is standard input, as YAML.

    Raises ``NotFound``, or ``Invalid`` which says what is wrong, where (line and column), why, and what to do.
    """
    return open_document(path, stdin=stdin).data


def open_document(path: Path, *, stdin: BinaryIO | None = None) -> Document:
    """Read plain data from a file as ``read_document`` does, with the lines of its paths."""
    where, ending = (
        ("standard input", ".yaml") if path == STDIN else (str(path), path.suffix.lower())
    )
    if ending not in {".yaml", ".yml", ".toml", ".json"}:
        what = f"{where} ends in {ending or 'nothing'}, and its ending tells how a file is read."
        raise Invalid(what, todo="Name it *.yaml, *.toml or *.json, or pipe YAML into `-`.")
    text = _text(_content(path, where, stdin), where)
    if not text.strip() and ending != ".toml":  # an empty table is TOML, and a fine configuration
        raise Invalid(
            f"{where} is empty.", todo="See `dispatch submit --help` for a job to begin with."
        )
    match ending:
        case ".json":
            return Document(_json(text, where), where, {})
        case ".toml":
            return Document(_toml(text, where), where, {})
        case _:
            # Imported here: reading a TOML configuration is on the path of every command, reading YAML is not.
            from dispatch.shell.yaml_events import parse_yaml  # noqa: PLC0415

            data, lines = parse_yaml(text, where=where)
            if data is None:
                raise Invalid(f"{where} is empty.", todo="A job needs a `command` at least.")
            return Document(data, where, lines)


def decode(document: Document, kind: type[T]) -> T:
    """Make a value of a document; ``Invalid`` has every fault, with its line where the reader knows it."""
    try:
        return decode_document(document.data, kind, where=document.where)
    except Invalid as error:
        faults = tuple(_with_line(fault, document.lines) for fault in error.faults)
        raise Invalid(error.what, faults=faults, todo=error.todo) from None


def load_job(path: Path, config: Config, *, stdin: BinaryIO | None = None) -> Job:
    """Read a job, and put the policy of that name in the place of a policy's name. Nothing else is filled in."""
    document = open_document(path, stdin=stdin)
    job = decode(document, Job)
    if not isinstance(job.recovery, str):
        return job
    policy = config.policies.get(job.recovery)
    if policy is None:
        known = ", ".join(sorted(config.policies)) or "none yet"
        fault = Fault(
            path="recovery",
            found=f"the policy {show(job.recovery)}",
            allowed=f"a policy, or the name of one in the configuration ({known}; {config.origin})",
        )
        raise Invalid(
            f"{document.where} has one fault.", faults=(_with_line(fault, document.lines),)
        )
    return msgspec.structs.replace(job, recovery=policy)


def _with_line(fault: Fault, lines: Mapping[str, int]) -> Fault:
    path = fault.path
    while path not in lines and path:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    line = lines.get(path)
    return msgspec.structs.replace(fault, line=line) if line else fault


def _content(path: Path, where: str, stdin: BinaryIO | None) -> bytes:
    try:
        if path == STDIN:
            content = (stdin or sys.stdin.buffer).read(LARGEST + 1)
        else:
            content = _read_regular(path, where)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {where}.", todo=_near(path)) from error
    except PermissionError as error:
        raise Invalid(
            f"{where} cannot be read: permission denied.", todo="Ask its owner, or chmod it."
        ) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Invalid(f"{where} cannot be read: {reason}.", todo="Check the path.") from error
    if len(content) > LARGEST:
        raise Invalid(f"{where} has more than {LARGEST} bytes.", todo="Is this the right file?")
    return content


def _read_regular(path: Path, where: str) -> bytes:
    # Not blocking: a pipe that nobody writes to must be refused, not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "no regular file"
            raise Invalid(f"{where} is {kind}.", todo="Name a file, or pipe YAML into `-`.")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(LARGEST + 1)
    finally:
        os.close(handle)


def _near(path: Path) -> str:
    try:
        names = sorted(item.name for item in path.parent.iterdir())
    except OSError:
        return f"There is no directory {path.parent} that can be read either."
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.7)
    return f"Did you mean {path.parent / close[0]}?" if close else "Check the path."


def _text(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"{where}, line {line}: the byte 0x{content[error.start]:02x} is not UTF-8."
        raise Invalid(what, todo="Save the file as UTF-8.") from error


def _toml(text: str, where: str) -> object:
    try:
        return tomllib.loads(f"{text}\n")  # so that no fault is placed "at end of document"
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        reason = "the nesting is too deep" if isinstance(error, RecursionError) else str(error)
        raise Invalid(f"{where} is no TOML: {reason}.", todo="Correct the file there.") from error


def _json(text: str, where: str) -> object:
    twice: list[Fault] = []

    def mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            again = (
                sorted({name for name in names if names.count(name) > 1})
                if len(names) < 1000
                else ["…"]
            )
            twice.extend(
                Fault(path=name, found="the key more than once", allowed="each key once")
                for name in again
            )
        return made

    try:
        data: object = json.loads(text, object_pairs_hook=mapping)
    except json.JSONDecodeError as error:
        what = f"{where}, line {error.lineno}, column {error.colno}: this is no JSON: {error.msg}."
        raise Invalid(what, todo="Correct the file there.") from error
    except (ValueError, RecursionError) as error:
        reason = "the nesting is too deep" if isinstance(error, RecursionError) else str(error)
        raise Invalid(
            f"{where} is no JSON that can be read: {reason}.", todo="Correct the file."
        ) from error
    if twice:
        raise Invalid(f"{where} has keys more than once.", faults=tuple(twice[:MOST_FAULTS]))
    return data
