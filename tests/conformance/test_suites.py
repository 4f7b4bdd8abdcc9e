"""What the suites say of themselves: a sentence and a reason for each check."""

from __future__ import annotations

from typing import Any

import pytest

from dispatch.conformance import BACKEND, CORE, STORE
from dispatch.conformance.checks import Suite


@pytest.mark.parametrize("suite", [BACKEND, CORE, STORE], ids=lambda suite: suite.name)
def test_each_check_says_why(suite: Suite[Any]) -> None:
    assert [check.name for check in suite if not check.why.endswith(".")] == []


@pytest.mark.parametrize("suite", [CORE, STORE], ids=lambda suite: suite.name)
def test_each_check_of_the_core_and_of_a_store_cites_its_rule(suite: Suite[Any]) -> None:
    uncited = [check.name for check in suite if "(" not in check.why]
    assert uncited == []
