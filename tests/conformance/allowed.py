"""The lists of skips that are allowed: each line is a check that exists, is skipped, and may be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dispatch.conformance import BACKEND, Outcome, Result

HERE = Path(__file__).parent
CHECKS = frozenset(check.name for check in BACKEND)


def lines_of(world: str) -> list[str]:
    """The lines of the list of a world that are no comments."""
    text = (HERE / f"allowed-skips-{world}.txt").read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def differences(allowed: Iterable[str], results: Iterable[Result]) -> list[str]:
    """Tell of each skip that is not allowed, and of each line that is not needed."""
    lines = set(allowed)
    skipped = {one.name: one.reason for one in results if one.verdict is Outcome.SKIPPED}
    unallowed = [
        f"skipped and not allowed: {name}: {skipped[name]}" for name in skipped.keys() - lines
    ]
    unneeded = [f"allowed and not skipped: {name}" for name in lines - skipped.keys()]
    return sorted((*unallowed, *unneeded))


def faults(lines: Iterable[str]) -> list[str]:
    """Tell of each line that stands twice or names no check."""
    seen: set[str] = set()
    found: list[str] = []
    for line in lines:
        if line in seen:
            found.append(f"twice: {line}")
        if line not in CHECKS:
            found.append(f"no check: {line}")
        seen.add(line)
    return found
