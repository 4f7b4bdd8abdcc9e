"""Real processes, killed at chosen points of their work on a real Slurm, and a supervisor that recovers from it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import Lab

pytestmark = pytest.mark.slurm

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).with_name("crash_driver.py")
CONFIG = """
records = "records.db"
[clusters.lab]
adapter = "slurm"
settings = {{ saveWindow = "1s", killMargin = "1s", callWindow = "4s", transport = {{ kind = "local", through = ["{login}"] }} }}
[supervisor]
poll = "1s"
"""

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


class Place:
    """A directory with a configuration, where the commands and the processes that die are run."""

    def __init__(self, path: Path, lab: Lab) -> None:
        self.path = path
        self.runs = f"crash-{os.getpid()}-{time.monotonic_ns()}"
        (path / "dispatch.toml").write_text(CONFIG.format(login=lab.login("alice")))
        lab.text("alice", "mkdir", self.runs)
        self.begun: list[subprocess.Popen[bytes]] = []

    def job(self, name: str, seconds: int = 1, **fields: Any) -> str:
        """Write a job file. Its program leaves a mark of its only execution, or of its second."""
        mark = f"mkdir {self.runs}/{name} || mkdir -p {self.runs}/twice; sleep {seconds}"
        document = {"name": name, "key": name, "cluster": "lab", "command": ["sh", "-c", mark]}
        path = self.path / f"{name}.json"
        path.write_text(json.dumps({**document, **fields}))
        return path.name

    def doomed(
        self, point: str, milliseconds: int, verb: str, what: str
    ) -> subprocess.Popen[bytes]:
        """Begin a process that is killed at that point."""
        words = [sys.executable, str(DRIVER), point, str(milliseconds), verb, what]
        return self._begin(words, f"{verb}-{what}")

    def supervise(self) -> subprocess.Popen[bytes]:
        """Begin a supervisor."""
        return self._begin([sys.executable, "-m", "dispatch", "supervise"], "supervise")

    def _begin(self, words: list[str], name: str) -> subprocess.Popen[bytes]:
        with (self.path / f"{name}.log").open("wb") as log:
            begun = subprocess.Popen(words, cwd=self.path, stdout=log, stderr=log)
        self.begun.append(begun)
        return begun

    def run(self, *words: str) -> str:
        """Run the command to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "dispatch", *words],
            cwd=self.path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every job, by its name."""
        listed = json.loads(self.run("status", "--all", "--json"))["jobs"]
        assert len({job["name"] for job in listed}) == len(listed)
        return {job["name"]: job for job in listed}

    def until(self, seconds: float, **causes: str) -> dict[str, dict[str, Any]]:
        """Wait until each of these jobs has that cause, or has ended in that state."""
        end = time.monotonic() + seconds
        while True:
            jobs = self.jobs()
            missing = {
                name: (jobs[name]["state"], jobs[name].get("cause"))
                for name, wanted in causes.items()
                if wanted not in (jobs[name]["state"], jobs[name].get("cause"))
            }
            if not missing:
                return jobs
            assert time.monotonic() < end, f"not there in {seconds} s: {missing}"
            time.sleep(1)

    def close(self) -> None:
        """End what a test has left."""
        for process in self.begun:
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def place(lab: Lab, tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path, lab)
    yield place
    place.close()


def die(place: Place, *doomed: subprocess.Popen[bytes]) -> None:
    """Wait until each of these processes was killed, and by nothing but the signal."""
    for process in doomed:
        assert process.wait(timeout=60) == -signal.SIGKILL, {
            log.name: log.read_text() for log in place.path.glob("*.log")
        }


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
