"""What each state and cause means, and how it is known on Slurm, in words."""

from __future__ import annotations

from dispatch.core.recovery import FREE_CAUSES
from dispatch.model.policy import ENDING_CAUSES, PROGRAM_CAUSES
from dispatch.model.status import Cause, State

# fmt: off
STATES = {
    State.PENDING: "It waits: in the scheduler's queue, or for something of dispatch's own.",
    State.RUNNING: "The scheduler runs it.",
    State.SUCCEEDED: "It ended with exit code 0.",
    State.FAILED: "It ended otherwise. The cause says how.",
    State.CANCELLED: "Somebody ended it. The cause and `by` say who, as far as the scheduler tells.",
    State.UNKNOWN: "Nobody can tell at present. This is no end: an object that a listing does not show may still run.",
}

CAUSES: dict[Cause, tuple[str, str]] = {
    Cause.GATED: ("It was created and is kept from running until its start is recorded.", "It is held, and its begin time is the gate's own, ten years ahead."),
    Cause.HELD: ("A person or the policy holds it.", "`JobHeldUser`, or the begin time of one of our holds."),
    Cause.ADMIN_HELD: ("An administrator holds it. dispatch never lifts that.", "`JobHeldAdmin`."),
    Cause.NO_CAPACITY: ("It waits for nodes, or for a quota, or was refused for now.", "The reason of waiting; table below."),
    Cause.DEPENDENCY: ("It waits for another job.", "The reason `Dependency`."),
    Cause.UNSATISFIABLE: ("It can never start as it is.", "The reason of waiting, such as `PartitionTimeLimit`; as an end, `BadConstraints` on a job that never ran. A rule matches it only as an end."),
    Cause.REQUEUED: ("The scheduler runs the same object again by itself.", "Restart count and flags. Our objects are submitted with `--no-requeue`, so it is not expected."),
    Cause.AWAITING_READMISSION: ("A restarted object waits to be let in.", "Never."),
    Cause.AWAITING_CESSATION: ("It is to run again, but the last execution is not proven gone.", "Our own: nodes of the last execution do not answer, or have yet to kill what they should not run."),
    Cause.BACKING_OFF: ("It is to run again, at a time that has not come.", "Our own."),
    Cause.LAUNCH_FAILED: ("The job could not be launched; the command was not started, or not on all its nodes.", "slurmd's signals 53 and 54, the states and flags of the table below, or exit code 118 of the job script where it says so itself, or took no start ticket; srun's own failure (233: slurmd of a node did not answer), where no task of the command had failed."),
    Cause.NON_ZERO_EXIT: ("The command ended with an exit code other than 0.", "The job script's own end record, or the batch step under one boot of the controller. Without either it is `Unknown`."),
    Cause.SIGNALLED: ("A signal ended the command.", "The same. The name is in `signal`."),
    Cause.OUT_OF_MEMORY: ("The kernel killed it for memory.", "State `OUT_OF_MEMORY`, or every failed step has it, or signal 125. Exit code 137 alone is only `suspected`. Clusters without memory cgroups never prove it."),
    Cause.TIMEOUT: ("It reached its time limit.", "State `TIMEOUT`."),
    Cause.DEADLINE_EXCEEDED: ("The scheduler's deadline for it passed.", "State `DEADLINE`. dispatch never sets one; somebody else may."),
    Cause.PREEMPTED: ("The scheduler took its nodes for another job.", "State `PREEMPTED`. During the grace time it is `suspected` on a running job."),
    Cause.NODE_LOST: ("A node of it failed. Its processes there may still run.", "State `NODE_FAIL`, with the failed node where Slurm names it (not 22.05)."),
    Cause.EVICTED: ("Kubernetes evicted it.", "Never."),
    Cause.CANCELLED: ("Somebody cancelled it in the scheduler.", "State `CANCELLED`. Who did it is known with accounting only."),
    Cause.REJECTED: ("The scheduler refused the submission for good.", "What `sbatch` said. Nothing is left that could run."),
    Cause.STOPPED: ("A person stopped it with `dispatch stop`.", "The request is in the record, and the object was cancelled."),
    Cause.FENCED: ("A second launch of the same execution was refused. No program ran in it.", "The job script found the start ticket, and left a note beside it."),
    Cause.FORGOTTEN: ("The controller lost what it had acknowledged.", "The job script has started where Slurm says that it has not, or the object is gone after a restart of the controller."),
    Cause.UNKNOWN: ("The evidence is gone, or does not suffice.", "Everything else. The raw text is kept."),
}
# fmt: on


def charge(cause: Cause) -> str:
    """Say which budget an end by this cause is charged to."""
    if cause in FREE_CAUSES:
        return "nobody; tried again by itself"
    if cause in PROGRAM_CAUSES:
        return "program"
    if cause is Cause.UNKNOWN:
        return "nobody, where it is not proven"
    return "infrastructure" if cause in ENDING_CAUSES else ""


def matched(cause: Cause) -> str:
    """Say whether a rule can match it."""
    return "yes" if cause in ENDING_CAUSES else ""
