"""What SQLite and the operating system say, in words that a person can act on."""

from __future__ import annotations

import errno
import sqlite3
from typing import TYPE_CHECKING

from dispatch.model.errors import Invalid, StoreError

if TYPE_CHECKING:
    from pathlib import Path

SEE_DISK = "See to the disk (`df`, `dmesg`), then try again."

_REASONS = {
    sqlite3.SQLITE_FULL: (
        "the disk or the quota is full; nothing was half written",
        "Free some space (`df -h` and `quota` tell where), then try again.",
    ),
    sqlite3.SQLITE_BUSY: (
        "another process has kept it locked all the time",
        "See who has it open with `fuser -v {path}`; a stopped or hung process of dispatch must go on or be ended.",
    ),
    sqlite3.SQLITE_READONLY: (
        "it may not be written: the file, its directory or the whole file system is read-only",
        "Make it writable, or name another place with `--records PATH`.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file, or one that SQLite needs beside it, cannot be opened",
        "Look whether it is there and yours with `ls -la` on its directory.",
    ),
    sqlite3.SQLITE_PERM: ("you have no permission", "Look at its owner and mode with `ls -la`."),
    sqlite3.SQLITE_IOERR: (
        "reading or writing the disk failed; a quota that is used up looks so too",
        SEE_DISK,
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged, or was made by an SQLite that is newer than 3.37 and read by one that is older",
        "Stop every dispatch that uses it, keep a copy of it and of its -wal, then restore a backup.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "it is no database of SQLite",
        "Name the right file with `--records PATH`; if this should be it, restore a backup.",
    ),
    sqlite3.SQLITE_NOMEM: ("there is no memory left", "Free some memory, then try again."),
    sqlite3.SQLITE_TOOBIG: (
        "a value is larger than SQLite takes",
        "Make the job or its environment smaller.",
    ),
}

_SYSTEM = {
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    errno.EROFS: sqlite3.SQLITE_READONLY,
    errno.EACCES: sqlite3.SQLITE_PERM,
    errno.EPERM: sqlite3.SQLITE_PERM,
    errno.EIO: sqlite3.SQLITE_IOERR,
}


def of_sqlite(error: sqlite3.Error, doing: str, path: Path, code: int | None = None) -> StoreError:
    """Explain an error of SQLite; the extended code, such as SQLITE_IOERR_FSYNC, is kept in the text."""
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    said: int = getattr(error, "sqlite_errorcode", 0) if code is None else code
    why, todo = _REASONS.get(said & 0xFF, (str(error), "Please report this with the text above."))
    return _compose(doing, path, f"{why} ({name}: {error})", todo)


def of_text(error: UnicodeEncodeError, doing: str) -> Invalid:
    """Explain text that is no Unicode, such as half of a surrogate pair."""
    return Invalid(f"Cannot {doing}: there is text in it that is no Unicode ({error}).")


def of_system(error: OSError, doing: str, path: Path) -> StoreError:
    """Explain an error of the operating system."""
    code = _SYSTEM.get(error.errno or 0)
    said = error.strerror or str(error)
    why, todo = _REASONS[code] if code is not None else (said, "Look at the path with `ls -la`.")
    return _compose(doing, path, why if why == said else f"{why} ({said})", todo)


def _compose(doing: str, path: Path, why: str, todo: str) -> StoreError:
    where = f"the records {path}" if doing == "open" else f"in the records {path}"
    return StoreError(f"Cannot {doing} {where}: {why}.", todo=todo.replace("{path}", str(path)))
