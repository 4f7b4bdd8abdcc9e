"""A disk that fails: a write to the records is refused, or it is there and its writer is told that it failed.

The first is a full disk, a lock that is never given up, a database that is away. The second is the reply of a database that
is lost, or a sync that fails after the write: its outcome is unknown (12, T3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.model.errors import StoreError
from dispatch.sim.weather import NEVER

if TYPE_CHECKING:
    from dispatch.sim.records import Moment
    from dispatch.sim.site import Site

SHARE = 0.2
"""The share of seeds whose disk fails at all."""
RATES = ((0.02, 2.0), (0.1, 2.0), (0.5, 0.5))
"""How often a write fails within a bad time, and how likely that is."""


class Disk:
    """When the disk of a seed fails: in one or a few bad times, at a rate of its own."""

    def __init__(self, site: Site) -> None:
        self._site = site
        draw = site.chance.stream("disk")
        fails = draw.happens(SHARE) and site.options.scenario is None
        self._rate: float = draw.weighed(RATES) if fails else 0.0
        length = site.options.storm.total_seconds()
        begins = [draw.between(0, length) for _ in range(draw.whole(1, 3))] if fails else [NEVER]
        self._bad = [(begin, begin + draw.waiting(400)) for begin in begins]
        self._said: set[str] = set()

    def write(self, process: str, what: str, moment: Moment) -> None:
        """Fail, where this write of that process fails at this moment. Raises ``StoreError``."""
        site = self._site
        if not self._rate or not any(begin <= site.now < end for begin, end in self._bad):
            return
        name = f"{site.numbered(f'{process} {what}')} {moment.value}"
        if site.chance.stream(f"disk/{name}").happens(self._rate / 2) and site.faults.allow(name):
            site.step(process, f"{what} {moment.value}")
            error = StoreError(f"Cannot {what}: the simulated disk fails.", todo="See to the disk.")
            self._said.add(str(error))
            raise error

    def has_said(self, told: str) -> bool:
        """Whether a line of the log tells of this disk."""
        return any(said in told for said in self._said)

    def is_why(self, error: BaseException | None) -> bool:
        """Whether a person's command has failed by this disk alone: he tries again."""
        return isinstance(error, StoreError) and self.has_said(str(error))
