"""Cancellations: whose they are, and which of them may be none."""

from __future__ import annotations

from dispatch.adapters.slurm.reading.documents import Exit
from dispatch.adapters.slurm.reading.facts import Seen
from dispatch.adapters.slurm.reading.hostlist import expand
from dispatch.model.status import By, Cause, Detail, State, Verdict

_LAUNCH_MARGIN = 10
"""Seconds within which a launch that slurmd refuses is cancelled."""

_ROOT = frozenset({"0", "root"})


def _killer(s: Seen) -> str:
    """Who cancelled it, a name or a number, as accounting tells; empty where it does not."""
    return s.run.killer if s.run else ""


def cancelled_at_launch(s: Seen) -> bool:
    """Whether it was given nodes and cancelled before its job script began, by nobody or by root.

    A slurmd that cannot launch a job which may not be requeued cancels it as root: so where the node still holds another job
    of that id, which a controller that crashed has forgotten and given away again. A script that ran would show the signal.
    """
    if s.base != "CANCELLED" or s.never_ran or s.started is not None or not s.start:
        return False
    if s.steps or (s.facts.queue is not None and s.facts.queue.exit != Exit()):
        return False
    by_a_person = _killer(s) not in {"", *_ROOT}
    return not by_a_person and 0 <= s.end - s.start <= _LAUNCH_MARGIN


def maybe_not_launched(s: Seen) -> Verdict:
    """The verdict where a person and slurmd look the same: nobody is charged, and nothing is claimed."""
    reason = "it was cancelled before its job script began: by a person, or by slurmd because it could not launch it"
    detail = Detail(nodes=expand(s.nodes), reason=reason, suspected=Cause.LAUNCH_FAILED)
    return Verdict(state=State.CANCELLED, cause=Cause.UNKNOWN, detail=detail, proven=False)


def cancelled(s: Seen) -> Verdict:
    """The verdict on a cancellation, with who it was where accounting knows."""
    killer, owner = _killer(s), s.facts.owner
    by: By | None = None
    if killer in _ROOT:
        by = By.ADMINISTRATOR
    elif killer:
        by = By.OWNER if killer in {owner.user, owner.uid} else By.OTHER
    # Any other reason is why it waited before, which says nothing of its end.
    reason = s.reason if s.reason == "DependencyNeverSatisfied" else None
    detail = Detail(by=by, who=killer or None, reason=reason)
    return Verdict(state=State.CANCELLED, cause=Cause.CANCELLED, detail=detail)
