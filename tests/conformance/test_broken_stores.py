"""The store suite tests itself: each broken store is caught, by few checks, and each check catches one."""

from __future__ import annotations

import asyncio
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from conformance import broken_stores_questions, broken_stores_records
from conformance.breaking_stores import BROKEN_STORES, MEMORY, opener
from dispatch.conformance import STORE, Outcome, run_store_suite

SETS = (broken_stores_records, broken_stores_questions)
MOST_FAILURES = 3


@cache
def failures(sentence: str) -> tuple[str, ...]:
    """The checks that a broken store fails."""
    with TemporaryDirectory(prefix="dispatch-broken-", dir=MEMORY) as place:
        new = opener(BROKEN_STORES[sentence], Path(place))
        results = asyncio.run(run_store_suite(new, STORE))
    return tuple(result.name for result in results if result.verdict is Outcome.FAILED)


def matrix() -> str:
    """Which checks catch which broken store."""
    return "\n".join(
        f"{sentence}\n    {'; '.join(failures(sentence))}" for sentence in BROKEN_STORES
    )


@pytest.mark.parametrize("sentence", BROKEN_STORES)
def test_a_broken_store_is_caught_and_by_few_checks(sentence: str) -> None:
    assert 1 <= len(failures(sentence)) <= MOST_FAILURES, failures(sentence)


def test_each_check_catches_a_broken_store(capsys: pytest.CaptureFixture[str]) -> None:
    caught = set(chain.from_iterable(map(failures, BROKEN_STORES)))
    with capsys.disabled():
        print(f"\n{len(BROKEN_STORES)} broken stores, {len(STORE)} checks\n{matrix()}")  # noqa: T201 - a report for people
    assert {check.name for check in STORE} - caught == set()
