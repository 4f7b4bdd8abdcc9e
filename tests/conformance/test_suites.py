"""What the suites say of themselves: a sentence and a reason for each check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance import (
    broken_core_ends,
    broken_core_life,
    broken_stores_questions,
    broken_stores_records,
)
from conformance.breaking_core import BROKEN_CORES
from conformance.breaking_stores import BROKEN_STORES
from dispatch.conformance import BACKEND, CORE, STORE
from dispatch.conformance.checks import Suite

SETS = (broken_core_ends, broken_core_life, broken_stores_questions, broken_stores_records)


@pytest.mark.parametrize("suite", [BACKEND, CORE, STORE], ids=lambda suite: suite.name)
def test_each_check_says_why(suite: Suite[Any]) -> None:
    assert [check.name for check in suite if not check.why.endswith(".")] == []


@pytest.mark.parametrize("suite", [CORE, STORE], ids=lambda suite: suite.name)
def test_each_check_of_the_core_and_of_a_store_cites_its_rule(suite: Suite[Any]) -> None:
    uncited = [check.name for check in suite if "(" not in check.why]
    assert uncited == []


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "conformance.md"


@pytest.mark.parametrize("suite", [CORE, STORE], ids=lambda suite: suite.name)
def test_the_page_tells_how_many_checks_there_are(suite: Suite[Any]) -> None:
    assert f"| {suite.name} | {len(suite)} |" in PAGE.read_text()


@pytest.mark.parametrize(("suite", "broken"), [(CORE, BROKEN_CORES), (STORE, BROKEN_STORES)])
def test_the_page_tells_how_many_broken_things_there_are(
    suite: Suite[Any], broken: dict[str, object]
) -> None:
    assert f"| {suite.name} | {len(broken)} |" in PAGE.read_text()
