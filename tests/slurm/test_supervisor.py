"""The commands as a person uses them, with a supervisor that dies and comes back, on a real Slurm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lab import Lab

pytestmark = pytest.mark.slurm

CONFIG = """
records = "records.db"
[clusters.lab]
adapter = "slurm"
settings = {{ saveWindow = "1s", killMargin = "1s", transport = {{ kind = "local", through = ["{login}"] }} }}
[supervisor]
poll = "1s"
"""


class Shell:
    """A directory with a configuration, and the command in it."""

    def __init__(self, place: Path, login: Path) -> None:
        self.place = place
        (place / "dispatch.toml").write_text(CONFIG.format(login=login))
        self.supervisors: list[subprocess.Popen[bytes]] = []

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "dispatch", *words]

    def run(self, *words: str, code: int = 0, timeout: float = 120) -> str:
        """Run the command to its end; its exit code must be that one."""
        done = subprocess.run(
            self.argv(*words),
            cwd=self.place,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def job(self, name: str, *command: str, **fields: Any) -> str:
        """Write a job file."""
        path = self.place / f"{name}.json"
        path.write_text(json.dumps({"name": name, "command": list(command), **fields}))
        return path.name

    def jobs(self) -> list[dict[str, Any]]:
        """Every job, as `status --all --json` lists it."""
        listed: list[dict[str, Any]] = json.loads(
            self.run("status", "--all", "--json", "--limit", "1000")
        )["jobs"]
        return listed

    def supervise(self) -> subprocess.Popen[bytes]:
        """Start a supervisor."""
        with (self.place / f"supervisor-{len(self.supervisors)}.log").open("wb") as log:
            begun = subprocess.Popen(self.argv("supervise"), cwd=self.place, stdout=log, stderr=log)
        self.supervisors.append(begun)
        return begun

    def close(self) -> None:
        """End every supervisor that a test has left."""
        for process in self.supervisors:
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture
def shell(lab: Lab, tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path, lab.login("alice"))
    yield shell
    shell.close()


def until_ended(shell: Shell, count: int, seconds: float = 90) -> list[dict[str, Any]]:
    """Wait until so many jobs have ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended = [job for job in shell.jobs() if job["finished"]]
        if len(ended) >= count:
            return ended
        time.sleep(0.5)
    raise AssertionError(f"not all ended in {seconds} s: {shell.jobs()}")


def test_a_supervisor_that_is_killed_is_followed_by_another_and_nothing_runs_twice(
    shell: Shell, lab: Lab
) -> None:
    runs = f"runs-{os.getpid()}-{time.monotonic_ns()}"
    lab.text("alice", "mkdir", runs)
    files = [
        shell.job(f"j{number}", "sh", "-c", f"mkdir {runs}/{number} || touch {runs}/twice; sleep 2")
        for number in range(6)
    ]
    for file in files:
        shell.run("submit", file)
    first = shell.supervise()
    time.sleep(1.5)
    first.kill()
    first.wait()
    second = shell.supervise()
    ended = until_ended(shell, 6)
    assert {job["state"] for job in ended} == {"Succeeded"}
    assert sorted(lab.text("alice", "ls", runs).split()) == ["0", "1", "2", "3", "4", "5"]
    second.send_signal(signal.SIGTERM)
    assert second.wait(timeout=30) == 0
    assert "Traceback" not in (shell.place / "supervisor-1.log").read_text()


def test_status_says_when_nobody_supervises_and_no_longer_once_somebody_does(shell: Shell) -> None:
    file = shell.job("waits", "true", partition="downp")
    said = subprocess.run(
        shell.argv("submit", file),
        cwd=shell.place,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "dispatch supervise" in said.stderr
    shell.supervise()
    end = time.monotonic() + 20
    while not json.loads(shell.run("status", "--json"))["supervisors"]:
        assert time.monotonic() < end
        time.sleep(0.2)
    said = subprocess.run(
        shell.argv("status"),
        cwd=shell.place,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "dispatch supervise" not in said.stderr
    shell.run("stop", "--wait", "waits")


def test_the_exit_code_of_submit_wait_is_the_jobs(shell: Shell) -> None:
    shell.run("submit", "--wait", shell.job("good", "true"))
    shell.run("submit", "--wait", shell.job("bad", "sh", "-c", "exit 3"), code=1)
    shown = json.loads(shell.run("show", "--json", "bad"))
    assert "NonZeroExit" in json.dumps(shown)


def test_once_is_enough_for_cron(shell: Shell) -> None:
    shell.run("submit", shell.job("quick", "true"))
    for _ in range(20):
        shell.run("supervise", "--once")
        if shell.jobs()[0]["finished"]:
            break
        time.sleep(0.5)
    assert shell.jobs()[0]["state"] == "Succeeded"


def test_a_job_is_stopped_held_and_released_by_its_name(shell: Shell) -> None:
    shell.run("submit", shell.job("long", "sleep", "300"))
    shell.run("stop", "--wait", "--why", "enough", "long")
    (job,) = shell.jobs()
    assert (job["state"], job["cause"]) == ("Cancelled", "Stopped")
    shell.run("submit", shell.job("held", "true", partition="downp"))
    shell.run("hold", "held")
    shell.run("supervise", "--once")
    assert next(job for job in shell.jobs() if job["name"] == "held")["cause"] == "Held"
    shell.run("release", "held")
    shell.run("stop", "--wait", "held")


def test_the_same_key_is_one_job_and_another_spec_is_a_conflict(shell: Shell, lab: Lab) -> None:
    file = shell.job("one", "true")
    said = [shell.run("submit", "--json", "--key", "k1", file) for _ in range(2)]
    (job,) = shell.jobs()
    assert all(job["id"] in one for one in said)
    shell.job("one", "false")
    shell.run("submit", "--key", "k1", file, code=3)
    assert len(shell.jobs()) == 1
    names = lab.text("alice", "squeue", "-h", "-t", "all", "-o", "%j").split()
    assert names.count(f"dj-{job['id']}") == 1


def test_a_hundred_keys_at_once_from_two_processes_are_a_hundred_jobs(
    shell: Shell, lab: Lab
) -> None:
    files = [shell.job(f"h{number}", "true", key=f"key-{number}") for number in range(100)]
    with ThreadPoolExecutor(2) as both:
        running = [
            both.submit(shell.run, "submit", "--json", *files, timeout=240) for _ in range(2)
        ]
        submitted = [one.result() for one in running]
    jobs = shell.jobs()
    assert len(jobs) == 100
    assert len({job["key"] for job in jobs}) == 100
    assert all(job["id"] in said for said in submitted for job in jobs)
    shell.supervise()
    until_ended(shell, 100, 120)
    names = lab.text("root", "squeue", "-h", "-t", "all", "-u", "alice", "-o", "%j").split()
    assert all(names.count(f"dj-{job['id']}") == 1 for job in jobs)
