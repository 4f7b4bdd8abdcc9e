"""The lab itself: clusters that are real, quick, and apart from one another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lab import Lab, LabError, why_no_cgroups
from lab.host import LAB_DIR, SUITES, start_time
from lab.instance import instances
from lab.mirror import Source, deb822_sources, one_line_sources, pick

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurm.conftest import NewLab

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.slurm


def until(condition: Callable[[], object], seconds: float = 20) -> None:
    """Wait for a condition of the real world, with a bound."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(0.02)


def submit(lab: Lab, script: str, *options: str) -> str:
    """Submit a script as alice; return the job's id."""
    text = f"#!/bin/sh\n{script}\n".encode()
    argv = ["sbatch", "--parsable", "--output=/dev/null", *options]
    return lab.run("alice", argv, input=text, check=True).stdout.decode().strip()


def state(lab: Lab, job: str) -> str:
    """Return the state of a job, as squeue spells it."""
    return lab.text("alice", "squeue", "-h", "-t", "all", "-j", job, "-o", "%T")


def answers(lab: Lab) -> bool:
    return lab.run("alice", ["scontrol", "ping"]).returncode == 0


def test_a_job_runs_on_two_nodes(lab: Lab) -> None:
    told = lab.text("alice", "srun", "-N2", "--label", "printenv", "SLURMD_NODENAME")
    assert sorted(told.splitlines()) == ["0: n1", "1: n2"]


def test_a_released_job_starts_within_moments(lab: Lab) -> None:
    job = submit(lab, "srun true", "--hold", "--nodes=2")
    assert state(lab, job) == "PENDING"
    lab.text("alice", "scontrol", "release", job)
    until(lambda: state(lab, job) == "COMPLETED", seconds=10)


def test_two_instances_do_not_see_each_other(lab: Lab, lab_without_accounting: Lab) -> None:
    other = lab_without_accounting
    job = submit(lab, "true", "--hold", "--job-name=only-in-the-first")
    named = ("squeue", "-h", "--name=only-in-the-first", "-o", "%i")
    assert lab.text("alice", *named) == job
    assert not other.text("alice", *named)
    lab.text("alice", "scancel", job)
    lab.text("alice", "touch", "mine", "/tmp/mine", "/srv/shared/mine")
    assert not other.text("alice", "sh", "-c", "cat mine /tmp/mine /srv/shared/mine 2>/dev/null; :")
    pids = {process.pid for process in lab.processes()}
    assert pids.isdisjoint(process.pid for process in other.processes())
    assert lab.text("alice", "pgrep", "-c", "slurmctld") == other.text(
        *("alice", "pgrep", "-c", "slurmctld")
    )


def test_the_root_file_system_cannot_be_written(lab: Lab) -> None:
    done = lab.run("root", ["touch", "/usr/bin/x", "/etc/x"])
    assert done.stderr.count(b"Read-only file system") == 2


def test_a_killed_controller_leaves_the_other_cluster_alone(
    new_lab: NewLab, lab_without_accounting: Lab
) -> None:
    own = new_lab(nodes=1)
    own.kill("slurmctld")
    with pytest.raises(LabError, match="slurmctld does not run"):
        own.kill("slurmctld")
    assert answers(lab_without_accounting)
    own.start("slurmctld")
    assert answers(own)
    own.await_idle()


def test_a_young_controller_with_accounting_restarts_after_a_kill(new_lab: NewLab) -> None:
    own = new_lab(nodes=1, accounting=True)
    own.kill("slurmctld")
    own.start("slurmctld")
    assert answers(own)


def test_a_stopped_controller_goes_on(new_lab: NewLab) -> None:
    own = new_lab(nodes=1)
    own.kill("slurmctld", signal.SIGSTOP)
    with pytest.raises(subprocess.TimeoutExpired):
        own.run("alice", ["squeue"], timeout=0.5)
    own.kill("slurmctld", signal.SIGCONT)
    assert own.text("alice", "squeue", "-h") == ""


