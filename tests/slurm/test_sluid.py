"""Why writes go by job id: what 26.05 does with a SLUID, so that a release that does otherwise is noticed (12)."""

from __future__ import annotations

import time

import pytest

from lab import Lab

pytestmark = pytest.mark.slurm


def test_a_cancel_that_the_controller_filters_does_nothing_by_sluid_and_ends_the_job_by_id(
    lab: Lab,
) -> None:
    name = "sluid-or-id"
    job = lab.text("alice", "sbatch", "--parsable", "--hold", f"--job-name={name}", "--wrap=true")
    number = job.strip()
    sluid = lab.text("alice", "squeue", "-h", "-j", number, "-O", "SLUID").strip()
    assert sluid.startswith("s")

    def state() -> str:
        return lab.text("alice", "squeue", "-h", "-t", "all", "-j", number, "-o", "%T").strip()

    lab.text("alice", "scancel", "--ctld", "--me", f"--name={name}", sluid)
    time.sleep(1)
    assert state() == "PENDING", "then writes could go by SLUID"
    lab.text("alice", "scancel", "--ctld", "--me", f"--name={name}", number)
    end = time.monotonic() + 30
    while state() != "CANCELLED":
        assert time.monotonic() < end
        time.sleep(0.1)
