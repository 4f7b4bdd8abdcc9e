"""Who is at work: claims, one file an owner, and heartbeats. Hints: a power cut may lose them."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from dispatch.model.base import Instant, Value
from dispatch.model.codec import decode, encode
from dispatch.model.errors import Invalid
from dispatch.spi.store import Heartbeat
from dispatch.stores.directory.layout import CLAIMS, FRESH, SUPERVISORS, digest
from dispatch.stores.shared import micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dispatch.stores.directory.files import Files

_FORGOTTEN_AFTER = timedelta(days=30)


class Claims(Value):
    """All that one owner has claimed, each job until when."""

    owner: str
    jobs: dict[str, Instant]


class Work:
    """Claims and heartbeats. One file an owner, since a claim of each of a thousand jobs would be a thousand files."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def _path(self, owner: str) -> Path:
        return self._files.root / CLAIMS / digest(owner)

    def claim(
        self, jobs: Iterable[str], owner: str, until: Instant, now: Instant
    ) -> frozenset[str]:
        """Claim what no other holds.

        Write, then look again: of two who claim the same at once at least one sees the other, and the one whose name comes
        later gives way. Both may still hold it if one was very slow, which costs a duplicate look.
        """
        mine = {job: at for job, at in self._own(owner).items() if at > now}
        taken = frozenset(jobs) - self._held_by_others(owner, now).keys()
        self._write(owner, mine | dict.fromkeys(taken, until))
        earlier = {job for job, who in self._held_by_others(owner, now).items() if who < owner}
        if lost := {job for job in taken & earlier if job not in mine}:
            taken -= lost
            self._write(owner, mine | dict.fromkeys(taken, until))
        return taken

    def _own(self, owner: str) -> dict[str, Instant]:
        found = self._claims(self._path(owner))
        return {} if found is None or found.owner != owner else found.jobs

    def _write(self, owner: str, jobs: dict[str, Instant]) -> None:
        self._files.replace(self._path(owner), encode(Claims(owner=owner, jobs=jobs)))

    def _held_by_others(self, owner: str, now: Instant) -> dict[str, str]:
        held: dict[str, str] = {}
        for path, found in self._all_claims():
            if found.owner == owner:
                continue
            live = [job for job, at in found.jobs.items() if at > now]
            if not live and all(at < now - _FORGOTTEN_AFTER for at in found.jobs.values()):
                self._files.discard(path)
            for job in live:
                held[job] = min(found.owner, held.get(job, found.owner))
        return held

    def _all_claims(self) -> Iterator[tuple[Path, Claims]]:
        directory = self._files.root / CLAIMS
        for name in self._files.names(directory):
            path = directory / name
            if not name.startswith(FRESH) and (found := self._claims(path)) is not None:
                yield path, found

    def _claims(self, path: Path) -> Claims | None:
        with suppress(Invalid, OSError):
            if data := self._files.read(path):
                return decode(data, Claims)
        return None

    def unclaim(self, owner: str) -> None:
        """Give up all claims of the owner."""
        self._remove(self._path(owner))

    def beat(self, heartbeat: Heartbeat) -> None:
        """Write a heartbeat; those not seen for a month, and files that were never finished, are removed."""
        directory = self._files.root / SUPERVISORS
        self._files.replace(directory / digest(heartbeat.id), encode(heartbeat))
        for path, found in self._all_beats():
            if found.seen < heartbeat.seen - _FORGOTTEN_AFTER:
                self._files.discard(path)
        for place in (directory, self._files.root / CLAIMS):
            self._files.sweep(place, self._files.names(place))

    def unbeat(self, supervisor: str) -> None:
        """Remove a heartbeat."""
        self._remove(self._files.root / SUPERVISORS / digest(supervisor))

    def _remove(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            self._files.disk.unlink(path)

    def heartbeats(self, since: Instant) -> tuple[Heartbeat, ...]:
        """The supervisors seen since then, the latest first."""
        found = [beat for _, beat in self._all_beats() if beat.seen >= since]
        return tuple(sorted(found, key=lambda beat: (-micros(beat.seen), beat.id)))

    def _all_beats(self) -> Iterator[tuple[Path, Heartbeat]]:
        directory = self._files.root / SUPERVISORS
        for name in self._files.names(directory):
            path = directory / name
            with suppress(Invalid, OSError):
                if not name.startswith(FRESH) and (data := self._files.read(path)):
                    yield path, decode(data, Heartbeat)
