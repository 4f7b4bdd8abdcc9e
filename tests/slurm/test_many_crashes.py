"""Jobs that are submitted together, by real commands on a real Slurm: the answer of the script for many breaks off in its
middle, or the process is killed there. Each job is submitted once, and runs once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dispatch.model.journal import Intended, Verb
from dispatch.spi.store import Query
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.clock import ManualClock
from lab import Lab

from .conftest import NewLab
from .place import Place, die

pytestmark = pytest.mark.slurm

TOGETHER = 4

BREAKING = r"""#!/bin/sh
# Runs its arguments inside, as alice. Of the first answer that has that line, nothing behind it comes back.
if [ -e broken ]; then exec {login} "$@"; fi
{{ {login} "$@" 2>errors; echo $? >rc; }} | {{
  sed -u '/{line}/{{w broken
  q}}'
  if [ -s broken ]; then {then}; exit 255; fi
  rm broken
}}
[ ! -e broken ] || exit 255
cat errors >&2
exit "$(cat rc)"
"""
"""The script itself ends at its next word, for nobody reads it any more; unless what is done then goes on reading."""


@dataclass(frozen=True)
class Break:
    """After which line of an answer it breaks off, and what is done then; how often each job is started because of it."""

    line: str
    then: str
    starts: tuple[int, ...] = (1,) * TOGETHER
    killed: bool = False


KILL, READ_ON = "kill -9 $PPID", "cat >/dev/null"
BREAKS = {
    "broken": Break(" sbatch 2$", "true", starts=(1, 1, 1, 2)),
    "unheard": Break(" sbatch 2$", READ_ON),
    "killed": Break(" sbatch 2$", KILL, starts=(1, 1, 1, 2), killed=True),
    "orphaned": Break(" sbatch 2$", f"{KILL}; {READ_ON}", killed=True),
    "half-open": Break(" between 0$", "true"),
    "open": Break(" after 0$", KILL, killed=True),
}


@pytest.fixture
def place(new_lab: NewLab, tmp_path: Path) -> Iterator[tuple[Place, Lab]]:
    """A cluster on which an unanswered call, and the landing of a late one, are given up soon."""
    lab = new_lab(message_timeout=3, nodes=2)
    place = Place(tmp_path, lab)
    yield place, lab
    place.close()


def submit(place: Place, lab: Lab, name: str, at: Break) -> subprocess.Popen[bytes]:
    """Begin to submit some jobs together, in a directory of their own, by a command whose answer breaks off."""
    files = [str(place.path / place.job(f"{name}{number}", 0)) for number in range(TOGETHER)]
    path = place.path / name
    path.mkdir()
    through = path / "through"
    text = BREAKING.format(login=lab.login("alice"), line=at.line, then=at.then)
    through.write_text(text)
    through.chmod(0o755)
    place.configure(path, through)
    return place.begin([sys.executable, "-m", "dispatch", "submit", *files], name, path)


def test_jobs_submitted_together_run_once_wherever_their_answer_breaks_off(
    place: tuple[Place, Lab],
) -> None:
    here, lab = place
    begun = {name: submit(here, lab, name, at) for name, at in BREAKS.items()}
    die(here, *[begun[name] for name, at in BREAKS.items() if at.killed])
    supervisor = here.supervise()
    for name, at in BREAKS.items():
        log = (here.path / f"{name}.log").read_text
        assert at.killed or begun[name].wait(timeout=60) == 0, f"{name}: {log()}"
        assert (here.path / name / "broken").exists(), name
        assert "Traceback" not in log(), log()
    names = [f"{name}{number}" for name in BREAKS for number in range(TOGETHER)]
    here.until(90, **dict.fromkeys(names, "Succeeded"))
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(timeout=30) == 0
    assert "Traceback" not in (here.path / "supervise.log").read_text()
    assert sorted(lab.text("alice", "ls", here.runs).split()) == sorted(names)  # no "twice"
    objects = Counter(lab.text("root", "squeue", "-h", "-t", "all", "-o", "%j").split())
    jobs = {name: job["id"] for name, job in here.jobs().items()}
    assert objects == {f"dj-{job}": 1 for job in jobs.values()}
    started = starts(here)
    assert {
        name: tuple(started[f"{name}{number}"] for number in range(TOGETHER)) for name in BREAKS
    } == {name: at.starts for name, at in BREAKS.items()}


def starts(place: Place) -> Counter[str]:
    """How often each job's start was intended."""
    store = SqliteStore.open(place.records, now=ManualClock().now())
    try:
        return Counter(
            job.name
            for job in store.list(Query())
            for entry in store.load(job.id)
            if isinstance(entry.event, Intended) and entry.event.intent.verb is Verb.START
        )
    finally:
        store.close()
