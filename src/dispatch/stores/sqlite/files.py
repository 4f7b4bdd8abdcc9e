"""The file and its directory: private to one account, and no surprise behind the name.

No function here opens a database file that exists: closing any descriptor of it would drop every POSIX lock that this
process has on it, and with them SQLite's own (https://www.sqlite.org/howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.model.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Generator

SIDECARS = ("-wal", "-shm", "-journal")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def sidecar(path: Path, suffix: str) -> Path:
    """The file that SQLite keeps beside a database."""
    return path.with_name(path.name + suffix)


def make_directory(directory: Path) -> None:
    """Make the directory and its missing parents, each 0700 and on the disk for good when this returns."""
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Bring the names in a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_directory(directory: Path) -> None:
    """Refuse a directory in which anybody else may replace the records."""
    found = directory.stat()
    if found.st_uid not in {0, os.geteuid()}:
        raise StoreError(
            f"The directory {directory} of the records belongs to another account (uid {found.st_uid}, you are {os.geteuid()}).",
            todo="Name a path in a directory of your own with `--records PATH`.",
        )
    if found.st_mode & stat.S_IWOTH:
        raise StoreError(
            f"Everybody may write to the directory {directory}, and so could replace the records.",
            todo=f"Name a path in a directory of your own, such as {directory}/$USER-dispatch/records.db, with `--records PATH`.",
        )


def create(path: Path) -> bool:
    """Make an empty file 0600, whatever the umask; ``False`` where the name is taken. Nothing is followed."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return False
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    return True


def check_file(path: Path) -> os.stat_result:
    """Refuse what is not a plain file of this account alone, under its own name or a sidecar's. Raises ``OSError``."""
    found = path.lstat()
    _refuse_surprises(path, found)
    for suffix in SIDECARS:
        beside = sidecar(path, suffix)
        try:
            _refuse_surprises(beside, beside.lstat())
        except FileNotFoundError:
            continue
    return found


def _refuse_surprises(path: Path, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise StoreError(f"{path} is a symlink, and the records are kept only under their own name.",
                         todo="Name the file that it points to with `--records PATH`.")  # fmt: skip
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is no plain file.", todo="Name a file with `--records PATH`.")
    if found.st_uid != os.geteuid():
        raise StoreError(f"{path} belongs to another account (uid {found.st_uid}, you are {os.geteuid()}).",
                         todo="Use dispatch as that account, or name records of your own with `--records PATH`.")  # fmt: skip
    if found.st_mode & _OTHERS_WRITE:
        raise StoreError(f"Other accounts may write to {path} (mode {stat.S_IMODE(found.st_mode):04o}).",
                         todo=f"If its content can be trusted: `chmod 600 {path}`.")  # fmt: skip
    if found.st_nlink > 1:
        raise StoreError(f"{path} has {found.st_nlink} names; SQLite would keep a journal for each and lose events.",
                         todo="Remove the other hard links, or restore a copy.")  # fmt: skip


def is_writable(path: Path) -> bool:
    """Whether the file, and others beside it, may be written."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(place, os.W_OK, effective_ids=effective) for place in (path, path.parent))


def check_writable(path: Path) -> None:
    """Raise the ``OSError`` that tells why a file may not be written; SQLite would only say that it cannot open it."""
    if not is_writable(path):
        code = errno.EROFS if os.statvfs(path).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(code, os.strerror(code))


class WriterLock:
    """The lock that every writer holds from before its transaction until after the checkpoint that may follow.

    SQLite before 3.51.3 can lose committed transactions when one connection commits while another checkpoints
    (https://www.sqlite.org/wal.html#the_wal_reset_bug); a checkpoint runs in the commit that fills the log, so holding this
    around both keeps the two apart. It is an flock of the directory: nothing to make, to guard or to leave behind.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)

    @contextmanager
    def held(self, patience: float) -> Generator[None]:
        """Hold the lock; ``StoreError`` when it is not free within so many seconds."""
        self._take(time.monotonic() + patience, patience)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _take(self, end: float, patience: float) -> None:
        pause = 0.0005
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise StoreError(
                        f"The records in {self._directory} have been locked by another process for {patience:g} s; nothing was written.",
                        todo=f"See who has them open with `fuser -v {self._directory}`; a stopped or hung process must go on or be ended.",
                    ) from None
                time.sleep(pause)
                pause = min(pause * 2, 0.02)
            else:
                return

    def close(self) -> None:
        """Let go of the directory; a second close does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
