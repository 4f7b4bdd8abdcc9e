"""The keys of jobs. A key is taken by a link, and that link is what accepts a job that has one.

The header of the job is in the file of the key. Who finds a key whose job has no header finishes what its writer began; so a
crash between the two leaves no job that cannot be had, and a second submission with the key gets the first one whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Raw

from dispatch.model.codec import decode, encode
from dispatch.model.errors import CorruptRecord, Invalid
from dispatch.stores.directory import documents
from dispatch.stores.directory.documents import Holder
from dispatch.stores.directory.layout import KEYS, digest

if TYPE_CHECKING:
    from pathlib import Path

    from dispatch.stores.directory.documents import Append
    from dispatch.stores.directory.files import Files


class Keys:
    """The directory of the keys; none is ever given back."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def _path(self, name: str) -> Path:
        return self._files.root / KEYS / name[:2] / name

    def holder(self, key: str) -> tuple[Append, bytes] | None:
        """The header of the job that has a key, also where it is not in its place yet."""
        return self.holder_by_digest(digest(key))

    def holder_by_digest(self, name: str) -> tuple[Append, bytes] | None:
        """The same, by the digest that a marker in the queue holds."""
        data = self._files.read(self._path(name)) if name else None
        if data is None:
            return None
        try:
            found = decode(data, Holder)
            if digest(found.key) != name:
                raise Invalid(f"it is of the key {found.key!r}")
            header = bytes(found.header) + b"\n"
            job = decode(header, documents.Append).job
        except Invalid as error:
            raise CorruptRecord(
                f"The file {self._path(name)} of a key cannot be read: {error}",
                todo="Submit with another key, and restore the records from a backup.",
            ) from error
        return documents.parse(job, 1, header), header

    def take(self, key: str, header: bytes) -> bool:
        """Take a key for the job of a header, durably; ``False`` where another has it."""
        path = self._path(digest(key))
        self._files.make_directory(path.parent)
        return self._files.publish(path, encode(Holder(key=key, header=Raw(header.strip()))))