def test_a_killed_slurmd_leaves_its_tasks_and_a_killed_node_does_not(new_lab: NewLab) -> None:
    own = new_lab(nodes=2)

    def sleepers() -> int:
        return sum(process.argv == ("/usr/bin/sleep", "4321") for process in own.processes())

    submit(own, "srun sleep 4321", "--nodes=2")
    until(lambda: sleepers() == 2)
    own.kill("slurmd:n2")
    assert sleepers() == 2
    own.start("slurmd:n2")
    own.kill_node("n2")
    until(lambda: sleepers() == 1)
    own.start("slurmd:n2")


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_a_login_passes_arguments_streams_and_exit_status_as_they_are(lab: Lab, user: str) -> None:
    given = [
        "a b",
        'it\'s "quoted"',
        "two\nlines",
        "",
        "$HOME",
        "*",
        "\\n",
        "é—日",
        "-x",
        "--",
        ";",
    ]
    script = 'printf "%s\\0" "$@"; cat; echo oops >&2; exit 7'
    argv = ["sh", "-c", script, "sh", *given]
    stdin = bytes(range(256)) * 1000
    done = subprocess.run(
        [lab.login(user), *argv], input=stdin, capture_output=True, check=False, cwd="/usr"
    )
    assert done.stdout == "".join(f"{text}\0" for text in given).encode() + stdin
    assert (done.stderr, done.returncode) == (b"oops\n", 7)
    run = lab.run(user, argv, input=stdin)
    assert (run.stdout, run.stderr, run.returncode) == (done.stdout, done.stderr, done.returncode)


def test_a_login_has_a_clean_environment_and_starts_at_home(lab: Lab) -> None:
    done = subprocess.run(
        [lab.login("alice"), "sh", "-c", "id -un; id -G; pwd; env | sort"],
        env={"SECRET": "x", "SLURM_CONF": "/nowhere", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        *("alice", "2001", "/home/alice", "HOME=/home/alice", "LANG=C.UTF-8", "LOGNAME=alice"),
        *("PATH=/usr/local/bin:/usr/bin:/bin", "PWD=/home/alice", "SHELL=/bin/bash", "USER=alice"),
    ]


def test_a_login_that_is_killed_takes_its_command_along(lab: Lab) -> None:
    def sleepers() -> int:
        return sum(process.argv == ("sleep", "9876") for process in lab.processes())

    with subprocess.Popen([lab.login("alice"), "sleep", "9876"]) as login:
        until(lambda: sleepers() == 1)
        login.kill()
    until(lambda: sleepers() == 0)


def test_a_job_runs_out_of_memory(lab: Lab) -> None:
    if reason := why_no_cgroups():
        pytest.skip(f"no memory cgroups here: {reason}")
    job = submit(lab, "exec perl -e '$x = \"a\" x 200_000_000'", "--mem=30M")
    until(lambda: state(lab, job) == "OUT_OF_MEMORY")


def test_accounting_records_a_job(lab: Lab) -> None:
    job = submit(lab, "exit 3")
    row = ("sacct", "-n", "-X", "-P", "-j", job, "-o", "State,ExitCode,Account")
    until(lambda: lab.text("alice", *row) == "FAILED|3:0|team")


def test_without_accounting_sacct_says_so(lab_without_accounting: Lab) -> None:
    done = lab_without_accounting.run("alice", ["sacct"])
    assert (done.returncode, done.stderr) == (1, b"Slurm accounting storage is disabled\n")


def test_a_setting_is_changed_in_a_running_cluster(new_lab: NewLab) -> None:
    own = new_lab(nodes=1, settings={"FirstJobId": "100"}, files={"etc/slurm/note": "hello"})
    assert submit(own, "true", "--hold") == "100"
    own.set_conf(MessageTimeout="17", MinJobAge="5")
    config = own.text("root", "scontrol", "show", "config")
    assert "MessageTimeout          = 17 sec" in config
    assert own.text("root", "cat", "/etc/slurm/note") == "hello"


def test_down_leaves_nothing(new_lab: NewLab) -> None:
    own = new_lab(nodes=2, accounting=True, cgroup=why_no_cgroups() is None)
    submit(own, "srun sleep 1000", "--nodes=2")
    until(lambda: any(process.argv[-1:] == ("1000",) for process in own.processes()))
    pids = [process.pid for process in own.processes()]
    own.down()
    assert not [pid for pid in pids if start_time(pid) is not None]
    assert not own.processes()
    assert not own.directory.exists()
    assert not list(Path("/sys/fs/cgroup").glob(f"*/dispatch-lab-{own.name}*"))
    assert own.name not in {record.name for record in instances()}
    with pytest.raises(LabError, match="is not up"):
        own.run("alice", ["true"])


def test_an_instance_ends_with_its_owner() -> None:
    name = f"orphan-{os.getpid()}"
    script = f"""
import os, time
from lab import Lab, Options
Lab.up({name!r}, Options(nodes=1), owner=os.getpid())
print("up", flush=True)
time.sleep(600)
"""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "DISPATCH_LAB_DIR": str(LAB_DIR)}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=env
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        orphan = Lab.attach(name)
        owner.kill()
    until(lambda: not orphan.processes())
    until(lambda: name not in {record.name for record in instances()})
    assert not orphan.directory.exists()


