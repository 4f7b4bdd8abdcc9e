"""An older dispatch beside a newer one on the same records (12, T4).

Somebody upgrades, a supervisor or a person: from then on each process of that name is one of the next dispatch, which writes
events of the next schema and reads both. Only the number is newer, so that the real fold reads them. A process of the
older dispatch is refused a record that a newer one has written to, and must then leave that job alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dispatch.model.base import Instant
from dispatch.model.errors import NewerSchema
from dispatch.model.journal import SCHEMA, Entry, Intended
from dispatch.sim.records import Kept, RecordsStore
from dispatch.spi.store import Summary, Turn

if TYPE_CHECKING:
    from dispatch.sim.chance import Stream
    from dispatch.sim.process import Process
    from dispatch.sim.site import Site

NEXT = SCHEMA + 1
LEFT_ALONE = "an older dispatch has left a newer one's job alone, and said so"


class Handle(RecordsStore):
    """A process's handle on the records, with the schema of the dispatch that the process is of.

    It checks that an older one leaves alone what it has been refused: it appends nothing, claims nothing and puts nothing off.
    """

    def __init__(self, process: Process) -> None:
        super().__init__(
            process.records, process.point, partial(process.site.disk.write, process.name)
        )
        self.process = process
        self.schema = NEXT if process.life_of in process.site.upgraded else SCHEMA
        self.refused: set[str] = set()
        """The jobs that it was refused."""

    def is_newer(self, job: str) -> bool:
        """Whether a newer dispatch has written to the job."""
        kept = self.records.jobs.get(job)
        return kept is not None and kept.schema > self.schema

    def create(self, entry: Entry, summary: Summary) -> Summary:
        """Write the header of a new job."""
        (stamped,) = self._stamped((entry,))
        return super().create(stamped, summary)

    def append(self, job: str, expected: int, entries: Sequence[Entry], summary: Summary) -> bool:
        """Append on version ``expected``."""
        newer = self.is_newer(job)
        added = super().append(job, expected, self._stamped(entries), summary)
        if newer and added:
            self._break("appends to", job)
        return added

    def _stamped(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        if self.schema == SCHEMA:
            return entries
        return tuple(replace(entry, schema=self.schema) for entry in entries)

    def reschedule_all(self, turns: Sequence[Turn]) -> None:
        """Set when each should be looked at next."""
        super().reschedule_all(turns)
        self._check("puts off", [turn.job for turn in turns])

    def claim(
        self, jobs: Sequence[str], owner: str, until: Instant, now: Instant
    ) -> frozenset[str]:
        """Claim those of the jobs that nobody else has a live claim on."""
        claimed = super().claim(jobs, owner, until, now)
        self._check("claims", jobs)
        return claimed

    def _check(self, does: str, jobs: Sequence[str]) -> None:
        for job in self.refused.intersection(jobs):
            self._break(does, job)

    def _break(self, does: str, job: str) -> None:
        site = self.process.site
        site.break_rule(
            "T4", f"{self.process.name} {does} {site.label(job)}, which a newer one has written to"
        )

    def _refuse_newer(self, job: str, kept: Kept) -> None:
        if kept.schema > self.schema:
            self.refused.add(job)
            error = NewerSchema(
                f"Job {job} has events of schema {kept.schema}, written by a newer dispatch.",
                todo="Upgrade.",
            )
            self.process.site.refusals.add(str(error))
            raise error


def check_call(process: Process, job: str, what: str) -> None:
    """T4: an older process makes no call for a job that a newer one has written to, unless its intent was there before."""
    if not process.store.is_newer(job):
        return
    own = [e for e in process.records.jobs[job].entries if e.actor.host == process.name]
    if not own or not isinstance(own[-1].event, Intended):
        process.site.break_rule(
            "T4", f"{process.name} calls ({what}) for a job which a newer one has written to"
        )


def is_refusal(site: Site, told: str) -> bool:
    """Whether this is what an older process says of a newer one's job; it is counted."""
    said = any(told.endswith(refusal) for refusal in site.refusals)
    if said:
        site.excused.append(LEFT_ALONE)
    return said


def upgrades(process: Process, error: BaseException | None) -> bool:
    """Whether a person's command was refused a newer one's job; he upgrades then, and tries again."""
    if not isinstance(error, NewerSchema) or not process.store.refused:
        return False
    process.site.excused.append(LEFT_ALONE)
    process.site.upgraded.add(process.life_of)
    return True


def upgrade_one(site: Site, draw: Stream) -> None:
    """Somebody upgrades: what runs of the older dispatch under that name ends."""
    _upgrade(site, draw.pick(_names(site)))


def upgrade_all(site: Site) -> None:
    """Where somebody has upgraded, everybody does."""
    for name in _names(site) if site.upgraded else ():
        _upgrade(site, name)


def _upgrade(site: Site, name: str) -> None:
    site.upgraded.add(name)
    for process in list(site.processes):
        if process.life_of == name and process.store.schema < NEXT:
            process.die()


def _names(site: Site) -> list[str]:
    supervisors = [f"s{number}" for number in range(1, site.options.supervisors + 1)]
    return [*supervisors, *(("s9",) if site.others else ()), *(one.label for one in site.people)]
