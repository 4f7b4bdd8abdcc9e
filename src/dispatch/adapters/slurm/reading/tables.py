"""What Slurm's codes mean, as data: states and flags, reasons of waiting, signals, hints. Documentation prints these.

Names and codes are those of ``squeue``'s and ``sacct``'s manuals and of ``job_state_string`` and ``job_reason_string`` in
Slurm's sources, 22.05 to 26.05.
"""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase

from dispatch.model.base import Value
from dispatch.model.status import Cause, State


class Kind(StrEnum):
    """Whether a code is a state of its own or stands beside one."""

    BASE = "base"
    FLAG = "flag"


class Code(Value):
    """A state or flag of Slurm, short and long, and what it means where nothing says more."""

    short: str
    name: str
    kind: Kind
    state: State
    cause: Cause | None = None
    why: str = ""


def _base(short: str, name: str, state: State, cause: Cause | None = None, why: str = "") -> Code:
    return Code(short=short, name=name, kind=Kind.BASE, state=state, cause=cause, why=why)


def _flag(short: str, name: str, state: State, cause: Cause | None = None, why: str = "") -> Code:
    return Code(short=short, name=name, kind=Kind.FLAG, state=state, cause=cause, why=why)


CODES = (
    _base("PD", "PENDING", State.PENDING),
    _base("R", "RUNNING", State.RUNNING),
    _base(
        "S", "SUSPENDED", State.RUNNING, why="it is suspended: its processes are stopped, not gone"
    ),
    _base("CD", "COMPLETED", State.SUCCEEDED),
    _base("CA", "CANCELLED", State.CANCELLED, Cause.CANCELLED),
    _base("F", "FAILED", State.FAILED, Cause.UNKNOWN),
    _base("TO", "TIMEOUT", State.FAILED, Cause.TIMEOUT, "it reached its time limit"),
    _base("NF", "NODE_FAIL", State.FAILED, Cause.NODE_LOST, "a node of it failed"),
    _base("PR", "PREEMPTED", State.FAILED, Cause.PREEMPTED, "it was preempted and not requeued"),
    _base(
        "BF", "BOOT_FAIL", State.FAILED, Cause.LAUNCH_FAILED, "a node could not be booted for it"
    ),
    _base(
        "DL",
        "DEADLINE",
        State.FAILED,
        Cause.DEADLINE_EXCEEDED,
        "it could not end before its deadline",
    ),
    _base(
        "OOM",
        "OUT_OF_MEMORY",
        State.FAILED,
        Cause.OUT_OF_MEMORY,
        "the kernel killed a process of it for memory",
    ),
    _flag("CG", "COMPLETING", State.RUNNING, why="its processes are being ended"),
    _flag("CF", "CONFIGURING", State.RUNNING, why="its nodes are being made ready"),
    _flag("PF", "POWER_UP_NODE", State.RUNNING, why="its nodes are being powered up"),
    _flag("SI", "SIGNALING", State.RUNNING, why="it is being signalled"),
    _flag("ST", "STOPPED", State.RUNNING, why="its processes are stopped, and keep their nodes"),
    _flag("SO", "STAGE_OUT", State.RUNNING, why="its files are being staged out"),
    _flag("RS", "RESIZING", State.RUNNING, why="its nodes are about to change"),
    _flag("UP", "UPDATE_DB", State.RUNNING, why="accounting is being updated"),
    _flag("EX", "EXPEDITING", State.PENDING, Cause.REQUEUED, "it was requeued with precedence"),
    _flag("RQ", "REQUEUED", State.PENDING, Cause.REQUEUED, "it was requeued"),
    _flag("RF", "REQUEUE_FED", State.PENDING, Cause.REQUEUED, "its federation requeues it"),
    _flag("RH", "REQUEUE_HOLD", State.PENDING, Cause.HELD, "it was requeued and is held"),
    _flag(
        "SE",
        "SPECIAL_EXIT",
        State.PENDING,
        Cause.HELD,
        "it was requeued in a special state and is held",
    ),
    _flag(
        "RD",
        "RESV_DEL_HOLD",
        State.PENDING,
        Cause.ADMIN_HELD,
        "its reservation was deleted; it is held",
    ),
    _flag("LF", "LAUNCH_FAILED", State.FAILED, Cause.LAUNCH_FAILED, "it could not be launched"),
    _flag(
        "RC", "RECONFIG_FAIL", State.FAILED, Cause.LAUNCH_FAILED, "a node of it could not be set up"
    ),
    # A sibling elsewhere may be running: an end would be a guess. Federations are refused at open (12, T2).
    _flag(
        "RV",
        "REVOKED",
        State.UNKNOWN,
        Cause.UNKNOWN,
        "another cluster of the federation has taken it over",
    ),
)
"""Every state that Slurm prints. A code that is not here reads as Unknown, with its text kept."""

BY_NAME = {spelling: code for code in CODES for spelling in (code.name, code.short)}


class Waiting(Value):
    """What a reason of waiting means; ``reason`` is a pattern, and the first row that matches rules."""

    reason: str
    cause: Cause | None
    why: str = ""


_CAPACITY, _NEVER = Cause.NO_CAPACITY, Cause.UNSATISFIABLE

