"""The jobs of a chaos run: each has a fate, chosen by the seed, and a program that proves what became of it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dispatch.model.status import Cause, State


class Fate(StrEnum):
    """What a job does by itself, or what is done to it."""

    SUCCEEDS = "succeeds"
    PAIR = "succeeds on two nodes"
    FLAKY = "exits with 3 once"
    BROKEN = "always exits with 3"
    SEGFAULT = "dies of SIGSEGV"
    SLOW = "runs out of its time limit"
    PREEMPTED = "preempted"
    NODE_KILLED = "its node is killed"
    CANCELLED = "scancel by its owner"
    STOPPED = "dispatch stop"
    HELD = "dispatch hold, then release"
    USER_HELD = "scontrol hold, then release"
    UNSATISFIABLE = "can never start"


SHARES = {
    Fate.SUCCEEDS: 12, Fate.PAIR: 6, Fate.FLAKY: 6, Fate.BROKEN: 4, Fate.SEGFAULT: 4, Fate.SLOW: 1,
    Fate.PREEMPTED: 6, Fate.NODE_KILLED: 4, Fate.CANCELLED: 4, Fate.STOPPED: 5, Fate.HELD: 5,
    Fate.USER_HELD: 2, Fate.UNSATISFIABLE: 1,
}  # fmt: skip
"""Of 60 jobs, how many have which fate."""

VICTIMS = frozenset({Fate.PREEMPTED, Fate.NODE_KILLED, Fate.CANCELLED, Fate.STOPPED})
"""The fates that strike a running job: it runs on until it is struck, and ends soon when it runs again."""

ENDS: dict[Fate, tuple[State, Cause | None]] = {
    **dict.fromkeys(Fate, (State.SUCCEEDED, None)),
    Fate.BROKEN: (State.FAILED, Cause.NON_ZERO_EXIT),
    Fate.SEGFAULT: (State.FAILED, Cause.SIGNALLED),
    Fate.SLOW: (State.FAILED, Cause.TIMEOUT),
    Fate.CANCELLED: (State.CANCELLED, Cause.CANCELLED),
    Fate.STOPPED: (State.CANCELLED, Cause.STOPPED),
    Fate.UNSATISFIABLE: (State.FAILED, Cause.REJECTED),
}
"""How a job of that fate must end."""

PROGRAM_LIMIT = 2
"""How often a job that exits by itself is tried again."""

_ONE_SECOND = {"initial": "1s", "max": "1s", "jitter": 0}
RECOVERY: dict[str, Any] = {
    "rules": [
        {"when": ["Preempted"], "do": "resubmit", "limit": 20, "backoff": _ONE_SECOND},
        {
            "when": ["NodeLost", "LaunchFailed", "Unknown", "Evicted", "Requeued"],
            "do": "resubmit",
            "limit": 20,
            "backoff": _ONE_SECOND,
        },
        {
            "when": ["NonZeroExit"],
            "do": "resubmit",
            "limit": PROGRAM_LIMIT,
            "backoff": _ONE_SECOND,
        },
    ]
}

PROGRAM = """
cd ~/chaos/$1 || exit 90
mode=$2 seconds=$3
tell() { echo "$1 $DISPATCH_EPOCH $RANK $SLURMD_NODENAME $SLURM_JOB_ID $(date +%s.%N) $2" >>told; }
exec 9>>lock.$RANK
flock -n 9 || tell overlap -
tell start -
if [ "$mode" = victim ] && [ -e struck ]; then seconds=3; fi
sleep $seconds 9>&-
code=0
case $mode in
  flaky) [ "$RANK" != 0 ] || ! mkdir flaked 2>/dev/null || code=3 ;;
  broken) code=3 ;;
  segfault) tell end SEGV; ulimit -c 0; kill -SEGV $$ ;;
esac
tell end $code
exit $code
"""
"""Each task: a lock of its rank, held for its life; and a line for its start, for its own end, and for an overlap."""

MODES = {
    Fate.FLAKY: "flaky",
    Fate.BROKEN: "broken",
    Fate.SEGFAULT: "segfault",
    **dict.fromkeys(VICTIMS, "victim"),
}
HELD_NODE, SPARED_NODE = "n7", "n8"
"""Where the jobs that are to wait do so, behind another user's; and where no node is killed."""


@dataclass(frozen=True)
class Interruption:
    """What happens to a process that submits: so long after its begin it is killed, or paused for so many seconds."""

    after: float
    pause: float | None = None


@dataclass(frozen=True)
class Plan:
    """One job of the run."""

    key: str
    fate: Fate
    seconds: int
    interruptions: tuple[Interruption, ...]

    def document(self) -> dict[str, Any]:
        """The job file."""
        mode = MODES.get(self.fate, "plain")
        words = ["sh", "-c", PROGRAM, "chaos", self.key, mode, str(self.seconds)]
        common = {"name": self.key, "cluster": "lab", "command": words, "recovery": RECOVERY}
        return {**common, "slurm": {"options": self._where()}, **self._fields()}

    def _where(self) -> dict[str, str]:
        match self.fate:
            case Fate.HELD | Fate.USER_HELD:
                return {"nodelist": HELD_NODE}
            case Fate.SLOW:
                return {"nodelist": SPARED_NODE}
            case Fate.PREEMPTED:
                return {"exclude": f"{HELD_NODE},{SPARED_NODE}"}
            case _:
                return {"exclude": f"{HELD_NODE}"}

    def _fields(self) -> dict[str, Any]:
        match self.fate:
            case Fate.PAIR:
                return {"nodes": 2, "launcher": "srun"}
            case Fate.HELD | Fate.USER_HELD:
                return {"gpusPerNode": 8}
            case Fate.PREEMPTED:
                return {"gpusPerNode": 8, "partition": "low"}
            case Fate.SLOW:
                return {"timeLimit": "1m"}
            case Fate.UNSATISFIABLE:
                return {"constraint": "nosuch"}
            case _:
                return {}


def make_plans(seed: int, count: int) -> tuple[Plan, ...]:
    """Choose the jobs of a run. The slow ones come first, since a time limit is a minute at least."""
    chance = random.Random(f"{seed} jobs")
    total = sum(SHARES.values())
    fates = [fate for fate, share in SHARES.items() for _ in range(max(1, share * count // total))]
    fates += [Fate.SUCCEEDS] * (count - len(fates))
    fates = fates[:count]
    chance.shuffle(fates)
    fates.sort(key=lambda fate: fate is not Fate.SLOW)
    return tuple(_plan(chance, f"c{number:03d}", fate) for number, fate in enumerate(fates))


def _plan(chance: random.Random, key: str, fate: Fate) -> Plan:
    seconds = chance.randint(2, 9)
    if fate in VICTIMS:
        seconds = 60
    if fate is Fate.SLOW:
        seconds = 600
    return Plan(key, fate, seconds, _interruptions(chance))


def _interruptions(chance: random.Random) -> tuple[Interruption, ...]:
    kind = chance.random()
    if kind < 0.35:
        return (Interruption(chance.uniform(0.3, 4)),)
    if kind < 0.45:
        return (Interruption(chance.uniform(0.3, 3)), Interruption(chance.uniform(0.3, 4)))
    if kind < 0.55:
        return (Interruption(chance.uniform(0.5, 3), pause=chance.uniform(1, 9)),)
    return ()
