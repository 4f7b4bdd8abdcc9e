"""A node is lost under a job: no second copy without proof that the first is gone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dispatch.core.explaining import explain
from dispatch.model.journal import Ceased, Decided, Proof
from dispatch.model.status import Cause, State
from dispatch.model.view import JobView
from slurm.conftest import NewLab
from slurm.site import Site

pytestmark = pytest.mark.slurm

RECOVERY = {
    "rules": [
        {
            "when": ["NodeLost"],
            "do": "resubmit",
            "limit": 2,
            "backoff": {"initial": "1s", "max": "1s"},
            "excludeNodes": {"which": "failed", "for": "1h"},
        }
    ]
}
BEAT = (
    "sh",
    "-c",
    "while :; do date +%s > ~/beat.$DISPATCH_EPOCH.$SLURMD_NODENAME; sleep 0.2; done",
)


def awaits_proof(view: JobView) -> bool:
    return bool(view.current and view.current.awaiting)


@pytest.mark.parametrize("policy", ["proof", "assumed"])
def test_a_lost_node_keeps_the_next_copy_waiting_for_proof_or_the_declared_wait(
    new_lab: NewLab, tmp_path: Path, policy: str
) -> None:
    lab = new_lab(slurmd_timeout=8, accounting=policy == "proof")
    site = Site(lab, tmp_path)
    recovery = {**RECOVERY, "cessation": {"after": "proof" if policy == "proof" else "20s"}}
    job = site.submit(*BEAT, nodes=2, launcher="srun", exclusive=True, recovery=recovery)
    view = site.running(job)
    assert view.current is not None
    assert view.current.ran is not None
    first, lost = view.current.ran.nodes
    lab.kill(f"slurmd:{lost}")
    view = site.until(job, awaits_proof, 120)
    (decided,) = site.events(job, Decided)
    assert decided.verdict.cause is Cause.NODE_LOST
    assert decided.verdict.detail.nodes == (lost,)
    explanation = explain(view)
    assert (explanation.state, explanation.cause) == (State.PENDING, Cause.AWAITING_CESSATION)
    assert lost in explanation.headline
    beat = f"/home/alice/beat.1000000.{lost}"
    before = lab.text("root", "cat", beat)
    if policy == "assumed":
        site.running(job, 2, 60)
        (ceased,) = site.events(job, Ceased)
        assert ceased.proof is Proof.ASSUMED_GONE
    else:
        for _ in site.driving([job], seconds=60):
            if lab.text("root", "cat", beat) > before:
                break  # the copy on the lost node runs on: Slurm's word proved nothing
        assert list(site.system.view(job).objects) == [1]
        lab.start(f"slurmd:{lost}")
        view = site.running(job, 2, 120)
        (ceased,) = site.events(job, Ceased)
        assert ceased.proof is Proof.NODES_BACK
        dead = lab.text("root", "cat", beat)
        time.sleep(1)
        assert lab.text("root", "cat", beat) == dead
        assert view.current is not None
        assert view.current.ran is not None
        assert lost not in view.current.ran.nodes
    assert first
    site.close()


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_node_that_is_lost_before_the_launch_is_no_failure_of_the_program(
    new_lab: NewLab, tmp_path: Path, nodes: int
) -> None:
    # Slurm has not noticed yet: it calls the exit of the script, which is srun's error, a NonZeroExit.
    lab = new_lab(slurmd_timeout=60, accounting=nodes == 1)
    site = Site(lab, tmp_path)
    setup = ["touch ~/setup", "sleep 3"]
    job = site.submit(*BEAT, nodes=nodes, launcher="srun", exclusive=True, setup=setup)
    for _ in site.driving([job], seconds=60):
        if lab.run("alice", ["test", "-e", "/home/alice/setup"]).returncode == 0:
            break
    listed = lab.text("root", "squeue", "-h", f"--name=dj-{job}", "-o", "%N")
    *_, lost = lab.text("root", "scontrol", "show", "hostnames", listed.strip()).split()
    lab.kill(f"slurmd:{lost}")
    for _ in site.driving([job], seconds=60):
        if "COMPLETING" in "".join(site.squeue(job)):
            break
    lab.start(f"slurmd:{lost}")
    view = site.until(job, lambda _: bool(site.events(job, Decided)), 90)
    (decided,) = site.events(job, Decided)
    assert decided.verdict.cause is Cause.LAUNCH_FAILED, site.trace(job)
    assert decided.verdict.proven
    assert decided.verdict.detail.exit_code == 233
    assert view.current is not None
    site.close()
