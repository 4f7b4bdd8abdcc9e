"""The core suite on the memory adapter, and engines that break a rule of it."""

from __future__ import annotations

import asyncio

import pytest

from conformance.breaking import Breakable
from dispatch.conformance import CORE, Outcome, Result, run_core_suite
from dispatch.conformance.memory import MemoryHarness
from dispatch.model.errors import OutcomeUnknown
from dispatch.spi.adapter import CallMeta, StartOrder

SKIPPED_ON_KUBEFLOW = {
    "a preempted execution is tried again with a higher epoch",
    "a budget is never exceeded",
}


def run(harness: MemoryHarness) -> list[Result]:
    return asyncio.run(run_core_suite(harness, CORE))


def names(results: list[Result], verdict: Outcome) -> set[str]:
    return {result.name for result in results if result.verdict is verdict}


def test_the_core_keeps_every_rule_on_a_slurm() -> None:
    results = run(MemoryHarness())
    wrong = [f"{one.name}: {one.reason}" for one in results if one.verdict is not Outcome.PASSED]
    assert not wrong, "\n".join(wrong)


def test_the_core_keeps_the_rules_on_a_kubeflow() -> None:
    results = run(MemoryHarness(shape="kubeflow"))
    assert names(results, Outcome.FAILED) == set()
    assert names(results, Outcome.SKIPPED) == SKIPPED_ON_KUBEFLOW


class TriesAgain(Breakable):
    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        try:
            return await super().start(order, meta)
        except OutcomeUnknown:
            return await super().start(order, meta)


class Deaf(Breakable):
    async def stop(self, ref: str, meta: CallMeta) -> None:  # noqa: ARG002 - that is the fault
        return


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TriesAgain, "a start whose reply is lost makes one object"),
        (Deaf, "a stop ends the job and nothing of it starts again"),
    ],
)
def test_a_broken_adapter_breaks_a_rule_of_the_core(kind: type[Breakable], name: str) -> None:
    assert names(run(MemoryHarness(kind)), Outcome.FAILED) == {name}
