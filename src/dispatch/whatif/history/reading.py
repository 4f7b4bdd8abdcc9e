"""Read a history from a file, whatever of the known kinds it is."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from dispatch.model.documents_leaves import is_mapping
from dispatch.model.errors import Invalid, NotFound
from dispatch.model.journal import Entry
from dispatch.spi.store import Query
from dispatch.stores.opening import open_store
from dispatch.whatif.history.past import History
from dispatch.whatif.history.records import read_records, read_shown
from dispatch.whatif.history.sacct import HOW, read_jobs, read_table
from dispatch.whatif.playing import EPOCH

LARGEST = 1 << 28
"""Bytes of one file."""
MOST_JOBS = 10_000
SQLITE = b"SQLite format 3\x00"


def read_history(path: Path) -> History:
    """Read the executions that a file tells of.

    Known are ``sacct --json``, ``sacct -P`` with its headings, ``dispatch show --json`` (one document or many lines), and
    a place of records, a file of SQLite or a directory. Raises ``NotFound``, ``Invalid`` or ``StoreError``.
    """
    where = str(path)
    try:
        content = None if path.is_dir() else _content(path, where)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {where}.", todo="Check the path.") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Invalid(f"{where} cannot be read: {reason}.", todo="Check the path.") from error
    if content is None or content.startswith(SQLITE):
        return _checked(_of_store(path), where)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{where} is not UTF-8.", todo=HOW) from error
    if not text.strip():
        raise Invalid(f"{where} is empty.", todo=HOW)
    read = _of_json if text.lstrip()[0] in "{[" else read_table
    return _checked(read(text, where), where)


def _checked(history: History, where: str) -> History:
    if not history.executions:
        left = "; ".join(history.notes) or "it tells of none"
        raise Invalid(f"{where} has no execution that has run and ended: {left}.", todo=HOW)
    return history


def _content(path: Path, where: str) -> bytes:
    # Not blocking: a pipe that nobody writes to must be refused, not waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Invalid(f"{where} is no regular file.", todo=HOW)
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Invalid(f"{where} has more than {LARGEST} bytes.", todo="Print fewer jobs.")
    return content


def _of_store(path: Path) -> History:
    store = open_store(path, now=EPOCH, read_only=True)
    try:
        jobs = store.list(Query(limit=MOST_JOBS))
        return read_records([store.load(job.id) for job in jobs])
    finally:
        store.close()


def _of_json(text: str, where: str) -> History:
    try:
        documents = [_json(text)]
    except ValueError as whole:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            documents = [_json(line) for line in lines] if len(lines) > 1 else []
        except ValueError:
            documents = []
        if not documents:
            raise Invalid(f"{where} is no JSON: {whole}.", todo=HOW) from whole
    if is_mapping(documents[0]) and "jobs" in documents[0]:
        return read_jobs(documents[0]["jobs"], where)
    records: list[tuple[Entry, ...]] = [read_shown(document, where) for document in documents]
    return read_records(records)


def _json(text: str) -> object:
    try:
        document: object = json.loads(text)
    except RecursionError:
        raise ValueError("the nesting is too deep") from None
    return document
