"""The unfinished jobs, each under a name that says when it is due.

A job that is not finished always stands here: its marker is on the disk before its header, and goes only once the job is
listed as finished. That a marker is early costs a look; so a due time is brought forward before an append and put off after
it, and a crash between the two leaves the earlier one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dispatch.stores.directory.layout import QUEUE, Marker

if TYPE_CHECKING:
    from dispatch.stores.directory.files import Files

_PATIENCE = 5
"""How often a marker is looked for that others keep renaming."""


class Queue:
    """The directory of the unfinished jobs. It remembers names, and looks again where one is no longer there."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._directory = files.root / QUEUE
        self._known: dict[str, list[Marker]] = {}

    def scan(self, *, sweep: bool = False) -> dict[str, list[Marker]]:
        """List every job with its markers, the earliest first: one, or more where writers met."""
        names = self._files.disk.names(self._directory)
        if sweep:
            self._files.sweep(self._directory, names)
        known: dict[str, list[Marker]] = {}
        for marker in filter(None, map(Marker.parse, names)):
            known.setdefault(marker.job, []).append(marker)
        for markers in known.values():
            markers.sort(key=_when)
        self._known = known
        return known

    def find(self, job: str) -> Marker | None:
        """The marker of a job, as it is now."""
        markers = self._known.get(job)
        if markers and self._files.exists(self._directory / str(markers[0])):
            return markers[0]
        return next(iter(self.scan().get(job, ())), None)

    def content(self, marker: Marker) -> str:
        """What a marker holds: the digest of the key that the job was to have, or nothing."""
        data = self._files.read(self._directory / str(marker))
        return "" if data is None else data.decode("ascii", "replace").strip()

    def put(self, marker: Marker, content: str = "") -> None:
        """Put a job in the queue, durably, where it does not stand there."""
        self._files.replace(self._directory / str(marker), f"{content}\n".encode(), durable=True)
        self._known.setdefault(marker.job, []).insert(0, marker)

    def bring_forward(self, marker: Marker) -> None:
        """Have the job looked at no later than the marker says, before something happens that asks for it."""
        found = self.find(marker.job)
        if found is None:
            self.put(marker)
        elif found.is_later_than(marker.due):
            self.move(marker)
            self._files.disk.sync_directory(self._directory)

    def move(self, marker: Marker) -> bool:
        """Rename the marker of a job; ``False`` where it has none. Not synced."""
        for _ in range(_PATIENCE):
            found = self.find(marker.job)
            if found is None:
                return False
            if found == marker:
                self._drop_others(marker)
                return True
            with suppress(
                FileNotFoundError
            ):  # another renamed it; or we did, and the reply was lost
                self._files.disk.rename(self._directory / str(found), self._directory / str(marker))
                self._drop_others(marker)
                return True
            self._known.pop(marker.job, None)
        return True

    def exchange(self, found: Marker, marker: Marker) -> None:
        """Rename one marker, where it still has the name under which it was found. Not synced."""
        with suppress(FileNotFoundError):
            self._files.disk.rename(self._directory / str(found), self._directory / str(marker))
            self._drop_others(marker)
            return
        self._known.pop(marker.job, None)

    def _drop_others(self, marker: Marker) -> None:
        for other in self._known.get(marker.job, ())[1:]:
            if other != marker:
                self._files.discard(self._directory / str(other))
        self._known[marker.job] = [marker]

    def remove(self, job: str) -> None:
        """Take a job out."""
        self._known.pop(job, None)
        if self.find(job) is not None:
            for marker in self._known.pop(job, ()):
                self._files.discard(self._directory / str(marker))


def _when(marker: Marker) -> tuple[bool, int]:
    return marker.due is None, marker.due or 0
