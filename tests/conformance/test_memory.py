"""The backend suite on the memory adapter: both shapes, and Slurm's with accounting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance.allowed import differences, lines_of
from conformance.telling import Telling, TellingHarness
from dispatch.conformance import BACKEND, Outcome, run_suite
from dispatch.conformance.harness import Harness
from dispatch.conformance.memory import MemoryHarness
from dispatch.conformance.pytest import backend_suite

RESTARTS: dict[str, Any] = {
    "rules": {"restart": {"value": "yes"}},
    "native": {"restart": {"value": "yes"}},
}
WORLDS: dict[str, dict[str, Any]] = {
    "slurm": {},
    "slurm with accounting and restarts": {
        "capabilities": {"AccountingHistory": {"value": "yes", "source": "probed"}},
        **RESTARTS,
    },
    "kubeflow": {"shape": "kubeflow", **RESTARTS},
}

test_the_memory_adapter = backend_suite()


@pytest.fixture
def harness() -> Harness:
    """As a third party would write it; with everything, so that nothing is skipped."""
    everything = {"AccountingHistory": {"value": "yes"}, "Output": {"value": "yes"}}
    return TellingHarness(Telling, capabilities=everything, **RESTARTS)


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_passes_and_skips_only_what_the_list_allows(world: str) -> None:
    results = asyncio.run(run_suite(MemoryHarness(**WORLDS[world]), BACKEND))
    failed = [result for result in results if result.verdict is Outcome.FAILED]
    assert not failed, "\n".join(f"{result.name}: {result.reason}" for result in failed)
    own = f"{world}: "
    allowed = [line.removeprefix(own) for line in lines_of("memory") if line.startswith(own)]
    assert differences(allowed, results) == []


def test_each_allowed_skip_is_of_a_world_that_is_tried() -> None:
    assert {line.partition(": ")[0] for line in lines_of("memory")} <= WORLDS.keys()


def test_every_skip_says_why() -> None:
    results = asyncio.run(run_suite(MemoryHarness(), BACKEND))
    assert all(result.reason for result in results if result.verdict is Outcome.SKIPPED)
