"""The suites test themselves: each broken adapter is caught, by few checks, and each check catches one."""

from __future__ import annotations

import asyncio
from functools import cache
from itertools import chain

import pytest

from conformance import (
    broken_answers,
    broken_causes,
    broken_holds,
    broken_many,
    broken_native,
    broken_optional,
    broken_output,
    broken_reads,
    broken_writes,
)
from conformance.breaking import BROKEN
from dispatch.conformance import BACKEND, Outcome, run_suite

SETS = (
    broken_answers,
    broken_causes,
    broken_holds,
    broken_many,
    broken_native,
    broken_optional,
    broken_output,
    broken_reads,
    broken_writes,
)

MOST_FAILURES = 3


@cache
def failures(sentence: str) -> tuple[str, ...]:
    """The checks that a broken adapter fails."""
    results = asyncio.run(run_suite(BROKEN[sentence](), BACKEND))
    return tuple(result.name for result in results if result.verdict is Outcome.FAILED)


def matrix() -> str:
    """Which checks catch which broken adapter."""
    return "\n".join(f"{sentence}\n    {'; '.join(failures(sentence))}" for sentence in BROKEN)


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_broken_adapter_is_caught_and_by_few_checks(sentence: str) -> None:
    assert 1 <= len(failures(sentence)) <= MOST_FAILURES, failures(sentence)


def test_each_check_catches_a_broken_adapter(capsys: pytest.CaptureFixture[str]) -> None:
    caught = set(chain.from_iterable(map(failures, BROKEN)))
    with capsys.disabled():
        print(f"\n{len(BROKEN)} broken adapters, {len(BACKEND)} checks\n{matrix()}")  # noqa: T201 - a report for people
    assert {check.name for check in BACKEND} - caught == set()


def test_there_are_many_broken_adapters() -> None:
    assert len(BROKEN) >= 25
    modules = {harness().kind.__module__ for harness in BROKEN.values()}
    assert modules == {one.__name__ for one in SETS}
