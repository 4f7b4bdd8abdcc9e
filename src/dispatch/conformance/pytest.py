"""The suites as tests of pytest: an adapter's test module needs its harness and one line a suite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from dispatch.conformance.backend import BACKEND
from dispatch.conformance.bench import Bench
from dispatch.conformance.checks import Check
from dispatch.conformance.core import CORE, CoreBench
from dispatch.conformance.harness import Harness
from dispatch.conformance.running import run_core_suite, run_store_suite, run_suite
from dispatch.conformance.store import STORE, OpenStore
from dispatch.conformance.verdicts import Outcome, Result

BackendTest = Callable[[Check[Bench], Harness], None]
CoreTest = Callable[[Check[CoreBench], Harness], None]
StoreTest = Callable[[Check[OpenStore], OpenStore], None]


def backend_suite() -> BackendTest:
    """Make a test of each check of the backend suite; the module has a fixture ``harness``."""

    @pytest.mark.parametrize("check", list(BACKEND), ids=lambda check: check.name)
    def test_the_backend_conforms(check: Check[Bench], harness: Harness) -> None:
        (result,) = asyncio.run(run_suite(harness, [check]))
        report(result, check.why)

    return test_the_backend_conforms


def core_suite() -> CoreTest:
    """Make a test of each check of the core suite; the module has a fixture ``harness``, which says in whose time it runs."""

    @pytest.mark.parametrize("check", list(CORE), ids=lambda check: check.name)
    def test_the_core_keeps_its_rules(check: Check[CoreBench], harness: Harness) -> None:
        (result,) = harness.run(run_core_suite(harness, [check]))
        report(result, check.why)

    return test_the_core_keeps_its_rules


def store_suite() -> StoreTest:
    """Make a test of each check of the store suite; the module has a fixture ``open_store``, which opens empty records."""

    @pytest.mark.parametrize("check", list(STORE), ids=lambda check: check.name)
    def test_the_store_conforms(check: Check[OpenStore], open_store: OpenStore) -> None:
        (result,) = asyncio.run(run_store_suite(lambda: open_store, [check]))
        report(result, check.why)

    return test_the_store_conforms


def report(result: Result, why: str) -> None:
    """Turn a result into pytest's own."""
    match result.verdict:
        case Outcome.SKIPPED:
            pytest.skip(result.reason)
        case Outcome.FAILED:
            pytest.fail(f"{result.reason}\n\n{why}".strip(), pytrace=False)
        case Outcome.PASSED:
            return
