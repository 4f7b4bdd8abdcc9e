"""A directory in which commands are run, some of which are killed; and jobs that leave a mark of each of their executions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lab import Lab

DRIVER = Path(__file__).with_name("crash_driver.py")
CONFIG = """
records = "{records}"
[clusters.lab]
adapter = "slurm"
settings = {{ saveWindow = "1s", killMargin = "1s", callWindow = "4s", transport = {{ kind = "local", through = ["{through}"] }} }}
[supervisor]
poll = "1s"
"""


class Place:
    """A directory with a configuration, where the commands and the processes that die are run."""

    def __init__(self, path: Path, lab: Lab) -> None:
        self.path = path
        self.records = path / "records.db"
        self.runs = f"crash-{os.getpid()}-{time.monotonic_ns()}"
        self.configure(path, lab.login("alice"))
        lab.text("alice", "mkdir", self.runs)
        self.begun: list[subprocess.Popen[bytes]] = []

    def configure(self, path: Path, through: Path) -> None:
        """Have commands that are run in that directory use these records, and reach Slurm through that program."""
        text = CONFIG.format(records=self.records, through=through)
        (path / "dispatch.toml").write_text(text)

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
        return self.begin(words, f"{verb}-{what}")

    def supervise(self) -> subprocess.Popen[bytes]:
        """Begin a supervisor."""
        return self.begin([sys.executable, "-m", "dispatch", "supervise"], "supervise")

    def begin(
        self, words: list[str], name: str, path: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Begin a process in the directory, or in another, with a log of that name."""
        with (self.path / f"{name}.log").open("wb") as log:
            begun = subprocess.Popen(words, cwd=path or self.path, stdout=log, stderr=log)
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


def die(place: Place, *doomed: subprocess.Popen[bytes]) -> None:
    """Wait until each of these processes was killed, and by nothing but the signal."""
    for process in doomed:
        assert process.wait(timeout=60) == -signal.SIGKILL, {
            log.name: log.read_text() for log in place.path.glob("*.log")
        }
