"""The example of the guide is a whole adapter: it passes the backend suite, and skips only what it does not offer."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType

import pytest

from dispatch.conformance import BACKEND, CORE, Harness, Outcome, run_core_suite, run_suite
from docs.blocks import ROOT, blocks_of

GUIDE = ROOT / "docs" / "how-to" / "write-an-adapter.md"
PARTS = ("example: adapter", "example: harness", "example: tests", "example: virtual")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that a reader gets who copies the blocks one after the other."""
    blocks = {block.mark: block.text for block in blocks_of(GUIDE)}
    module = ModuleType("dispatch_shelf")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for part in PARTS:
        exec(compile(blocks[part], f"{GUIDE}, {part}", "exec"), module.__dict__)  # noqa: S102 - our own page
    return module


def test_the_example_passes_and_runs_half_of_what_every_adapter_must(example: ModuleType) -> None:
    harness: Harness = example.ShelfHarness()
    results = asyncio.run(run_suite(harness, BACKEND))
    failed = [f"{one.name}: {one.reason}" for one in results if one.verdict is Outcome.FAILED]
    assert not failed, "\n".join(failed)
    passed = [one.name for one in results if one.verdict is Outcome.PASSED]
    of_all = [check.name for check in BACKEND if check.needs is None]
    assert len(passed) > len(of_all) / 2, (len(passed), len(of_all))


def test_the_example_keeps_the_rules_of_the_core_in_virtual_time(example: ModuleType) -> None:
    harness: Harness = example.VirtualShelfHarness()
    results = harness.run(run_core_suite(harness, CORE))
    failed = [f"{one.name}: {one.reason}" for one in results if one.verdict is Outcome.FAILED]
    assert not failed, "\n".join(failed)
    passed = [one.name for one in results if one.verdict is Outcome.PASSED]
    assert len(passed) > len(CORE) / 3, passed


def test_the_example_gives_pytest_a_test_of_each_check(example: ModuleType) -> None:
    (mark,) = example.test_the_shelf_adapter.pytestmark
    assert len(mark.args[1]) == len(BACKEND)
