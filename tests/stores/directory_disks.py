"""Disks that fail: crashes between any two calls, cuts of the power, lost replies, errors."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dispatch.stores.directory.disk import Disk

if TYPE_CHECKING:
    from collections.abc import Callable

WRITING = frozenset(
    {
        "create", "write", "sync", "close", "link", "rename", "unlink",
        "make_directory", "remove_directory", "sync_directory",
    }
)  # fmt: skip


class Crash(BaseException):
    """The process is gone. No ``except`` of the store may catch it, and its ``finally`` does nothing any more."""


class QuickDisk(Disk):
    """Brings nothing to the platter: for tests that cut no power, or that act it out."""

    def sync(self, descriptor: int) -> None:
        """Do nothing."""

    def sync_directory(self, path: Path) -> None:
        """Do nothing."""
        assert path.is_dir()


class WatchedDisk(QuickDisk):
    """Counts its calls, and lets something happen before or after one of them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.before: Callable[[str, tuple[Any, ...]], None] = nothing
        self.after: Callable[[str, tuple[Any, ...]], None] = nothing

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in WRITING and name not in {"names", "read", "stat"}:
            return found

        def called(*arguments: Any) -> Any:
            self.before(name, arguments)
            result = found(*arguments)
            self.calls.append((name, str(arguments[0])))
            self.after(name, arguments)
            return result

        return called

    def count(self, *names: str) -> int:
        """How many calls of these names there were."""
        return sum(name in names for name, _ in self.calls)


def nothing(name: str, arguments: tuple[Any, ...]) -> None:
    pass


class CrashingDisk(WatchedDisk):
    """Dies after so many calls that write; from then on it does nothing at all. ``torn`` writes only half before."""

    def __init__(self, lives: int, *, torn: bool = False) -> None:
        super().__init__()
        self.lives = lives
        self.torn = torn
        self.before = self._live

    def _live(self, name: str, arguments: tuple[Any, ...]) -> None:
        if self.lives < 0:
            raise Crash
        if name not in WRITING:
            return
        if self.lives == 0:
            self.lives = -1
            if self.torn and name == "write":
                os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
            raise Crash
        self.lives -= 1


class FailingDisk(WatchedDisk):
    """Refuses one call of those that write, with an error, before or after it had its effect.

    ``number`` says which one, counted from the moment that it is ``armed`` (in an opening, say, it is not to be).
    """

    def __init__(
        self, number: int, code: int, *, after: bool = False, kind: str = "", armed: bool = True
    ) -> None:
        super().__init__()
        self.number = number
        self.code = code
        self.kind = kind
        self.armed = armed
        self.refused = ""
        if after:
            self.after = self._refuse
        else:
            self.before = self._refuse

    def _refuse(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed or name not in WRITING or (self.kind and name != self.kind):
            return
        self.number -= 1
        if self.number == -1:
            self.refused = name
            raise OSError(self.code, os.strerror(self.code), str(arguments[0]))


@dataclass
class _File:
    """What of a file is in memory, and what is on the platter."""

    seen: bytes = b""
    synced: bytes | None = None


@dataclass
class _Directory:
    seen: dict[str, _File | _Directory] = field(default_factory=dict[str, "_File | _Directory"])
    synced: dict[str, _File | _Directory] = field(default_factory=dict[str, "_File | _Directory"])


class VolatileDisk(CrashingDisk):
    """Follows what is on the platter and what is only in memory, so that a cut of the power can be acted out.

    ``cut`` writes the tree as the next boot finds it. A file that was not synced is empty; a name that was not synced is not
    there, or (``names="kept"``) is, as file systems are free to do; or (``names="one"``) just one directory's are.
    """

    def __init__(self, root: Path, lives: int) -> None:
        super().__init__(lives)
        self._top = root
        self._tree = _read_tree(root)
        self._open: dict[int, _File] = {}

    def _directory(self, path: Path) -> _Directory:
        found: _File | _Directory = self._tree
        for part in path.relative_to(self._top).parts:
            assert isinstance(found, _Directory)
            found = found.seen[part]
        assert isinstance(found, _Directory)
        return found

    def create(self, path: Path) -> int:
        descriptor = super().create(path)
        self._open[descriptor] = self._directory(path.parent).seen[path.name] = _File()
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        written = super().write(descriptor, data)
        self._open[descriptor].seen += data[:written]
        return written

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self._open[descriptor].synced = self._open[descriptor].seen

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        file = self._directory(source.parent).seen[source.name]
        self._directory(target.parent).seen[target.name] = file

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        file = self._directory(source.parent).seen.pop(source.name)
        self._directory(target.parent).seen[target.name] = file

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        del self._directory(path.parent).seen[path.name]

    def make_directory(self, path: Path) -> None:
        super().make_directory(path)
        self._directory(path.parent).seen[path.name] = _Directory()

    def remove_directory(self, path: Path) -> None:
        super().remove_directory(path)
        del self._directory(path.parent).seen[path.name]

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        if not path.is_relative_to(self._top):
            return
        directory = self._directory(path)
        directory.synced = dict(directory.seen)

    def unsynced(self) -> list[_Directory]:
        """The directories with names that are not on the platter."""
        return [found for found in _directories(self._tree) if found.seen != found.synced]

    def cut(self, target: Path, kept: list[_Directory]) -> None:
        """Write what the next boot finds; of the directories in ``kept`` the names came to the platter by chance."""
        _write_tree(target, self._tree, kept)


def _read_tree(root: Path) -> _Directory:
    found = _Directory()
    for path in root.iterdir():
        if path.is_dir():
            found.seen[path.name] = _read_tree(path)
        else:
            data = path.read_bytes()
            found.seen[path.name] = _File(data, data)
    found.synced = dict(found.seen)
    return found


def _directories(tree: _Directory) -> list[_Directory]:
    below = [one for one in tree.seen.values() if isinstance(one, _Directory)]
    return [tree, *(found for one in below for found in _directories(one))]


def _write_tree(target: Path, tree: _Directory, kept: list[_Directory]) -> None:
    target.mkdir(mode=0o700)
    is_kept = any(tree is one for one in kept)
    for name, found in (tree.seen if is_kept else tree.synced).items():
        if isinstance(found, _Directory):
            _write_tree(target / name, found, kept)
        else:
            (target / name).write_bytes(found.synced or b"")


class LosingReplies(WatchedDisk):
    """A client of NFS whose replies to links are lost: each is made, and then an error is raised."""

    def __init__(self, code: int = errno.EIO, *, losing: bool = True) -> None:
        super().__init__()
        self.code = code
        self.losing = losing
        self.after = self._lose

    def _lose(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "link" and self.losing:
            raise OSError(self.code, os.strerror(self.code), str(arguments[1]))
