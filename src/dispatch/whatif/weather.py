"""What goes wrong, and when: a model of failures, and the draws that one seed makes of it.

A failure comes when the job has run for so long since the last of its kind, so two policies under one seed meet the same
failures after the same time of running, and differ by what they do about them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import cycle

from dispatch.model.base import Value
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, Detail

NEVER = 1 << 62
"""Milliseconds; later than every horizon."""
LONGEST_MS = Duration(days=10_000).ms


class Spread(Value):
    """How long something takes: always the same, or exponential around that mean."""

    mean: Duration
    exponential: bool = False

    def __str__(self) -> str:
        return f"{'exp:' if self.exponential else ''}{self.mean}"


class Gap(Value):
    """How long a job ran before something happened; where it did not ``happen``, how long it was watched in vain."""

    ms: int
    happened: bool = True


class Source(Value):
    """One kind of failure: its cause, and how long a job runs between two of them.

    ``mean`` draws exponential gaps (a Poisson process); ``gaps`` are recorded ones, drawn again at random, or in
    their order where the seed is ``None``. With ``per_node`` the time is that of one node.
    """

    cause: Cause
    mean: Duration | None = None
    gaps: tuple[Gap, ...] = ()
    per_node: bool = False
    partition: str | None = None
    """Only where the job runs in this partition."""
    detail: Detail = Detail()

    @property
    def name(self) -> str:
        """What tells it from the others, for its own sequence of draws."""
        return f"{self.cause} {self.detail.exit_code or ''} {self.partition or ''}"

    @property
    def mean_ms(self) -> float:
        """The mean time between two, in milliseconds of running (of one node, with ``per_node``)."""
        if self.mean is not None:
            return self.mean.ms
        happened = sum(gap.happened for gap in self.gaps)
        return sum(gap.ms for gap in self.gaps) / happened if happened else math.inf


class Hazard:
    """The clock of one source: how much running is left until it strikes next."""

    def __init__(self, source: Source, seed: int | None) -> None:
        self.source = source
        self._gaps = _gaps(source, seed)
        self._left = next(self._gaps)

    def strikes_in(self, nodes: int) -> int:
        """Milliseconds of running on so many nodes until it strikes."""
        return -(-self._left // nodes) if self.source.per_node else self._left

    def pass_by(self, ran: int, nodes: int) -> None:
        """Let the job run for so long without its striking."""
        self._left = max(self._left - ran * (nodes if self.source.per_node else 1), 1)

    def strike(self) -> None:
        """Strike now, and draw the next."""
        self._left = next(self._gaps)


def _gaps(source: Source, seed: int | None) -> Iterator[int]:
    if source.mean is not None:
        yield from _exponential(draws(seed, source.name), source.mean.ms)
    if sum(gap.ms for gap in source.gaps if gap.happened) <= 0:
        # Nothing but failures at once: a job would never run a millisecond.
        if not any(gap.happened for gap in source.gaps):
            yield from cycle([NEVER])
        yield from cycle([1])
    yield from _recorded(source, seed)


def _recorded(source: Source, seed: int | None) -> Iterator[int]:
    drawn = draws(seed, source.name)
    order = cycle(source.gaps)
    waited = 0
    while True:
        gap = next(order) if seed is None else source.gaps[int(drawn.random() * len(source.gaps))]
        waited += gap.ms
        if gap.happened:
            yield max(waited, 1)
            waited = 0


def _exponential(drawn: random.Random, mean: int) -> Iterator[int]:
    while True:
        yield exponential(drawn, mean)


def exponential(drawn: random.Random, mean: int) -> int:
    """Draw an exponential time around the mean, in whole milliseconds, at least one."""
    return min(max(round(-math.log(1.0 - drawn.random()) * mean), 1), LONGEST_MS)


def draws(seed: int | None, name: str) -> random.Random:
    """Make a sequence of draws of its own for one purpose, the same in every process and Python."""
    return random.Random(f"{seed} {name}")  # noqa: S311 - a simulation, nothing secret


def draw(spread: Spread, drawn: random.Random) -> int:
    """Draw a time, in milliseconds."""
    return exponential(drawn, spread.mean.ms) if spread.exponential else spread.mean.ms
