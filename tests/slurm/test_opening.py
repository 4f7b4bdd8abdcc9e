"""Opening a real Slurm: a member of a federation is refused, and the fence is claimed once two nodes have shown it (12)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from dispatch.model.answers import Capability
from dispatch.model.errors import Invalid
from lab import Lab
from slurm.conftest import NewLab
from slurm.site import Site

pytestmark = pytest.mark.slurm


def test_a_cluster_that_joins_a_federation_is_refused(new_lab: NewLab, tmp_path: Path) -> None:
    own = new_lab(accounting=True)
    site = Site(own, tmp_path)
    _fence(site)
    name = own.text("root", "sacctmgr", "show", "cluster", "format=cluster", "-n", "-P").split()[0]
    own.text("root", "sacctmgr", "-i", "add", "federation", "fed1", f"clusters={name}")
    end = time.monotonic() + 60
    while "Federation:" not in own.text("alice", "scontrol", "show", "federation"):
        assert time.monotonic() < end, "accounting never told the controller"
        time.sleep(0.2)
    with pytest.raises(Invalid, match="federation"):
        _fence(site)
    site.close()


def test_the_fence_is_claimed_once_two_nodes_have_left_tickets_in_one_directory(
    lab: Lab, tmp_path: Path
) -> None:
    shared = f"/home/alice/fence-{tmp_path.name}"
    site = Site(lab, tmp_path, sharedDir=shared)
    assert not _fence(site)
    first, second = sorted(set(lab.text("alice", "sinfo", "-h", "-N", "-o", "%N").split()))[:2]
    for node in (first, second):
        site.end(site.submit("true", slurm={"options": {"nodelist": node}}))
    assert _fence(site)
    site.close()


def _fence(site: Site) -> bool:
    """Open the cluster anew, and whether it claims the fence."""

    async def claimed() -> bool:
        async with site.system.open_clusters():
            backend = await site.system.clusters.named("lab").backend()
            return backend.answers.capability(Capability.FENCE).yes

    return asyncio.run(claimed())
