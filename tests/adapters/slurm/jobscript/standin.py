"""A node on which job scripts are run, with stand-ins for srun, scancel and scontrol on the PATH."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dispatch.adapters.slurm.jobscript import render_job_script
from dispatch.model.job import Job
from dispatch.spi.adapter import StartOrder

ULID = "01JDQZ8GV2XK5R7N3M9P4T6W8Y"
STORE = "01JDQZ0000000000000000000S"
# Runs as many tasks as it is asked for, one after the other, on one node; keeps its own options for the test to see. A
# signal reaches all processes of a task, as with the real one.
SRUN = r"""#!/bin/bash
printf '%s\n' "$@" >"$HOME/srun.args"
while [ "${1#--}" != "$1" ]; do
  case $1 in --ntasks=*) tasks=${1#*=} ;; --ntasks-per-node=*) each=${1#*=} ;; esac
  shift
done
worst=0
for ((rank = 0; rank < tasks; rank++)); do
  # Noted by the task itself, before its command: a test that sees that run may send a signal at once.
  SLURM_PROCID=$rank SLURM_LOCALID=$((rank % each)) SLURM_NODEID=$((rank / each)) \
    setsid /bin/sh -c 'echo $$ >"$HOME/task"; exec "$@"' task "$@" &
  task=$!
  trap 'kill -USR1 -- -$task' USR1
  trap 'kill -USR2 -- -$task' USR2
  wait $task; status=$?
  while kill -0 $task 2>/dev/null; do wait $task; status=$?; done
  [ $status -le $worst ] || worst=$status
done
exit $worst
"""
# As the real one: tells the steps, not the batch script.
SCANCEL = """#!/bin/sh
printf '%s\\n' "$@" >"$HOME/scancel.args"
kill -s "${1#--signal=}" -- "-$(cat "$HOME/task")"
"""
SCONTROL = "#!/bin/sh\necho n1\necho n2\n"


class Node:
    """A node on which scripts are run: a home, a shared directory and the stand-ins."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.shared = place / "shared"
        self._commands = commands = place / "bin"
        for directory in (self.home, commands):
            directory.mkdir()
        for name, text in {"srun": SRUN, "scancel": SCANCEL, "scontrol": SCONTROL}.items():
            (commands / name).write_text(text)
            (commands / name).chmod(0o755)
        self.env = {
            "PATH": f"{commands}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8",
            "SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "n[1-2]", "SLURMD_NODENAME": "n1", "SLURM_JOB_NUM_NODES": "2",
            "SLURM_JOB_SLUID": "s123",
        }  # fmt: skip

    def break_srun(self, script: str) -> None:
        """Let srun be a script of the test's own."""
        (self._commands / "srun").write_text(f"#!/bin/bash\n{script}\n")

    @property
    def tickets(self) -> Path:
        return self.shared / ULID

    def script(self, *, submission: int = 1, shared: str | None = None, **job: Any) -> Path:
        order = order_of(submission=submission, **job)
        path = self.home / "script"
        path.write_text(render_job_script(order, shared or str(self.shared)))
        return path

    def run(
        self, *, slurm: Mapping[str, str] | None = None, **job: Any
    ) -> subprocess.CompletedProcess[bytes]:
        job.setdefault("command", ("true",))
        script = self.script(**job)
        return subprocess.run(
            ["bash", script],
            cwd=self.home,
            env=self.env | dict(slurm or {}),
            capture_output=True,
            check=False,
            timeout=60,
        )

    def start(self, **job: Any) -> subprocess.Popen[bytes]:
        """Start the script for one node, in a session that the test can end as a whole."""
        return subprocess.Popen(
            ["env", "--default-signal=HUP", "bash", self.script(nodes=1, **job)],
            cwd=self.home,
            env=self.env | {"SLURM_JOB_NUM_NODES": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def ticket(self, name: str) -> dict[str, str]:
        lines = (self.tickets / name).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.tickets.iterdir() if not path.name.startswith("."))


def order_of(*, submission: int = 1, **job: Any) -> StartOrder:
    nodes = job.pop("nodes", 2)
    return StartOrder(
        id=ULID,
        job=Job(nodes=nodes, **job),
        spec_hash="0" * 64,
        store=STORE,
        submission=submission,
        attempt="tok",
        base=42,
    )


def await_that(condition: Callable[[], bool]) -> None:
    """Wait for another process, by asking it again and again, for a bounded number of times."""
    for _ in range(1_000_000):
        if condition():
            return
        os.sched_yield()
    raise AssertionError("waited in vain")
