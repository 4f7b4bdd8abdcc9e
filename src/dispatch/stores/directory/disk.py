"""Every primitive by which the store touches a file system: the one door, where tests put crashes and faults."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NO_SUCH_CALL = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


class Disk:
    """The file system of this host. Each method is one call and raises ``OSError``; none follows a symlink at the end."""

    def names(self, directory: Path) -> list[str]:
        """The names in a directory. NFS asks the server again at each opening (close-to-open), as no look-up does."""
        with os.scandir(directory) as found:
            return [entry.name for entry in found]

    def read(self, path: Path, most: int) -> bytes:
        """The first ``most`` bytes of a file."""
        # Not blocking: a pipe under our name shall be an error, not a wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:  # noqa: PTH123  a descriptor has no path
            return file.read(most)

    def stat(self, path: Path) -> os.stat_result:
        return path.lstat()

    def create(self, path: Path) -> int:
        """Make a new file 0600 whatever the umask allows; a descriptor to write to it."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)

    def write(self, descriptor: int, data: bytes) -> int:
        """Write as much as is taken at once; how much that was."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name; ``FileExistsError`` where that is taken. The store's compare-and-set."""
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def make_directory(self, path: Path) -> None:
        path.mkdir(mode=0o700)

    def remove_directory(self, path: Path) -> None:
        path.rmdir()

    def sync_directory(self, path: Path) -> None:
        """Bring the names in a directory to the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            # Some network file systems have no such call, since their servers write names down before they answer.
            if error.errno not in _NO_SUCH_CALL:
                raise
        finally:
            os.close(descriptor)
