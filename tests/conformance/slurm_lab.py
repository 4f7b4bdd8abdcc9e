"""The harness of a real Slurm of the lab, with an administrator, other users, and daemons that can be killed."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from msgspec.structs import replace

from dispatch.adapters.slurm.reading import Ref
from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.conformance.slurm import SlurmHarness, SlurmScheduler
from dispatch.conformance.verdicts import CannotDo
from dispatch.model.job import Job
from dispatch.model.quantity import Size
from lab import Lab, why_no_cgroups

SEEN = "/home/alice/conformance"
DROP = """#!/bin/sh
if rm "$(dirname "$0")/drop" 2>/dev/null; then "$@" >/dev/null 2>&1; kill -9 $$; fi
exec "$@"
"""
"""The way to the cluster, on which the reply of a call is lost where there is a file ``drop``."""


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

    async def _begun(self, made: Made) -> None:
        command = made.order.job.command
        for _ in range(600):
            if any(process.argv[-len(command) :] == command for process in self._lab.processes()):
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the command did not begin")

    async def cancel_as_administrator(self, made: Made) -> None:
        self._lab.text("root", "scancel", number(made))

    async def hold_as_administrator(self, made: Made) -> None:
        self._lab.text("root", "scontrol", "hold", number(made))

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
        through = [str(self.way), str(lab.login("alice"))]
        settings = {"transport": {"kind": "local", "through": through}, "saveWindow": "1s"}
        super().__init__(settings, ends=lab.path(SEEN), seen=SEEN)
        self._lab_scheduler = LabScheduler(self)
        self.scheduler: Scheduler = self._lab_scheduler

    async def reset(self) -> None:
        await self._lab_scheduler.mend()

    def job(self) -> Job:
        # Of a partition from which others take the nodes, by ending what runs there.
        return replace(super().job(), partition="lowc", memory=Size.parse("100M"))
