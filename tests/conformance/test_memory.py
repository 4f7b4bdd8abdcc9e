"""The backend suite on the memory adapter: both shapes, and Slurm's with accounting."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dispatch.conformance import BACKEND, Outcome, run_suite
from dispatch.conformance.harness import Harness
from dispatch.conformance.memory import MemoryHarness
from dispatch.conformance.pytest import backend_suite

WORLDS: dict[str, dict[str, Any]] = {
    "slurm": {},
    "slurm with accounting": {
        "capabilities": {"AccountingHistory": {"value": "yes", "source": "probed"}}
    },
    "kubeflow": {"shape": "kubeflow"},
}
ALLOWED = Path(__file__).with_name("allowed-skips-memory.txt")

test_the_memory_adapter = backend_suite()


@pytest.fixture
def harness() -> Harness:
    """As a third party would write it; accounting, so that nothing is skipped."""
    return MemoryHarness(**WORLDS["slurm with accounting"])


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_passes_and_skips_only_what_the_list_allows(world: str) -> None:
    results = asyncio.run(run_suite(MemoryHarness(**WORLDS[world]), BACKEND))
    failed = [result for result in results if result.verdict is Outcome.FAILED]
    assert not failed, "\n".join(f"{result.name}: {result.reason}" for result in failed)
    skipped = {f"{world}: {one.name}" for one in results if one.verdict is Outcome.SKIPPED}
    allowed = {line for line in ALLOWED.read_text().splitlines() if line.startswith(f"{world}:")}
    assert skipped == allowed


def test_every_skip_says_why() -> None:
    results = asyncio.run(run_suite(MemoryHarness(), BACKEND))
    assert all(result.reason for result in results if result.verdict is Outcome.SKIPPED)
