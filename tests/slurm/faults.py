"""Faults of a controller and of our own processes, on a cluster that a story has for itself; and jobs that prove how
often, where and when they ran.

A story is one thread with a cluster and records of its own: most of its time is waiting, so many are told at once.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dispatch.model.epoch import SCALE
from dispatch.model.journal import Decided
from dispatch.model.policy import Budget
from dispatch.model.view import JobView
from lab import Lab
from slurm.conftest import FAILURES, bring_up
from slurm.site import Site

REALISTIC = {"saveWindow": "8s", "killMargin": "5s", "callWindow": "6s"}
"""Slurm saves its state every 5 s at the latest, and a node that registers again kills within some 4 s + KillWait."""

QUICK_TO_GIVE_UP = {"message_timeout": 3, "nodes": 2}
"""An unanswered call ends after 3 s, so that the bound of a call is 11 s and of its landing 19 s."""

RECOVERY = {
    "rules": [
        {
            "when": ["Unknown", "NodeLost", "LaunchFailed"],
            "do": "resubmit",
            "limit": 3,
            "backoff": {"initial": "1s", "max": "1s", "jitter": 0},
        }
    ]
}

PROOF = """
cd ~/proof
who="$DISPATCH_EPOCH $RANK $SLURMD_NODENAME $SLURM_JOB_ID"
exec 9>>lock.$RANK
flock -n 9 || echo "$who" >>overlap
mkdir epoch.$DISPATCH_EPOCH.$RANK || echo "$who" >>twice
echo "$who" >>starts
i=0
while [ $i -lt $1 ]; do sleep 0.1; i=$((i + 1)); done
echo "$who" >>ends
"""
"""Each task: a lock of its rank, held for its life; a directory of its epoch, which can be made once; who started, who ended."""

STANDING_STILL = """#!/bin/sh
# Stands still, once, at the command that ~/stand-still has a pattern for, until ~/go-on is there.
name=${0##*/}
[ ! -e ~/stand-still ] || read -r at <~/stand-still
case "$name $*" in
  ${at:-}) if mkdir ~/standing 2>/dev/null; then until [ -e ~/go-on ]; do sleep 0.02; done; fi ;;
esac
exec "/usr/bin/$name" "$@"
"""

PAUSED = """#!/bin/sh
# Runs its arguments inside, as alice. Once, at a script that has the text of `pause-at` in it, it stops itself and the
# process of ours that called it, as a suspended machine would.
if [ -s {place}/pause-at ] && read -r at <{place}/pause-at; then
  case $3 in
    *"$at"*) if mkdir {place}/paused 2>/dev/null; then echo $$ >{place}/paused/pid; kill -STOP $PPID $$; fi ;;
  esac
