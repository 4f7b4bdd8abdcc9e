"""A climate: what of the weather is settled rather than drawn, so that one kind of fault is met in few seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Climate:
    """What is settled; all that is left out is the seed's to draw.

    ``rate``: the share of calls that go wrong. ``writes``: the kinds of it for writes. ``life``: after about so many points a
    process dies. ``acts``: what befalls the site, by name, several times. ``spite``: how often one of ``reactions`` happens just
    after a write has landed or an execution has begun, ``within`` about so many seconds; ``after``: only where these words are
    in its name. ``ends``: what executions come to. ``asks``: what each person asks for, one after
    the other, each within about ``asks_within`` seconds. ``poll``: the longest time between two
    looks at a job. ``assumed``: the wait that each policy accepts in place of proof that an execution is gone. ``settings``: the cluster's.
    """

    rate: float | None = None
    writes: tuple[str, ...] = ()
    life: float | None = None
    acts: tuple[str, ...] = ()
    spite: float | None = None
    reactions: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    within: float = 6.0
    ends: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    asks_within: float = 0.0
    poll: float | None = None
    assumed: str = ""
    settings: tuple[tuple[str, Any], ...] = ()

    def reacts_to(self, what: str) -> bool:
        """Whether something may happen just after that."""
        return not self.after or any(word in what for word in self.after)


MIXED = Climate()
"""Nothing is settled."""


def only(among: Sequence[tuple[T, float]], names: tuple[str, ...]) -> Sequence[tuple[T, float]]:
    """Those of several, with their weights, that have one of the names; all of them where there are no names."""
    return [(one, weight) for one, weight in among if str(one) in names] if names else among
