"""Files that appear under their name whole or not at all: by a link where nobody else may have it, else by a rename."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from dispatch.model.errors import StoreError
from dispatch.stores.directory.layout import FRESH

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dispatch.stores.directory.disk import Disk

LARGEST = 32 * 1024 * 1024
"""The most bytes of a file that is read; none that is written comes near."""

ABANDONED_AFTER = 3600
"""Seconds after which a file that is still being written has lost its writer."""

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


class Fresh(NamedTuple):
    """A new file that is being written."""

    path: Path
    descriptor: int


class Files:
    """Writes the files of one store. What is ``fresh`` has a name that no reader takes for a record."""

    def __init__(self, root: Path, disk: Disk) -> None:
        self.root = root
        self.disk = disk

    # ------------------------------------------------------------------ reading

    def read(self, path: Path) -> bytes | None:
        """Read a file; nothing where there is none, an error of ``OSError`` where it is larger than any of ours."""
        try:
            data = self.disk.read(path, LARGEST + 1)
        except FileNotFoundError:
            return None
        if len(data) > LARGEST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
        return data

    def names(self, directory: Path) -> list[str]:
        """List a directory; empty where there is none."""
        try:
            return self.disk.names(directory)
        except FileNotFoundError:
            return []

    def exists(self, path: Path) -> bool:
        """Whether there is something under a name."""
        try:
            self.disk.stat(path)
        except FileNotFoundError:
            return False
        return True

    # ------------------------------------------------------------------ writing

    def write_fresh(self, directory: Path, data: bytes, *, durable: bool = True) -> Path:
        """Write a new file beside the ones it shall be one of: some file systems link within a directory only."""
        return self.end_fresh(self.begin_fresh(directory, data), durable=durable)

    def begin_fresh(self, directory: Path, data: bytes) -> Fresh:
        """Write a new file and leave it open, so that many can be written before the first is synced."""
        path = directory / f"{FRESH}{os.urandom(12).hex()}"
        try:
            descriptor = self.disk.create(path)
        except OSError:
            self.discard(path)
            raise
        fresh = Fresh(path, descriptor)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self.disk.write(descriptor, bytes(rest)) :]
        except BaseException:
            self.give_up(fresh)
            raise
        return fresh

    def end_fresh(self, fresh: Fresh, *, durable: bool = True) -> Path:
        """Bring what was begun to the disk, and close it."""
        try:
            try:
                if durable:
                    self.disk.sync(fresh.descriptor)
            finally:
                self.disk.close(fresh.descriptor)
        except OSError:
            self.discard(fresh.path)
            raise
        return fresh.path

    def give_up(self, fresh: Fresh) -> None:
        """Let go of what was begun."""
        with suppress(OSError):
            self.disk.close(fresh.descriptor)
        self.discard(fresh.path)

    def discard(self, path: Path) -> None:
        """Remove what nobody needs; that it cannot be removed is no harm, since it is swept later."""
        with suppress(OSError):
            self.disk.unlink(path)

    def publish(self, path: Path, data: bytes) -> bool:
        """Make a file that nobody has made yet, durably; ``False`` where somebody has, with another content."""
        made = self.name(self.write_fresh(path.parent, data), path, data)
        if made:
            self.disk.sync_directory(path.parent)
        return made

    def name(self, fresh: Path, path: Path, data: bytes) -> bool:
        """Give a fresh file its name alone, which is not synced yet; ``False`` as of ``publish``."""
        try:
            return self.link(fresh, path, data)
        finally:
            self.discard(fresh)

    def link(self, fresh: Path, path: Path, data: bytes) -> bool:
        """Link a fresh file to its name: of many who try, one gets it.

        An error says little: on NFS the reply to a link that was made may be lost, and the repeated request then finds the
        name taken, by itself. So any error is settled by looking: the name leads to our file, or to one of our content,
        which has the writer's nonce in it.
        """
        try:
            self.disk.link(fresh, path)
        except OSError as error:
            if self._is_ours(fresh, path, data):
                return True
            if isinstance(error, FileExistsError):
                return False
            if error.errno in _NO_LINKS:
                raise _no_links(self.root, error) from error
            raise
        return True

    def _is_ours(self, fresh: Path, path: Path, data: bytes) -> bool:
        try:
            mine, there = self.disk.stat(fresh), self.disk.stat(path)
            # The count may be an old one of the client's cache, and the inode of a copy differs: then the content tells.
            if (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino):
                return True
            return there.st_size == len(data) and self.read(path) == data
        except OSError:
            return False

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        """Write a file over another of its name. Unless ``durable``, a power cut may bring the old one back: for hints."""
        fresh = self.write_fresh(path.parent, data, durable=durable)
        try:
            self.disk.rename(fresh, path)
        except OSError:
            self.discard(fresh)
            raise
        if durable:
            self.disk.sync_directory(path.parent)

    def make_directory(self, path: Path) -> None:
        """Make a directory, durably, where it is not there yet."""
        with suppress(FileExistsError):
            self.disk.make_directory(path)
        # By each that needs it: another may have made it and not come so far.
        self.disk.sync_directory(path.parent)

    def sweep(self, directory: Path, names: Iterable[str]) -> None:
        """Remove files whose writers are gone. Both times are the server's, so that no clock of a host matters."""
        fresh = [name for name in names if name.startswith(FRESH)]
        if not fresh:
            return
        with suppress(OSError):
            changed = self.disk.stat(directory).st_mtime
            for name in fresh:
                if changed - self.disk.stat(directory / name).st_mtime > ABANDONED_AFTER:
                    self.discard(directory / name)


def _no_links(root: Path, error: OSError) -> StoreError:
    return StoreError(
        f"The file system of {root} makes no hard links ({error.strerror}), and records there are kept by them.",
        todo='Name a place on another file system with `--records PATH` or `records = "PATH"` in the configuration.',
    )