fi
exec {login} env PATH=/home/alice/tools:/usr/local/bin:/usr/bin:/bin "$@"
"""

SBATCH, RELEASE, CLEAR = (
    "sbatch --parsable*",
    "scontrol release *",
    "scontrol update *StartTime=now",
)
HOLD, CANCEL = "scontrol update *StartTime=uts*", "scancel --ctld *"


@dataclass(frozen=True)
class Start:
    """One start of a task, as the task itself wrote it down."""

    epoch: int
    rank: int
    node: str
    number: str

    @property
    def submission(self) -> int:
        """The submission that the epoch belongs to."""
        return self.epoch // SCALE


class Story:
    """One cluster, one record store, one job, and any number of supervisors, which are processes of their own."""

    def __init__(self, lab: Lab, place: Path, **settings: Any) -> None:
        self.lab = lab
        self.place = place
        self.home = lab.path("/home/alice")
        tools = self.home / "tools"
        for name in ("sbatch", "scontrol", "scancel"):
            self._give(tools / name, STANDING_STILL)
        lab.text("alice", "mkdir", "proof")
        through = place / "through"
        self._give(through, PAUSED.format(place=place, login=lab.login("alice")))
        own: dict[str, Any] = {
            **REALISTIC,
            "transport": {"kind": "local", "through": [str(through)]},
            **settings,
        }
        self.site = Site(lab, place, **own)
        self.supervisors: list[subprocess.Popen[bytes]] = []
        self.job = ""
        self.forgot = False
        cluster = json.dumps(self.site.settings)
        (place / "dispatch.toml").write_text(_toml(cluster))

    def _give(self, path: Path, text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    # --- the job

    def submit(self, seconds: float = 3, **fields: Any) -> str:
        """Accept a job whose command ends by itself after so long; nothing is sent to Slurm yet."""
        fields = {"recovery": RECOVERY, **fields}
        self.job = self.site.submit("sh", "-c", PROOF, "proof", str(int(seconds * 10)), **fields)
        return self.job

    def _lines(self, name: str) -> list[str]:
        path = self.home / "proof" / name
        return path.read_text().splitlines() if path.exists() else []

    def starts(self) -> list[Start]:
        """Every start of a task."""
        words = [line.split() for line in self._lines("starts")]
        return [Start(int(one[0]), int(one[1]), one[2], one[3]) for one in words]

    def ends(self) -> list[int]:
        """The epochs of the tasks that came to their own end."""
        return [int(line.split()[0]) for line in self._lines("ends")]

    # --- waiting

    def wait(self, what: str, reached: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something is so; the bound is an error that shows the record."""
        end = time.monotonic() + seconds
        while not reached():
            if time.monotonic() > end:
                raise AssertionError(f"waited {seconds} s in vain for {what}\n{self.told()}")
            time.sleep(0.05)

    def seen(self, what: str, reached: Callable[[JobView], bool], seconds: float = 60) -> JobView:
        """Wait until the record says so."""
        self.wait(what, lambda: reached(self.view()), seconds)
        return self.view()

    def view(self) -> JobView:
        """The job as its record has it."""
        return self.site.system.view(self.job)

    def end(self, seconds: float = 120) -> JobView:
        """Supervise until the job has its verdict."""
        self.supervise()
        return self.seen("the verdict", lambda view: view.verdict is not None, seconds)

    def told(self) -> str:
        """All that is known of the job, for the message of a failure."""
        logs = [path.read_text()[-2000:] for path in sorted(self.place.glob("supervisor-*.log"))]
        proof = {
            path.name: path.read_text()
            for path in (self.home / "proof").glob("*")
            if path.is_file()
        }
        trace = [line[:400] for line in self.site.trace(self.job).splitlines()]
        return "\n".join([*trace, *logs, str(proof)])

    # --- faults

    def stand_still_at(self, pattern: str) -> None:
        """Let the next command that matches stand still before it does anything."""
        for name in ("standing", "go-on"):
            self.lab.text("alice", "rm", "-rf", name)
        (self.home / "stand-still").write_text(f"{pattern}\n")

    def standing(self) -> None:
        """Wait until that command has come."""
        self.wait("a command that stands still", (self.home / "standing").exists)

    def go_on(self) -> None:
        """Let it go on."""
        (self.home / "stand-still").unlink()
        (self.home / "go-on").touch()

    def pause_at(self, text: str) -> None:
        """Let the next process of ours that sends a script with that text stop itself before it is sent."""
        (self.place / "pause-at").write_text(f"{text}\n")

    def paused(self) -> None:
        """Wait until that process has stopped."""
        self.wait("a process that stops itself", (self.place / "paused").exists)

    def awake(self, process: subprocess.Popen[bytes]) -> None:
        """Let the script that the process was about to send go on, and then the process, which would end it."""
        for pid in (*_children(process.pid), process.pid):
            os.kill(pid, signal.SIGCONT)
            time.sleep(1)

    def hang_controller(self, seconds: float = 6) -> None:
        """Let the controller hang longer than a client waits for it."""
        self.lab.kill("slurmctld", signal.SIGSTOP)
        self.go_on()
        time.sleep(seconds)
        self.lab.kill("slurmctld", signal.SIGCONT)

    def fill(self) -> None:
        """Let another user have all nodes."""
        count = str(self.lab.options.nodes)
        self.lab.text("bob", "sbatch", "--exclusive", "-N", count, "--wrap", "sleep 600")
        self.wait("full nodes", lambda: "R" in self.lab.text("bob", "squeue", "-h", "-o", "%t"))

    def make_room(self) -> None:
        """Let the other user's jobs end."""
        self.lab.text("bob", "scancel", "--me")

    def let_it_save(self) -> None:
        """Let the controller save its state, at once; it does not do so again for the next five seconds."""
        time.sleep(6)
        self.lab.text("bob", "sbatch", "--hold", "--wrap", "true")
        time.sleep(0.3)

    def open_partition(self) -> None:
        """Let the partition that is down take jobs; a controller that restarts has it down again."""
        self.lab.text("root", "scontrol", "update", "PartitionName=downp", "State=UP")

    def fenced(self) -> list[str]:
        """The launches that the start ticket refused, by the names of their files."""
        return [path.name for path in (self.home / ".dispatch/runs" / self.job).glob("*.fenced.*")]

    def restart_controller(self, *, after: float = 0) -> None:
        """Kill the controller and start it again; what it has not saved it forgets."""
        self.lab.kill("slurmctld")
        time.sleep(after)
        self.lab.start("slurmctld", "-i")

    def started(self, submission: int = 1) -> str:
        """Wait until a task of that submission has started, and name its node."""
        self.wait("a start", lambda: any(one.submission == submission for one in self.starts()))
        return next(one.node for one in self.starts() if one.submission == submission)

    # --- processes of ours

    def supervise(self) -> subprocess.Popen[bytes]:
        """Start a supervisor, with a log."""
        with (self.place / f"supervisor-{len(self.supervisors)}.log").open("wb") as log:
            begun = subprocess.Popen(
                [sys.executable, "-m", "dispatch", "supervise"],
                cwd=self.place, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self.supervisors.append(begun)
        return begun

    def close(self) -> None:
        """End the supervisors and the cluster."""
        for process in self.supervisors:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        self._end_what_stands_still()
        self.site.close()
        self.lab.down()

    def _end_what_stands_still(self) -> None:
        """End the command that stopped itself, where nobody has woken it since."""
        stopped = self.place / "paused" / "pid"
        if not stopped.exists():
            return
        process = Path("/proc", stopped.read_text().strip())
        with suppress(OSError):  # it has gone on, and ended
            if str(self.place).encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)

    # --- what must be true after every story

    def check(self) -> None:
        """Nothing ran twice or side by side, nothing is left, and no budget is the program's."""
        assert self._lines("overlap") == [], self.told()
        assert self._lines("twice") == [], self.told()
        decided: list[Decided] = self.site.events(self.job, Decided)
        assert all(one.budget is not Budget.PROGRAM for one in decided), self.told()
        living = [line for line in self.site.squeue(self.job) if line.split()[1] in LIVE]
        assert living == [], f"{living}\n{self.told()}"


