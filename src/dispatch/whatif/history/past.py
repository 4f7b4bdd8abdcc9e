"""Executions of the past, and the model of failures that they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, Detail
from dispatch.whatif.weather import Gap, Source, Spread

PER_NODE = frozenset({Cause.NODE_LOST, Cause.LAUNCH_FAILED, Cause.EVICTED})
"""Causes that come the more often the more nodes a job has."""

NOT_WEATHER = frozenset({Cause.TIMEOUT, Cause.DEADLINE_EXCEEDED, Cause.CANCELLED, Cause.STOPPED})
"""Ends that say nothing of how long another job would run: its own limits, and what a person did."""

LONGEST_MS = Duration(days=3650).ms
MOST_NODES = 100_000


class Past(NamedTuple):
    """One execution of the past: when it started, for how long and on how many nodes it ran, what ended it."""

    started: int
    ran: int
    nodes: int
    cause: Cause | None = None
    exit_code: int | None = None
    signal: str | None = None
    queued: int | None = None


class History(NamedTuple):
    """What a file tells: its executions in the order of their starts, and what was left out of it."""

    executions: tuple[Past, ...]
    notes: tuple[str, ...] = ()


def sources_of(executions: Sequence[Past]) -> tuple[Source, ...]:
    """Make a source of each cause: the time of running between its failures, as recorded, in order."""
    kinds: dict[tuple[Cause, int | None, str | None], None] = {}
    for past in executions:
        if past.cause is not None and past.cause not in NOT_WEATHER:
            kinds[_kind(past, past.cause)] = None
    return tuple(_source(executions, *kind) for kind in sorted(kinds, key=str))


def _kind(past: Past, cause: Cause) -> tuple[Cause, int | None, str | None]:
    return cause, past.exit_code, past.signal


def _source(
    executions: Iterable[Past], cause: Cause, exit_code: int | None, signal: str | None
) -> Source:
    gaps: list[Gap] = []
    per_node, waited = cause in PER_NODE, 0
    for past in executions:
        waited += past.ran * (past.nodes if per_node else 1)
        if past.cause is cause and _kind(past, cause) == (cause, exit_code, signal):
            gaps.append(Gap(ms=waited))
            waited = 0
    if waited:
        gaps.append(Gap(ms=waited, happened=False))
    detail = Detail(exit_code=exit_code, signal=signal)
    return Source(cause=cause, gaps=tuple(gaps), per_node=per_node, detail=detail)


def queue_wait_of(executions: Iterable[Past]) -> Spread | None:
    """The mean wait in the queue, taken as exponential; ``None`` where no execution tells."""
    waits = [past.queued for past in executions if past.queued is not None]
    if not waits:
        return None
    mean = sum(waits) // len(waits)
    return Spread(mean=Duration.of_ms(mean), exponential=mean > 0)
