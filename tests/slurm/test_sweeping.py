"""The sweep on a real Slurm: a start that lands after its job has ended, and an object that nobody knows (12, T1)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from dispatch.core.recovery import effective_job
from dispatch.model.epoch import ulid
from dispatch.shell.supervisor import Supervisor
from dispatch.spi.adapter import CallMeta, StartOrder
from lab.host import SUITES
from slurm.conftest import NewLab
from slurm.site import Site

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize("suite", SUITES)
def test_a_late_start_of_an_ended_job_is_swept_and_a_stray_is_only_shown(
    new_lab: NewLab, tmp_path: Path, suite: str
) -> None:
    lab = new_lab(suite=suite)
    site = Site(lab, tmp_path)
    job = site.submit("true")
    site.end(job)
    stranger = ulid(1_790_000_000_000, bytes(10))
    late = asyncio.run(_start(site, job, job))
    stray = asyncio.run(_start(site, job, stranger))
    assert site.squeue(job)[-1].endswith("PENDING")

    one = Supervisor(site.system.ledger, site.system.clusters, "test", sweeps=("lab",))
    asyncio.run(_round(site, one))

    assert site.squeue(job)[-1] == f"{late.split(':')[0]} CANCELLED"
    assert site.squeue(stranger) == [f"{stray.split(':')[0]} PENDING"]
    assert stray in site.system.clusters.named("lab").strays
    lab.text("root", "scancel", stray.split(":")[0])
    site.close()


async def _start(site: Site, of: str, job: str) -> str:
    """Start an object gated, as a call would that was sent before the end and came late."""
    view = site.system.view(of)
    order = StartOrder(
        id=job,
        job=effective_job(view),
        spec_hash=view.header.spec_hash,
        store=site.system.store.id,
        submission=2,
        attempt="late",
        base=2_000_000_000,
    )
    backend = await site.system.clusters.named("lab").backend()
    deadline = site.system.clock.now() + timedelta(minutes=1)
    ref = await backend.start(order, CallMeta(deadline=deadline))
    await site.system.clusters.close()
    return ref


async def _round(site: Site, one: Supervisor) -> None:
    await one.round()
    await site.system.clusters.close()
