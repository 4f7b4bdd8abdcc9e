"""A table of rules: rows in order, of which the first that holds gives the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dispatch.adapters.slurm.reading.facts import Seen
from dispatch.model.status import Verdict


@dataclass(frozen=True)
class Rule:
    """One row: its name in words, when it holds, and the verdict that it gives (without evidence)."""

    name: str
    holds: Callable[[Seen], bool]
    verdict: Callable[[Seen], Verdict]


def always(_: Seen) -> bool:
    """Hold for everything: the condition of a table's last row."""
    return True


def first_of(rules: Sequence[Rule], seen: Seen) -> Verdict:
    """Give the verdict of the first rule that holds; the last one always does."""
    return next(rule.verdict(seen) for rule in rules if rule.holds(seen))
