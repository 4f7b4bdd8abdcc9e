"""The harness of a real Slurm of the lab, with an administrator, other users, and daemons that can be killed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from dispatch.adapters.slurm.reading import Ref
from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.conformance.slurm import SlurmHarness, SlurmScheduler
from dispatch.conformance.verdicts import CannotDo
from dispatch.model.job import Job
from dispatch.model.quantity import Size
from lab import Lab, LabError, why_no_cgroups

SEEN = "/home/alice/conformance"
DROP = """#!/bin/sh
login=$1
shift
set -- "$login" env PATH=/home/alice/tools:/usr/local/bin:/usr/bin:/bin "$@"
if rm "$(dirname "$0")/drop" 2>/dev/null; then "$@" >/dev/null 2>&1; kill -9 $$; fi
exec "$@"
"""
"""The way to the cluster, on which the reply of a call is lost where there is a file ``drop``."""

TOOLS = "/home/alice/tools"
STEPS = """#!/bin/sh
# Slurm's command. Where ~/cut has a number, as many writes are still made; then the script that called the last one dies.
# Where there is ~/full, the next submission is to a QOS that takes no more jobs.
name=${0##*/}
if [ "$name" = sbatch ] && rm ~/full 2>/dev/null; then exec /usr/bin/sbatch --qos=full "$@"; fi
"/usr/bin/$name" "$@"
rc=$?
case "$name $1" in
  "scontrol update" | "scontrol release" | "scontrol hold" | "scancel "* | "sbatch "*)
    if [ -s ~/cut ] && read -r left <~/cut; then
      left=$((left - 1))
      echo "$left" >~/cut
      [ "$left" -gt 0 ] || { rm ~/cut; read -r _ _ _ script _ </proc/$PPID/stat; kill -9 "$script"; }
    fi
    ;;
