"""Real processes, killed at chosen points of their work on a real Slurm, and a supervisor that recovers from it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Lab

from .place import Place, die

pytestmark = pytest.mark.slurm

SUBMITS = {
    "accepted": ("create, after", 0),
    "meant": ("append Intended start, after", 0),
    "sent": ("call start, before", 60),  # in the middle of sbatch, or just after it
    "started": ("call start, after", 0),
    "known": ("append Settled landed, after", 0),
    "opening": ("append Intended open, after", 0),
    "opened": ("call open, after", 0),
}
"""The jobs whose submission is killed, by where; each is a process of its own."""


@pytest.fixture
def place(lab: Lab, tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path, lab)
    yield place
    place.close()


def test_processes_killed_at_their_points_leave_each_job_to_run_once(
    place: Place, lab: Lab
) -> None:
    place.run("submit", place.job("stopped", 600), place.job("stopping", 600))
    place.run("submit", place.job("held", partition="downp"))
    place.run("submit", place.job("holding", partition="downp"))
    die(
        place,
        *[place.doomed(*point, "submit", place.job(name)) for name, point in SUBMITS.items()],
        place.doomed("append Intended stop, after", 0, "stop", "stopping"),
        place.doomed("call stop, after", 0, "stop", "stopped"),
        place.doomed("append Intended hold, after", 0, "hold", "holding"),
        place.doomed("call hold, after", 0, "hold", "held"),
    )
    # Nobody told the person that this was accepted: the same again is the same job.
    place.run("submit", "accepted.json")
    supervisor = place.supervise()
    jobs = place.until(
        120,
        **dict.fromkeys(SUBMITS, "Succeeded"),
        stopped="Stopped",
        stopping="Stopped",
        held="Held",
        holding="Held",
    )
    for name in ("held", "holding"):
        place.run("release", name)
        place.run("stop", "--wait", name)
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(timeout=30) == 0
    ran = set(lab.text("alice", "ls", place.runs).split())
    assert ran - {"stopped", "stopping"} == set(SUBMITS)
    left = lab.text("root", "squeue", "-h", "-u", "alice", "-o", "%j").split()
    assert not {f"dj-{job['id']}" for job in jobs.values()} & set(left)
    assert "Traceback" not in (place.path / "supervise.log").read_text()
