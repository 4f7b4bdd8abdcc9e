"""The lists of allowed skips are held to what is skipped in both directions, with no Slurm at hand too."""

from __future__ import annotations

import pytest

from conformance.allowed import CHECKS, differences, faults, lines_of
from dispatch.conformance import Outcome, Result

WORLDS = ("memory", "slurm")
SKIPPED = Result(name="one", verdict=Outcome.SKIPPED, reason="why")
PASSED = Result(name="two", verdict=Outcome.PASSED)


@pytest.mark.parametrize("world", WORLDS)
def test_each_line_names_a_check_once(world: str) -> None:
    lines = lines_of(world)
    assert lines
    by_shape: dict[str, list[str]] = {}
    for line in lines:
        shape, _, name = line.rpartition(": ")
        by_shape.setdefault(shape, []).append(name)
    assert [fault for names in by_shape.values() for fault in faults(names)] == []


def test_a_line_that_is_not_needed_is_a_difference() -> None:
    assert differences(["one", "two"], [SKIPPED, PASSED]) == ["allowed and not skipped: two"]


def test_a_skip_that_is_not_allowed_is_a_difference() -> None:
    assert differences([], [SKIPPED, PASSED]) == ["skipped and not allowed: one: why"]


def test_a_line_that_stands_twice_or_names_nothing_is_a_fault() -> None:
    name = min(CHECKS)
    assert faults([name, name]) == [f"twice: {name}"]
    assert faults(["no such check"]) == ["no check: no such check"]
