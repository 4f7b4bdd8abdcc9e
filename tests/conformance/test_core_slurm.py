"""The core suite on a real Slurm, in real time: the rules for which a scheduler in memory could be too kind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.slurm_lab import LabHarness
from dispatch.conformance import CORE, Outcome, Result, run_core_suite
from lab import Lab
from slurm.conftest import bring_up

pytestmark = pytest.mark.slurm

CHOSEN = (
    "an accepted job runs and its end is its verdict",
    "a failure that a rule matches is tried again",
    "an open whose reply is lost is read back",
    "a stop of what runs ends the job",
    "a stop whose reply is lost is a stop",
    "a job that is held before it starts runs after its release alone",
)
"""All 53 take more than half an hour of real time."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Lab]:
    """A cluster of this module's own, whose daemons are killed."""
    lab = bring_up(accounting=True, slurmd_timeout=8)
    yield lab
    lab.down()


def test_the_core_keeps_its_rules_on_a_real_slurm(
    cluster: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o755)
    last = time.monotonic()

    def tell(result: Result) -> None:
        nonlocal last
        now = time.monotonic()
        with capsys.disabled():
            print(f"{now - last:6.1f} s  {result.verdict}  {result.name}  {result.reason}")  # noqa: T201 - a report
        last = now

    checks = [CORE[name] for name in CHOSEN]
    results = asyncio.run(run_core_suite(LabHarness(cluster, tmp_path), checks, tell))
    wrong = [f"{one.name}: {one.reason}" for one in results if one.verdict is not Outcome.PASSED]
    assert not wrong, "\n".join(wrong)
