"""The core suite on the memory adapter, in both shapes; virtual time makes hours of it seconds."""

from __future__ import annotations

import time

import pytest

from dispatch.conformance import CORE, Outcome, Result, run_core_suite
from dispatch.conformance.harness import Harness
from dispatch.conformance.memory import MemoryHarness
from dispatch.conformance.pytest import core_suite

SKIPPED = {
    "slurm": set[str](),
    "kubeflow": {
        "a preempted execution is tried again",
        "a wait that the policy declares stands for the proof",
    },
}
"""A TrainJob that is preempted is run again by Kueue itself, and one that has lost a node never ends by itself."""

test_the_core_on_a_slurm_in_memory = core_suite()


@pytest.fixture
def harness() -> Harness:
    """As a third party would write it."""
    return MemoryHarness()


@pytest.mark.parametrize("shape", SKIPPED)
def test_the_core_keeps_its_rules_on_a_shape(
    shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = time.perf_counter()
    harness = MemoryHarness(shape=shape)
    results: list[Result] = harness.run(run_core_suite(harness, CORE))
    with capsys.disabled():
        print(f"\n{shape}: {len(results)} checks in {time.perf_counter() - begin:.1f} s")  # noqa: T201 - a report
    wrong = [f"{one.name}: {one.reason}" for one in results if one.verdict is Outcome.FAILED]
    assert not wrong, "\n".join(wrong)
    assert {one.name for one in results if one.verdict is Outcome.SKIPPED} == SKIPPED[shape]
