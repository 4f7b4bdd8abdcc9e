"""Two stories in which exactly one protection keeps a job from running twice; each is told with it and without it.

*A start that lands late* (the gate): the reply of a first start is lost, and it is carried out much later. Meanwhile the
job was started again, cancelled by an administrator while it waited, and moved by its policy to another partition. All
supervisors are paused when the late start lands, and the other partition opens a moment later. No start ticket was
taken before: what keeps the late object from running is its gate alone.

*A start that is forgotten* (the start ticket): the controller starts jobs, dies before it has saved that, and starts them
again, while the node on which they run hangs and does not tell.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chaos.fates import PROGRAM, Fate
from chaos.judge import Deed, Done, Evidence, Record, judge
from chaos.report import Report, make_report
from chaos.site import Site
from dispatch.model.journal import Verb
from dispatch.model.status import Cause
from lab import Lab

UNSAFE = Path(__file__).with_name("unsafe.py")
JOBS = 4

LATE = """#!/bin/sh
# The first submission of each name is carried out when ~/land is there; whoever made it hears nothing of it.
for word; do case $word in --job-name=*) name=${word#*=} ;; esac; done
if [ -n "$name" ] && mkdir ~/first.$name 2>/dev/null; then
  cat >~/first.$name/script
  setsid sh -c 'until [ -e ~/land ]; do sleep 0.1; done; /usr/bin/sbatch "$@" <~/"$0"/script' \\
    "first.$name" "$@" </dev/null >/dev/null 2>&1 &
  echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2
  exit 1
fi
exec /usr/bin/sbatch "$@"
"""
MOVES = {
    "rules": [
        {
            "when": ["Cancelled"],
            "do": "resubmit",
            "limit": 3,
            "with": {"partition": "lowc"},
            "backoff": {"initial": "1s", "max": "1s", "jitter": 0},
        },
        {
            "when": ["Unknown", "NodeLost", "LaunchFailed"],
            "do": "resubmit",
            "limit": 5,
            "backoff": {"initial": "1s", "max": "1s", "jitter": 0},
        },
    ]
}


class Story:
    """One cluster, some jobs, one supervisor, and what was done."""

    def __init__(self, lab: Lab, place: Path, without: str | None, seconds: int) -> None:
        command = ("-m", "dispatch") if without is None else (str(UNSAFE), without)
        self.site = Site(lab, place, command)
        self.keys = tuple(f"s{number}" for number in range(JOBS))
        self.seconds = seconds
        self.done: list[Done] = []

    def submit(self, **fields: Any) -> None:
        """Have every job accepted; what is left to do is the supervisor's."""
        words = ["sh", "-c", PROGRAM, "chaos"]
        for key in self.keys:
            document = {"name": key, "command": [*words, key, "plain", str(self.seconds)], **fields}
            self.site.write_job(key, {"key": key, "recovery": MOVES, **document})
        files = [f"{key}.json" for key in self.keys]
        submitter = self.site.begin("submit", "submit", "--json", *files)
        self.wait("acceptance", lambda: len(self.site.records()) == JOBS)
        submitter.kill()
        submitter.wait()

    def supervise(self) -> subprocess.Popen[bytes]:
        """Begin a supervisor."""
        return self.site.begin("supervisor", "supervise")

    def wait(self, what: str, reached: Callable[[], bool], seconds: float = 90) -> None:
        """Wait until something is so. Raises ``AssertionError`` after so long."""
        end = time.time() + seconds
        while not reached():
            assert time.time() < end, f"waited {seconds} s in vain for {what}"
            self.site.wait_for(0.1)

    def opened(self, count: int) -> bool:
        """Whether so many opens of every job have landed or failed by now."""
        return all(_opens(record) >= count for record in self.site.records())

    def waiting(self, submission: int) -> bool:
        """Whether that submission of every job is seen to wait for its partition, its gate open or never there."""
        seen = {key for key, number, cause in self._waits() if number == submission and cause}
        return seen == set(self.keys)

    def _waits(self) -> Iterator[tuple[str, int, bool]]:
        for record in self.site.records():
            if record.pending:
                submission, cause = record.pending
                yield record.key, submission, cause is Cause.NO_CAPACITY

    def partition(self, name: str, state: str) -> None:
        """Open or close a partition."""
        self.site.lab.text("root", "scontrol", "update", f"PartitionName={name}", f"State={state}")

    def started(self, submission: int) -> bool:
        """Whether a task of that submission of every job has started."""
        return all(
            any(line.submission == submission for line in self.site.told(key)) for key in self.keys
        )

    def give_time(self, seconds: float, reached: Callable[[], bool]) -> None:
        """Wait for what may come, or not."""
        end = time.time() + seconds
        while not reached() and time.time() < end:
            self.site.wait_for(0.1)

    def fenced(self) -> int:
        """How many launches the start ticket has refused."""
        return len(list(self.site.lab.path("/home/alice/.dispatch/runs").glob("*/*.fenced.*")))

    def evidence(self) -> Evidence:
        """What it all came to, once every job has its verdict and nothing of ours lives."""
        self.give_time(
            90,
            lambda: (
                all(record.verdict for record in self.site.records()) and not self.site.living()
            ),
        )
        records = self.site.records()
        return Evidence(
            fates=dict.fromkeys(self.keys, Fate.SUCCEEDS),
            printed=tuple((record.key, record.job) for record in records),
            records=records,
            told={
                record.key: (*self.site.told(record.key), *self.site.overs(record.job))
                for record in records
            },
            done=tuple(self.done),
            living=self.site.living(),
        )


def _opens(record: Record) -> int:
    return sum(call.verb is Verb.OPEN and call.settled is not None for call in record.calls)


def a_start_lands_late(story: Story) -> None:
    """See the text of this file."""
    lab = story.site.lab
    tool = lab.path("/home/alice/tools/sbatch")
    tool.write_text(LATE)
    tool.chmod(0o755)
    for name in ("low", "lowc"):
        story.partition(name, "DOWN")
    supervisor = story.supervise()
    story.submit(partition="low")
    story.wait("the second attempt", lambda: story.waiting(1))
    since = time.time()
    lab.text("root", "scancel", *[one.number for one in story.site.living()])
    story.done += [Done(Deed.CANCELLED, since, time.time(), key) for key in story.keys]
    story.wait("the move to another partition", lambda: story.waiting(2))
    supervisor.send_signal(signal.SIGSTOP)
    story.partition("low", "UP")
    lab.text("alice", "touch", "land")
    story.give_time(6, lambda: story.started(1))
    story.partition("lowc", "UP")
    story.wait("the start of the second submission", lambda: story.started(2))
    supervisor.send_signal(signal.SIGCONT)


def a_start_is_forgotten(story: Story) -> None:
    """See the text of this file."""
    lab = story.site.lab
    supervisor = story.supervise()
    story.submit(partition="downp")
    story.wait("the open", lambda: story.opened(1))
    supervisor.kill()
    supervisor.wait()
    # It saves at once when the last time is five seconds ago, and not again for as long.
    story.site.wait_for(6)
    lab.text("bob", "sbatch", "--hold", "--wrap", "true")
    story.site.wait_for(0.3)
    story.partition("downp", "UP")
    story.wait("the first starts", lambda: story.started(1))
    nodes = {line.node for key in story.keys for line in story.site.told(key)}
    for node in nodes:
        lab.kill(f"slurmd:{node}", signal.SIGSTOP)
    since = time.time()
    lab.kill("slurmctld")
    lab.start("slurmctld", "-i")
    story.done.append(Done(Deed.CONTROLLER_KILLED, since, time.time()))
    story.partition("downp", "UP")
    story.give_time(30, lambda: story.fenced() > 0 or _overlapped(story))
    story.give_time(3, lambda: False)
    for node in nodes:
        lab.kill(f"slurmd:{node}", signal.SIGCONT)
        story.done.append(Done(Deed.SLURMD_PAUSED, since, time.time(), node=node))
    story.supervise()


def _overlapped(story: Story) -> bool:
    return any(line.what == "overlap" for key in story.keys for line in story.site.told(key))


STORIES: dict[str, tuple[str, Callable[[Story], None]]] = {
    "a start lands late": ("gate", a_start_lands_late),
    "a start is forgotten": ("ticket", a_start_is_forgotten),
}
"""Each story, and the protection that it is about."""


def tell(lab: Lab, place: Path, name: str, *, protected: bool) -> tuple[Report, int]:
    """Tell a story, with its protection or without it; the report, and how many launches were fenced."""
    protection, happens = STORIES[name]
    begin = time.time()
    story = Story(lab, place, None if protected else protection, seconds=25)
    try:
        happens(story)
        evidence = story.evidence()
        report = make_report(evidence, judge(evidence), seed=0, seconds=time.time() - begin)
        return report, story.fenced()
    finally:
        story.site.over.set()
        story.site.close()
