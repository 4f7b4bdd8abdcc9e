"""What the suites say of themselves: a sentence and a reason for each check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance import broken_core_ends, broken_core_life
from conformance.breaking_core import BROKEN_CORES
from dispatch.conformance import BACKEND, CORE, STORE
from dispatch.conformance.checks import Suite

SETS = (broken_core_ends, broken_core_life)


@pytest.mark.parametrize("suite", [BACKEND, CORE, STORE], ids=lambda suite: suite.name)
def test_each_check_says_why(suite: Suite[Any]) -> None:
    assert [check.name for check in suite if not check.why.endswith(".")] == []


@pytest.mark.parametrize("suite", [CORE, STORE], ids=lambda suite: suite.name)
def test_each_check_of_the_core_and_of_a_store_cites_its_rule(suite: Suite[Any]) -> None:
    uncited = [check.name for check in suite if "(" not in check.why]
    assert uncited == []


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "conformance.md"


def test_the_page_tells_how_many_checks_of_the_core_there_are_and_how_many_broken_ones() -> None:
    page = PAGE.read_text()
    assert f"| core | {len(CORE)} |" in page
    assert f"| core | {len(BROKEN_CORES)} |" in page