esac
exit "$rc"
"""
CLOCK = """#!/bin/sh
# The time, or where there is ~/late, the milliseconds that it has: the clock of a host on which a call begins so late.
case "$*" in +%s%3N) if [ -s ~/late ]; then exec cat ~/late; fi ;; esac
exec /usr/bin/date "$@"
"""
PURGED_WITHIN = 150
"""Seconds: slurmctld looks once a minute for what is older than MinJobAge."""
HIGHEST_ID = "67043328"


def number(made: Made) -> str:
    """The Slurm job id."""
    return str(Ref.parse(made.ref).number)


class LabScheduler(SlurmScheduler):
    """Everything that the lab can be made to do."""

    def __init__(self, harness: LabHarness) -> None:
        super().__init__(harness)
        self._lab = harness.lab
        self._way = harness.way
        self._lost: list[str] = []
        self._away = False
        self._wrapped = False
        self._has_limits = False

    async def spoil_launch(self, made: Made) -> None:
        """Take its working directory away: the job script then refuses to start anything."""
        self._lab.path(made.order.job.workdir or "").rmdir()

    async def purge(self, made: Made) -> None:
        """Let the controller forget what is older than seconds; accounting still knows it."""
        self._lab.set_conf(MinJobAge="2")
        for _ in range(10 * PURGED_WITHIN):
            if not self._lab.run("root", ["squeue", "-h", "-t", "all", "-j", number(made)]).stdout:
                break
            await asyncio.sleep(0.1)
        else:
            raise LabError(f"{made.ref} is not purged after {PURGED_WITHIN} s")
        self._lab.set_conf(MinJobAge="300")

    async def reuse_id(self, made: Made) -> None:
        """Let the ids wrap behind it, once it is purged, so that the next one is its own."""
        await self.purge(made)
        after = str(int(number(made)) + 1)
        self._lab.set_conf(FirstJobId=number(made), MaxJobId=after)
        self._wrapped = True

    async def refuse_next_for_now(self) -> None:
        """Let the next job be one too many: of a QOS of which nobody may have any in the queue."""
        if not self._has_limits:
            full = ("qos", "full", "MaxSubmitJobsPerUser=0")
            self._lab.text("root", "sacctmgr", "-i", "add", *full)
            self._lab.text("root", "sacctmgr", "-i", "modify", "user", "alice", "set", "qos+=full")
            self._lab.set_conf(AccountingStorageEnforce="limits")
            self._has_limits = True
        self._lab.path("/home/alice/full").touch()

    async def cut_next_call(self, steps: int) -> None:
        """Let the script of the next write be killed after so many commands that write."""
        cut = self._lab.path("/home/alice/cut")
        cut.write_text(f"{steps}\n")
        cut.chmod(0o666)

    async def out_of_memory(self, made: Made) -> None:
        if reason := why_no_cgroups():
            raise CannotDo(f"no memory cgroups here: {reason}")
        self._tell(made, "x=x; while :; do x=$x$x; done")

    def _tell(self, made: Made, words: str) -> None:
        self._harness.tell(made, words)

    async def time_out(self, made: Made) -> None:
        self._lab.text("root", "scontrol", "update", f"JobId={number(made)}", "TimeLimit=1")

    async def preempt(self, made: Made) -> None:  # noqa: ARG002 - it takes the nodes of all
        await self.fill()

    async def fill(self) -> None:
        nodes = str(len(self._lab.nodes))
        asked = ("-p", "high", "-N", nodes, "--exclusive", "--job-name=fill", "-o", "/dev/null")
        self._lab.text("bob", "sbatch", "--chdir=/tmp", *asked, "--wrap=sleep 300")
        for _ in range(300):
            if self._lab.text("bob", "squeue", "-h", "-n", "fill", "-t", "R", "-o", "%i"):
                return
            await asyncio.sleep(0.1)

    async def make_room(self) -> None:
        self._lab.run("bob", ["scancel", "--name=fill", "--me"])

    async def lose_node(self, made: Made) -> str:
        node = self._lab.text("root", "squeue", "-h", "-j", number(made), "-o", "%B").strip()
        # Slurm calls a job running before its command is: a node that is lost by then fails the launch.
        await self._begun(made)
        self._lab.kill(f"slurmd:{node}")
        self._lost.append(node)
        return node

    async def return_node(self, node: str) -> None:
        self._lab.start(f"slurmd:{node}")
        self._lost.remove(node)

    async def _begun(self, made: Made) -> None:
        # The command itself: that of srun, and of the shell that it starts on the node, ends with the same words.
        command = made.order.job.command
        for _ in range(600):
            if any(process.argv == command for process in self._lab.processes()):
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the command did not begin")

    async def cancel_as_administrator(self, made: Made) -> None:
        self._lab.text("root", "scancel", number(made))

    async def hold_as_administrator(self, made: Made) -> None:
        self._lab.text("root", "scontrol", "hold", number(made))

    async def hold_as_owner(self, made: Made) -> None:
        self._lab.text("alice", "scontrol", "hold", number(made))

    async def release_as_owner(self, made: Made) -> None:
        self._lab.text("alice", "scontrol", "release", number(made))

    async def mark_requeueable(self, made: Made) -> None:
        self._lab.text("alice", "scontrol", "update", f"JobId={number(made)}", "Requeue=1")

    async def requeue_as_owner(self, made: Made) -> None:
        self._lab.run("alice", ["scontrol", "requeue", number(made)])

    async def rename(self, made: Made) -> None:
        self._lab.text("alice", "scontrol", "update", f"JobId={number(made)}", "JobName=mine")

    async def restart_controller(self) -> None:
        await self.go_away()
        await self.come_back()

    async def go_away(self) -> None:
        self._away = True
        self._lab.kill("slurmctld", signal.SIGTERM)

    async def come_back(self) -> None:
        self._lab.start("slurmctld")
        self._away = False

    async def drop_next_reply(self) -> None:
        (self._way.parent / "drop").touch()

    async def mend(self) -> None:
        """Undo what the last check has done."""
        (self._way.parent / "drop").unlink(missing_ok=True)
        for mark in ("cut", "full"):
            self._lab.path(f"/home/alice/{mark}").unlink(missing_ok=True)
        if self._wrapped:
            self._lab.set_conf(FirstJobId="1", MaxJobId=HIGHEST_ID)
            self._wrapped = False
        if self._away:
            await self.come_back()
        self._lab.run("bob", ["scancel", "--name=fill", "--me"])
        for node in self._lost:
            self._lab.start(f"slurmd:{node}")
        self._lab.run("alice", ["scancel", "--me"])
        self._lost.clear()
        self._lab.await_idle()


class LabHarness(SlurmHarness):
    """A cluster of the lab, as alice reaches it."""

    def __init__(self, lab: Lab, place: Path) -> None:
        self.lab = lab
        self.way = place / "way"
        self.way.write_text(DROP)
        self.way.chmod(0o755)
        lab.text("alice", "mkdir", "-p", SEEN)
        tools = lab.path(TOOLS)
        tools.mkdir(exist_ok=True)
        for name in ("sbatch", "scontrol", "scancel", "date"):
            (tools / name).write_text(CLOCK if name == "date" else STEPS)
            (tools / name).chmod(0o755)
        through = [str(self.way), str(lab.login("alice"))]
        settings = {"transport": {"kind": "local", "through": through}, "saveWindow": "1s"}
        super().__init__(settings, ends=lab.path(SEEN), seen=SEEN)
        self._lab_scheduler = LabScheduler(self)
        self.scheduler: Scheduler = self._lab_scheduler

    async def reset(self) -> None:
        await self._lab_scheduler.mend()

    def job(self) -> Job:
        # Of a partition from which others take the nodes, by ending what runs there.
        job = super().job()
        workdir = f"{SEEN}/in-{Path(job.command[-1]).name}"
        self.lab.path(workdir).mkdir(parents=True, exist_ok=True)
        return replace(job, partition="lowc", memory=Size.parse("100M"), workdir=workdir)

    @contextmanager
    def _at(self, moment: datetime) -> Generator[None]:
        late = self.lab.path("/home/alice/late")
        late.write_text(f"{int(moment.timestamp() * 1000)}\n")
        late.chmod(0o644)
        try:
            yield
        finally:
            late.unlink()

    def late_call(self, moment: datetime) -> AbstractContextManager[None]:
        return self._at(moment)
