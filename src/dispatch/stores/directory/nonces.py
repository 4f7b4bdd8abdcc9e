"""Nonces that were used: a second name of each append's file, so that it costs no inode of its own.

It is written after the append, and not synced: what a crash leaves out is missing here and not in the record. It guards
against a writer that uses a nonce twice; whether an append has landed is asked of the record itself.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dispatch.stores.directory.layout import NONCES, digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dispatch.model.journal import Entry
    from dispatch.stores.directory.files import Files


class Nonces:
    """The directory of the used nonces."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def _path(self, nonce: str) -> Path:
        name = digest(nonce)[:32]
        return self._files.root / NONCES / name[:3] / name

    def has(self, nonce: str) -> bool:
        """Whether an append with this nonce has landed, as far as is known."""
        return self._files.exists(self._path(nonce))

    def used(self, entries: Sequence[Entry]) -> str:
        """A nonce of the entries that was used before, or nothing."""
        return next((nonce for nonce in _of(entries) if self.has(nonce)), "")

    def keep(self, append: Path, entries: Sequence[Entry]) -> None:
        """Keep the nonces of an append that has landed."""
        for nonce in _of(entries):
            path = self._path(nonce)
            with suppress(FileExistsError):
                try:
                    self._files.disk.link(append, path)
                except FileNotFoundError:
                    with suppress(FileExistsError):
                        self._files.disk.make_directory(path.parent)
                    self._files.disk.link(append, path)
                except OSError:
                    # Some file systems link within one directory only; the name is all that matters.
                    self._files.disk.close(self._files.disk.create(path))


def _of(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.nonce for entry in entries))
