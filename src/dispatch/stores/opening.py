"""Which kind of store keeps the records at a place: a file of SQLite where the disk is local, else a directory.

What is there decides first: records that exist are used as they are, and never are second ones begun beside them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.model.errors import StoreError
from dispatch.stores.directory import DirectoryStore
from dispatch.stores.directory.layout import FORMAT
from dispatch.stores.filesystem import FileSystem, Reach, file_system_of
from dispatch.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.model.base import Instant

AnyStore = SqliteStore | DirectoryStore

SUFFIX = ".d"
"""How the name of a directory of records ends; `records.d` stands for `records.db` on a shared file system."""


def open_store(
    place: Path | str,
    *,
    now: Instant,
    read_only: bool = False,
    file_system: Callable[[Path], FileSystem] = file_system_of,
) -> AnyStore:
    """Open the records at a place, and choose their kind where there are none yet.

    A directory, or a name that ends in ``.d`` or ``/``, means a directory store. Of any other name the file is meant, or the
    directory beside it that ends in ``.d``: whichever is there, and else what suits the file system. ``now`` only dates the
    identity of a new store. Raises ``StoreError`` where both are there, and where a file of SQLite is on a shared file system.
    """
    path = Path(place).absolute()
    directory = directory_at(path, slash=str(place).endswith("/"), file_system=file_system)
    if directory is not None:
        return DirectoryStore.open(directory, now=now, read_only=read_only)
    return SqliteStore.open(path, now=now, read_only=read_only)


def directory_at(
    path: Path, *, slash: bool = False, file_system: Callable[[Path], FileSystem] = file_system_of
) -> Path | None:
    """Say which directory keeps the records of a place; nothing where the place itself is a file of SQLite."""
    has_file = _has_content(path)
    if slash or _is_directory(path) or (path.suffix == SUFFIX and not has_file):
        return path
    beside = path.with_suffix(SUFFIX)
    has_directory = beside != path and os.path.lexists(beside / FORMAT)
    if has_file and has_directory:
        raise StoreError(
            f"There are two records: the file {path} and the directory {beside}. Each knows jobs that the other does not,"
            " so neither is used.",
            todo=f"Name the directory with `--records {beside}`, or move it away to use the file.",
        )
    if has_directory:
        return beside
    found = file_system(path)
    is_local = found.reach is Reach.LOCAL or not found.type
    if has_file and not is_local:
        raise StoreError(
            f"The records {path} are a file of SQLite on {found.type} ({found.source or '?'} on {found.point or '?'}), where its"
            " locks and shared memory cannot be relied on. It was not opened, and no other records were begun beside it.",
            todo="Stop every dispatch that uses it and move it, with its -wal, to a local disk of one host (`--records PATH`);"
            f" or, once its jobs have ended, give it another name, and new records are kept in {beside}.",
        )
    return None if is_local else beside


def _has_content(path: Path) -> bool:
    """Whether there is a file with anything in it, or a link, which the store refuses by itself."""
    with suppress(OSError):
        found = path.lstat()
        return path.is_symlink() or (path.is_file() and found.st_size > 0)
    return False


def _is_directory(path: Path) -> bool:
    with suppress(OSError):
        return path.is_dir()
    return False
