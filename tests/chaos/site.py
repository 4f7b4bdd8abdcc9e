"""Where a chaos run happens: a cluster of the lab, a directory with a configuration, and the real commands in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaos.judge import Call, Execution, Living, Record, Told
from dispatch.core.folding import fold
from dispatch.model.answers import Action
from dispatch.model.journal import Decided, Ended, Entry, Intended, Observed, Settled, Verb
from dispatch.model.status import Cause, Observation, State
from dispatch.model.view import JobView
from dispatch.spi.store import Query
from dispatch.stores.sqlite import SqliteStore
from lab import Lab, LabError
from slurm.faults import REALISTIC

OPTIONS: dict[str, Any] = {
    "nodes": 8,
    "message_timeout": 3,
    "slurmd_timeout": 12,
    "min_job_age": 60,
}
"""An unanswered call ends after 3 s; a node that is silent for 12 s is lost."""

FAR = datetime.now(UTC).year + 5

LIVE = frozenset({"PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING"})

WRAPPER = """#!/bin/bash
# Runs its arguments inside, as alice. Of each write it leaves a note: the verb, who makes it, its deadline and the job.
# A third of the writes is slow, so that there is time to hit who makes them.
verb=
case $3 in
  *"sbatch --parsable"*) verb=start ;;
  *"run clear scontrol"* | *'run "clear '*) verb=open ;;
  *"run cancel scancel"*) verb=stop ;;
  *"run hold scontrol"*) verb=hold ;;
  *"run lift scontrol"*) verb=release ;;
esac
if [ -n "$verb" ]; then
  for job; do case $job in dj-*) break ;; esac; done
  note=$verb.$PPID.$$
  echo "$6 ${job#dj-}" >{place}/notes/new.$$ && mv {place}/notes/new.$$ {place}/notes/$note
  case $(($$ % 3)):$verb in 0:* | *:hold | *:release | *:stop) sleep 0.$((2 + $$ % 7)) ;; esac