def test_instances_brought_up_at_once_get_ports_of_their_own(new_lab: NewLab) -> None:
    def bring_up(nodes: int) -> Lab:
        return new_lab(nodes=nodes)

    with ThreadPoolExecutor() as pool:
        made = list(pool.map(bring_up, [1, 1, 1]))
    assert len({each.ports.base for each in made}) == 3
    assert all(answers(each) for each in made)


def test_a_name_is_taken_once(lab: Lab) -> None:
    with pytest.raises(LabError, match="is up already"):
        Lab.up(lab.name, lab.options)


@pytest.mark.parametrize("suite", SUITES)
def test_every_suite_has_its_slurm(new_lab: NewLab, suite: str) -> None:
    own = new_lab(suite=suite, nodes=2, accounting=True)
    assert SUITES[suite] in own.text("alice", "sbatch", "--version")
    job = submit(own, "srun true", "--nodes=2")
    until(lambda: state(own, job) == "COMPLETED")


def test_the_mirror_is_read_from_one_line_sources() -> None:
    text = """
# deb http://commented.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/x.gpg] http://mirror.example/debian bookworm main contrib # why
deb http://other.example/debian-security bookworm-security main
"""
    assert list(one_line_sources(text)) == [
        Source("http://mirror.example/debian", "bookworm", ("main", "contrib")),
        Source("http://other.example/debian-security", "bookworm-security", ("main",)),
    ]


def test_the_mirror_is_read_from_deb822_sources() -> None:
    text = """Types: deb deb-src
# a comment
URIs: http://mirror.example/debian
Suites: trixie
 trixie-updates
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: trixie
Components: main
"""
    assert list(deb822_sources(text)) == [
        Source("http://mirror.example/debian", "trixie", ("main",)),
        Source("http://mirror.example/debian", "trixie-updates", ("main",)),
    ]


def test_the_mirror_is_the_one_of_the_hosts_own_suite() -> None:
    sources = [
        Source("http://security.example/debian-security", "bookworm-security", ("main",)),
        Source("cdrom:[Debian]/", "bookworm", ("main",)),
        Source("http://tools.example/apt", "bookworm", ("stable",)),
        Source("http://mirror.example/debian/", "bookworm", ("main",)),
    ]
    assert pick(iter(sources), "bookworm") == "http://mirror.example/debian"
    assert pick(iter(sources), "trixie") is None
