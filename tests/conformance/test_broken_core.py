"""The core suite tests itself: each broken core is caught, by few checks, and each check catches one."""

from __future__ import annotations

from functools import cache
from itertools import chain

import pytest

from conformance import broken_core_ends, broken_core_life
from conformance.breaking_core import BROKEN_CORES
from dispatch.conformance import CORE, Outcome, run_core_suite

SETS = (broken_core_ends, broken_core_life)
MOST_FAILURES = 3


@cache
def failures(sentence: str) -> tuple[str, ...]:
    """The checks that a broken core fails."""
    broken = BROKEN_CORES[sentence]
    with broken.at_work():
        harness = broken.harness()
        results = harness.run(run_core_suite(harness, CORE, kind=broken.bench))
    return tuple(result.name for result in results if result.verdict is Outcome.FAILED)


def matrix() -> str:
    """Which checks catch which broken core."""
    return "\n".join(
        f"{sentence}\n    {'; '.join(failures(sentence))}" for sentence in BROKEN_CORES
    )


@pytest.mark.parametrize("sentence", BROKEN_CORES)
def test_a_broken_core_is_caught_and_by_few_checks(sentence: str) -> None:
    assert 1 <= len(failures(sentence)) <= MOST_FAILURES, failures(sentence)


def test_each_check_catches_a_broken_core(capsys: pytest.CaptureFixture[str]) -> None:
    caught = set(chain.from_iterable(map(failures, BROKEN_CORES)))
    with capsys.disabled():
        print(f"\n{len(BROKEN_CORES)} broken cores, {len(CORE)} checks\n{matrix()}")  # noqa: T201 - a report for people
    assert {check.name for check in CORE} - caught == set()


def test_what_is_broken_is_whole_again_afterwards() -> None:
    for broken in BROKEN_CORES.values():
        if broken.place is None:
            continue
        owner, name = broken.place
        real = getattr(owner, name)
        with broken.at_work():
            assert getattr(owner, name) is not real
        assert getattr(owner, name) is real
