"""The backend suite on a real Slurm, with nothing skipped but what the list in the tree allows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.allowed import differences, lines_of
from conformance.slurm_lab import LabHarness
from dispatch.conformance import BACKEND, Outcome, Result, run_suite
from lab import Lab, why_no_cgroups
from slurm.conftest import bring_up

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def cluster() -> Iterator[Lab]:
    """A cluster of this module's own, whose daemons are killed."""
    lab = bring_up(accounting=True, slurmd_timeout=8, cgroup=why_no_cgroups() is None)
    yield lab
    lab.down()


def test_a_real_slurm_passes_and_skips_only_what_the_list_allows(
    cluster: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o755)
    begin = last = time.monotonic()

    def tell(result: Result) -> None:
        nonlocal last
        now = time.monotonic()
        with capsys.disabled():
            print(f"{now - last:6.1f} s  {result.verdict}  {result.name}  {result.reason}")  # noqa: T201 - a report
        last = now

    results = asyncio.run(run_suite(LabHarness(cluster, tmp_path), BACKEND, tell))
    with capsys.disabled():
        print(f"{len(results)} checks in {time.monotonic() - begin:.0f} s")  # noqa: T201 - a report
    failed = [result for result in results if result.verdict is Outcome.FAILED]
    assert not failed, "\n".join(f"{one.name}: {one.reason}" for one in failed)
    assert differences(lines_of("slurm"), results) == []
