"""The directory itself: making it, knowing it again, and what else it must not be."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from dispatch.model.base import Value
from dispatch.model.codec import decode, encode
from dispatch.model.epoch import JobId, ulid
from dispatch.model.errors import Invalid, NewerSchema, StoreError
from dispatch.stores.directory.layout import DIRECTORIES, FORMAT, QUEUE
from dispatch.stores.shared import micros
from dispatch.stores.sqlite import files as private

if TYPE_CHECKING:
    from pathlib import Path

    from dispatch.model.base import Instant
    from dispatch.stores.directory.files import Files

CURRENT = 1
_ELSEWHERE = "Name another place with `--records PATH`."


class Format(Value):
    """What the file ``format`` says: how the records are laid out, and the store's identity."""

    format: int
    id: JobId


class _AnyFormat(Struct):
    format: int


def read_format(files: Files) -> Format | None:
    """Read the format; nothing where there is no store yet. Raises ``NewerSchema``, and ``StoreError`` for nonsense."""
    try:
        data = files.read(files.root / FORMAT)
    except NotADirectoryError:
        data = None
    if data is None:
        return None
    try:
        found = decode(data, _AnyFormat).format
        if found > CURRENT:
            raise NewerSchema(
                f"The records {files.root} have format {found}, written by a newer dispatch; this one knows {CURRENT}."
                " They were left alone.",
                todo="Upgrade dispatch here to the version that is used beside it, or name other records with `--records PATH`.",
            )
        return decode(data, Format)
    except Invalid as error:
        raise StoreError(
            f"The file {files.root / FORMAT} is not one of dispatch: {error}",
            todo=f"If these should be the records, restore a backup. {_ELSEWHERE}",
        ) from error


def prepare(files: Files, now: Instant) -> tuple[Format, bool]:
    """Open the directory for writing, and make it where there is none; whether it was made now."""
    root = files.root
    if os.path.lexists(root) and not root.is_dir():
        raise StoreError(f"{root} is no directory.", todo=_ELSEWHERE)
    private.make_directory(root)
    check_private(root)
    found = read_format(files)
    if found is not None:
        _sync(files)
        return found, False
    _refuse_foreign(root, files.disk.names(root))
    for name in DIRECTORIES:
        files.make_directory(root / name)
    return _settle_identity(files, now)


def _settle_identity(files: Files, now: Instant) -> tuple[Format, bool]:
    """Write the identity: last, so that a store that has one has its directories, and by a link, so that it has one."""
    mine = Format(format=CURRENT, id=ulid(micros(now) // 1000, os.urandom(10)))
    data = encode(mine) + b"\n"
    made = files.publish(files.root / FORMAT, data)
    # Once more, as another writer would: a file system whose links replace would lose records in silence.
    if made and files.publish(files.root / FORMAT, encode(mine) + b" \n"):
        raise StoreError(
            f"The file system of {files.root} lets a link replace a file, so that of two writers both would win.",
            todo=_ELSEWHERE,
        )
    found = read_format(files)
    if found is None:
        raise StoreError(
            f"The file {files.root / FORMAT} cannot be seen although it was made.",
            todo="Try again in a minute; the file system's cache may be behind.",
        )
    _sync(files)
    return found, made


def _sync(files: Files) -> None:
    """Bring the store's own names to the disk: by each opener, for another may have made them and not come so far."""
    files.disk.sync_directory(files.root)
    with suppress(PermissionError):  # a directory of the site's that one may enter and not list
        files.disk.sync_directory(files.root.parent)


def _refuse_foreign(root: Path, names: list[str]) -> None:
    """Make no store among somebody's files; what begins with a dot is the system's (`.nfs…`, `.snapshot`)."""
    # The format is none of them: another process may have made the store since it was looked for.
    ours = {*DIRECTORIES, FORMAT}
    foreign = sorted(name for name in names if not name.startswith(".") and name not in ours)
    if foreign:
        raise StoreError(
            f"{root} is a directory with other files in it, such as {foreign[0]}; nothing was changed in it.",
            todo="Name a directory that is empty or not there yet with `--records PATH`.",
        )


def check_private(root: Path) -> None:
    """Refuse a directory in which anybody else may write, or whose place may be taken by another."""
    found, above = root.stat(), root.resolve().parent.stat()
    if found.st_uid not in {0, os.geteuid()}:
        raise StoreError(
            f"The records {root} belong to another account (uid {found.st_uid}, you are {os.geteuid()}).",
            todo="Use dispatch as that account, or name records of your own with `--records PATH`.",
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreError(
            f"Other accounts may write to {root} (mode {stat.S_IMODE(found.st_mode):04o}).",
            todo=f"If its content can be trusted: `chmod 700 {root}`.",
        )
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        raise StoreError(
            f"Everybody may write to the directory of {root}, and so could replace the records.",
            todo="Name a place in a directory of your own with `--records PATH`.",
        )


def has_queue(files: Files) -> bool:
    """Whether the queue is there; without it no job would ever be due."""
    return files.exists(files.root / QUEUE)
