"""The suites as tests of pytest: an adapter's test module needs its harness and one line a suite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from dispatch.conformance.backend import BACKEND
from dispatch.conformance.bench import Bench
from dispatch.conformance.checks import Check
from dispatch.conformance.harness import Harness
from dispatch.conformance.running import run_suite
from dispatch.conformance.verdicts import Outcome

Test = Callable[[Check[Bench], Harness], None]


def backend_suite() -> Test:
    """Make a test of each check of the backend suite; the module has a fixture ``harness``."""

    @pytest.mark.parametrize("check", list(BACKEND), ids=lambda check: check.name)
    def test_the_backend_conforms(check: Check[Bench], harness: Harness) -> None:
        (result,) = asyncio.run(run_suite(harness, [check]))
        match result.verdict:
            case Outcome.SKIPPED:
                pytest.skip(result.reason)
            case Outcome.FAILED:
                pytest.fail(f"{result.reason}\n\n{check.why}", pytrace=False)
            case Outcome.PASSED:
                return

    return test_the_backend_conforms