LIVE = {"PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING"}


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _toml(settings: str) -> str:
    """A configuration with these settings; JSON's strings, lists and tables are written as TOML's inline ones."""
    inline = settings.replace('": ', '" = ')
    return f'records = "records.db"\n[clusters.lab]\nadapter = "slurm"\nsettings = {inline}\n[supervisor]\npoll = "1s"\n'


def selected(
    request: pytest.FixtureRequest, stories: Mapping[str, Callable[[Story], None]]
) -> dict[str, Callable[[Story], None]]:
    """The stories whose tests are to run, by the names that those are given."""
    given = [getattr(item, "callspec", None) for item in request.session.items]
    names = {one.params.get("name") for one in given if one is not None}
    return {name: story for name, story in stories.items() if name in names}


def tell_all(
    stories: Mapping[str, Callable[[Story], None]],
    places: pytest.TempPathFactory,
    options: Mapping[str, Any],
) -> Iterator[dict[str, Future[None]]]:
    """Tell all stories, so many at once that two cores suffice; each name's future has its outcome."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(_tell, name, story, places.mktemp("story"), options)
            for name, story in stories.items()
        }
        pool.shutdown(cancel_futures=True)


AT_ONCE = 8


def _tell(
    name: str, story: Callable[[Story], None], place: Path, options: Mapping[str, Any]
) -> None:
    told = Story(bring_up(**options), place)
    try:
        story(told)
        told.check()
    except BaseException:
        told.lab.save_logs(FAILURES / re.sub(r"[^\w.-]+", "_", name))
        raise
    finally:
        told.close()