WAITING = (
    Waiting(reason="None", cause=None, why="the scheduler has not looked at it yet"),
    Waiting(reason="Priority", cause=_CAPACITY, why="others come first"),
    Waiting(reason="Resources", cause=_CAPACITY, why="its resources are in use"),
    Waiting(reason="Licenses", cause=_CAPACITY, why="its licences are in use"),
    Waiting(reason="Cleaning", cause=Cause.REQUEUED, why="its last run is being cleaned up"),
    Waiting(reason="Prolog", cause=_CAPACITY, why="a prolog is running for it"),
    Waiting(reason="SchedDefer", cause=_CAPACITY, why="the scheduler takes it up later"),
    Waiting(
        reason="DependencyNeverSatisfied", cause=_NEVER, why="what it depends on ended otherwise"
    ),
    Waiting(reason="Dependency", cause=Cause.DEPENDENCY, why="it depends on another job"),
    Waiting(reason="BadConstraints", cause=_NEVER, why="no nodes of the cluster satisfy it"),
    Waiting(reason="PartitionNodeLimit", cause=_NEVER, why="the partition allows fewer nodes"),
    Waiting(reason="PartitionTimeLimit", cause=_NEVER, why="the partition allows less time"),
    Waiting(reason="PartitionConfig", cause=_NEVER, why="the partition cannot satisfy it"),
    Waiting(reason="PartitionDown", cause=_CAPACITY, why="the partition is down"),
    Waiting(reason="PartitionInactive", cause=_CAPACITY, why="the partition is inactive"),
    Waiting(reason="ReqNodeNotAvail*", cause=_CAPACITY, why="a node it needs is not available"),
    Waiting(reason="ReservationDeleted", cause=_NEVER, why="its reservation was deleted"),
    Waiting(reason="Reservation", cause=_CAPACITY, why="it waits for its reservation"),
    Waiting(reason="NodeDown", cause=_CAPACITY, why="a node it needs is down"),
    Waiting(reason="FrontEndDown", cause=_CAPACITY, why="no front end is up"),
    Waiting(reason="BurstBuffer*", cause=_CAPACITY, why="its burst buffer is not ready"),
    Waiting(reason="JobArrayTaskLimit", cause=_CAPACITY, why="its array's limit is reached"),
    Waiting(reason="FedJobLock", cause=_CAPACITY, why="its federation decides"),
    Waiting(reason="InvalidAccount", cause=_NEVER, why="its account is not valid"),
    Waiting(reason="InvalidQOS", cause=_NEVER, why="its QOS is not valid"),
    Waiting(reason="QOSNotAllowed", cause=_NEVER, why="its QOS is not allowed there"),
    Waiting(reason="AccountNotAllowed", cause=_NEVER, why="its account is not allowed there"),
    Waiting(
        reason="JobHoldMaxRequeue", cause=Cause.HELD, why="it was requeued too often, and is held"
    ),
    Waiting(
        reason="MaxRequeueExceeded", cause=Cause.HELD, why="it was requeued too often, and is held"
    ),
    Waiting(
        reason="launch_failed_requeued_held",
        cause=Cause.LAUNCH_FAILED,
        why="its launch failed, and it is held",
    ),
    Waiting(
        reason="JobHoldLaunchFailure",
        cause=Cause.LAUNCH_FAILED,
        why="its launch failed, and it is held",
    ),
    # A limit for one job is never met by waiting; a limit for a group, a user or an account is.
    Waiting(reason="QOSMax*PerJob*", cause=_NEVER, why="a limit of its QOS for one job"),
    Waiting(reason="QOSMax*PerNode*", cause=_NEVER, why="a limit of its QOS for one node"),
    Waiting(reason="QOSMin*", cause=_NEVER, why="it asks for less than its QOS demands"),
    Waiting(reason="QOSTimeLimit", cause=_NEVER, why="its QOS allows less time"),
    Waiting(reason="AssocMax*PerJob*", cause=_NEVER, why="a limit of its account for one job"),
    Waiting(reason="AssocMax*PerNode*", cause=_NEVER, why="a limit of its account for one node"),
    Waiting(reason="AssociationTimeLimit", cause=_NEVER, why="its account allows less time"),
    Waiting(reason="MaxMemPerLimit", cause=_NEVER, why="it asks for more memory than is allowed"),
    Waiting(reason="QOS*", cause=_CAPACITY, why="a quota of its QOS is used up"),
    Waiting(reason="Assoc*", cause=_CAPACITY, why="a quota of its account is used up"),
)
"""Why a job waits. Holds and begin times are not here: they are read together with our hold base."""


def waiting_for(reason: str) -> Waiting | None:
    """The first row that matches a reason of waiting."""
    return next((row for row in WAITING if fnmatchcase(reason, row.reason)), None)


LAUNCH_SIGNALS = {
    53: "its work directory or its output file could not be used on the node",
    54: "the node's prolog failed",
}
"""Signals by which slurmd says that it could not launch the job script; none of them was ever sent."""

OUT_OF_MEMORY_SIGNAL = 125
"""The number that Slurm puts for a step in which the kernel killed for memory; no signal has it."""

EXIT_HINTS = {137: Cause.OUT_OF_MEMORY}
"""Exit codes that hint at a cause without proving it: 128 + KILL is what the kernel's memory killer leaves."""

SIGNALS = {
    1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV",
    12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 16: "STKFLT", 17: "CHLD", 18: "CONT", 19: "STOP", 20: "TSTP",
    21: "TTIN", 22: "TTOU", 23: "URG", 24: "XCPU", 25: "XFSZ", 26: "VTALRM", 27: "PROF", 28: "WINCH", 29: "IO",
    30: "PWR", 31: "SYS",
}  # fmt: skip
"""Linux's signals by number."""

LIMIT_MARGIN = 60
"""Seconds by which a run may miss its time limit and still have been ended for it: Slurm checks limits this often."""

CLOCK_MARGIN = 10
"""Seconds by which a node's clock may differ from the controller's, where a time of each is compared."""