fi
exec {login} env PATH=/home/alice/tools:/usr/local/bin:/usr/bin:/bin "$@"
"""

CONFIG = """records = "records.db"
[clusters.lab]
adapter = "slurm"
settings = {settings}
[supervisor]
poll = "1s"
"""


@dataclass(frozen=True)
class Note:
    """What the wrapper wrote of a write that it was about to make."""

    verb: Verb
    caller: int
    wrapper: int
    deadline: int
    job: str


class Site:
    """A cluster, and the commands in a directory. ``command`` is the command line of dispatch, or of one made unsafe."""

    def __init__(self, lab: Lab, place: Path, command: Sequence[str] = ("-m", "dispatch")) -> None:
        self.lab = lab
        self.place = place
        self.command = [sys.executable, *command]
        self.over = threading.Event()
        """Set once the run is over; every wait of the run ends with it."""
        self.begun: list[subprocess.Popen[bytes]] = []
        self.roles: dict[int, str] = {}
        (place / "notes").mkdir()
        wrapper = place / "through"
        text = WRAPPER.replace("{place}", str(place)).replace("{login}", str(lab.login("alice")))
        wrapper.write_text(text)
        wrapper.chmod(0o755)
        settings = {**REALISTIC, "transport": {"kind": "local", "through": [str(wrapper)]}}
        inline = json.dumps(settings).replace('": ', '" = ')
        (place / "dispatch.toml").write_text(CONFIG.format(settings=inline))
        lab.text("alice", "mkdir", "-p", "chaos", "tools")

    @property
    def proofs(self) -> Path:
        """Where the tasks write: a directory for each key."""
        return self.lab.path("/home/alice/chaos")

    def write_job(self, key: str, document: dict[str, Any]) -> None:
        """Write a job file, and make the directory where its tasks write."""
        (self.place / f"{key}.json").write_text(json.dumps(document))
        self.lab.text("alice", "mkdir", "-p", f"chaos/{key}")

    # --- processes of ours

    def begin(self, role: str, *words: str, out: Path | None = None) -> subprocess.Popen[bytes]:
        """Begin a command of dispatch, its errors in a log of its role."""
        with (
            (self.place / f"{role}.log").open("ab") as log,
            (out or Path("/dev/null")).open("ab") as kept,
        ):
            begun = subprocess.Popen(
                [*self.command, *words],
                cwd=self.place, stdin=subprocess.DEVNULL, stdout=kept, stderr=log,
            )  # fmt: skip
        self.begun.append(begun)
        self.roles[begun.pid] = role
        return begun

    def finish(self, role: str, *words: str, seconds: float = 240) -> int:
        """Run a command to its end, however often it is killed on its way; its exit code."""
        end = time.monotonic() + seconds
        while True:
            code = self.begin(role, *words).wait(max(1, end - time.monotonic()))
            if code >= 0:
                return code
            self.over.wait(0.3)

    def close(self) -> None:
        """End every process that is left."""
        for process in self.begun:
            if process.poll() is None:
                process.kill()
                process.wait()

    def wait_for(self, seconds: float) -> bool:
        """Wait so long; true where the run is over meanwhile."""
        return self.over.wait(seconds)

    # --- what there is to see

    def notes(self, known: set[str]) -> list[Note]:
        """The notes that are new."""
        found: list[Note] = []
        for path in (self.place / "notes").iterdir():
            if path.name in known or path.name.startswith("new."):
                continue
            known.add(path.name)
            verb, caller, wrapper = path.name.split(".")
            deadline, job = path.read_text().split()
            found.append(Note(Verb(verb), int(caller), int(wrapper), int(deadline), job))
        return found

    def told(self, key: str) -> tuple[Told, ...]:
        """What the tasks of a job wrote."""
        path = self.proofs / key / "told"
        lines = path.read_text().splitlines() if path.exists() else []
        return tuple(_told(line.split()) for line in lines)

    def overs(self, job: str) -> tuple[Told, ...]:
        """The ends that the job's scripts wrote, which come after those of their tasks."""
        runs = self.lab.path("/home/alice/.dispatch/runs") / job
        found: list[Told] = []
        for path in runs.glob("*.end"):
            ended = re.search(r"^ended=(\d+)$", path.read_text(), re.MULTILINE)
            if ended:
                found.append(Told("over", int(path.stem), 0, "", "", float(ended[1]), "-"))
        return tuple(found)

    def living(self) -> tuple[Living, ...]:
        """The objects of ours that live in the queue."""
        rows = self.insist(
            "root", "squeue", "-h", "-t", "all", "-u", "alice", "-o", "%i %j %T"
        ).splitlines()
        return tuple(
            Living(number, name.removeprefix("dj-"), state)
            for number, name, state in (row.split() for row in rows)
            if name.startswith("dj-") and state in LIVE
        )

    def insist(self, user: str, *argv: str, seconds: float = 40) -> str:
        """Run a command as somebody, again while the controller does not answer. Raises LabError after so long."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self.lab.text(user, *argv)
            except LabError:
                if time.monotonic() > end or self.over.wait(0.5):
                    raise

    def is_held(self, job: str) -> bool:
        """Whether Slurm has an object of the job that must not start for years: the gate, or a hold of ours."""
        times = self.insist("root", "squeue", "-h", "-t", "PD", f"--name=dj-{job}", "-o", "%S")
        return any(word[:4].isdecimal() and int(word[:4]) > FAR for word in times.split())

    def records(self) -> tuple[Record, ...]:
        """Every record, as the judge wants it."""
        store = SqliteStore.open(
            self.place / "records.db", now=datetime.now(UTC), read_only=True, patience=20
        )
        try:
            return tuple(
                _record(store.load(summary.id)) for summary in store.list(Query(limit=10_000))
            )
        finally:
            store.close()


def _told(words: list[str]) -> Told:
    what, epoch, rank, node, number, at, word = words
    return Told(what, int(epoch), int(rank), node, number, float(at), word)


def _record(entries: Sequence[Entry]) -> Record:
    view = fold(entries)
    seen: dict[int, Observation] = {}
    executions: dict[int, Execution] = {}
    intents: dict[str, Call] = {}
    numbers: set[str] = set()
    for entry in entries:
        at = entry.at.timestamp()
        match entry.event:
            case Observed(submission=submission, observation=observation):
                seen[submission] = observation
                numbers.add(observation.ref.partition(":")[0])
            case Intended(intent=intent):
                deadline = int(intent.deadline.timestamp() * 1000)
                intents[intent.id] = Call(intent.verb, deadline, at, None)
            case Settled(intent=name, ref=ref):
                call = intents[name]
                intents[name] = Call(call.verb, call.deadline, call.at, at)
                if ref:
                    numbers.add(ref.partition(":")[0])
            case Decided(submission=submission) as decided:
                executions[submission] = _execution(decided, at, seen.get(submission))
            case Ended(verdict=verdict) if view.current is None or (
                view.current.submission not in executions
            ):
                submission = view.current.submission if view.current else 0
                as_decided = Decided(
                    submission=submission, restarts=0, verdict=verdict, action=Action.FAIL
                )
                executions[submission] = _execution(as_decided, at, seen.get(submission))
            case _:
                pass
    return Record(
        job=view.id,
        key=view.job.key or view.job.name,
        accepted=view.accepted_at.timestamp(),
        verdict=(view.verdict.state, view.verdict.cause) if view.verdict else None,
        executions=tuple(executions.values()),
        calls=tuple(intents.values()),
        numbers=frozenset(numbers),
        pending=_pending(view),
    )


def _pending(view: JobView) -> tuple[int, Cause | None] | None:
    current = view.current
    if current is None or current.seen is None or current.seen.state is not State.PENDING:
        return None
    return current.submission, current.seen.cause


def _execution(decided: Decided, at: float, seen: Observation | None) -> Execution:
    verdict = decided.verdict
    return Execution(
        submission=decided.submission,
        state=verdict.state,
        cause=verdict.cause,
        proven=verdict.proven,
        decided=at,
        ended=seen.ended.timestamp() if seen and seen.ended else None,
        nodes=seen.nodes if seen else (),
        resubmitted=decided.action is not Action.FAIL,
    )
