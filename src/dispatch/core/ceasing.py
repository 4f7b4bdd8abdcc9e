"""Whether a judged execution is gone, so that the next one may start (12, E4).

An end is not yet cessation: processes on a node that was lost live on until the node registers again. So every node of
the execution must respond in a read sent after the end, and where a node was lost or nobody knows, must have had the kill
wait since it was first seen responding.
"""

from __future__ import annotations

from datetime import datetime

from dispatch.model.journal import Awaiting, Ceased, HoldAsked, NodesBack, Proof
from dispatch.model.policy import HOLD_BY_CESSATION, NO_RECOVERY, Cessation
from dispatch.model.status import Cause, Listing, NodeReport
from dispatch.model.view import JobView, ObjectView, Phase

RE_REGISTER_CAUSES = frozenset({
    Cause.NODE_LOST, Cause.UNKNOWN, Cause.FORGOTTEN, Cause.FENCED, Cause.REQUEUED, Cause.EVICTED,
})  # fmt: skip
"""Causes after which a node that responds is not enough: it must have had time to kill what it should not run."""


_MAY_RUN = frozenset({Phase.OPENING, Phase.OPEN, Phase.TAINTED, Phase.ENDED})


def awaited(view: JobView) -> ObjectView | None:
    """The object whose cessation the next start or open waits for: the oldest that is not proven gone.

    An older one than the current is among them when a controller that crashed brought it back, or when a record that was
    set back has met it again. As long as a read shows it alive it is stopped; one that is not shown may run on.
    """
    current = view.current
    for _, known in sorted(view.objects.items()):
        older = known is not current
        if known.phase is Phase.JUDGED and (older or view.wants_another):
            return known
        if older and known.phase in _MAY_RUN:
            return known
    return None


def nodes_wanted(view: JobView, *, fence: bool = False) -> tuple[str, ...] | None:
    """The nodes to read together with the job, for a proof of cessation; empty means all where it could have run.

    ``fence``: as in ``Listing``.
    """
    known = awaited(view)
    return None if known is None or never_ran(known, fence=fence) else nodes_of(known)


def nodes_of(known: ObjectView) -> tuple[str, ...]:
    """The nodes on which any execution of the object may have processes; empty where they are not all known."""
    if known.ran_unseen or (
        is_fenced(known) and not (known.seen and known.seen.verdict.detail.nodes)
    ):
        return ()
    return tuple(sorted(known.ran_on))


def is_fenced(known: ObjectView) -> bool:
    """Whether its last launch was refused: then another one was made of it, which nobody may have seen (12, O4)."""
    return known.seen is not None and known.seen.cause is Cause.FENCED


def never_ran(known: ObjectView, *, fence: bool) -> bool:
    """Whether the object ended, by a read of its end, without ever having been given nodes.

    One that a controller may have forgotten says nothing: it may have run before (12, O2). Nor does one that ended under
    another boot than that of its open, unless a start would have left its ticket.
    """
    return (
        known.ended is not None
        and known.seen is not None
        and known.seen.started is None
        and not known.ran_on
        and not known.why
        and not is_fenced(known)
        and (fence or known.opened_under in ("", known.ended.boot))
    )


def cease(
    view: JobView, known: ObjectView, listing: Listing
) -> Ceased | Awaiting | NodesBack | HoldAsked | datetime | None:
    """Go one step towards cessation: an event, the moment to read again, or nothing but the next poll."""
    submission = known.submission
    if never_ran(known, fence=listing.fence):
        return Ceased(submission=submission, proof=Proof.NEVER_RAN)
    if view.cessation_waived_by:
        why = f"{view.cessation_waived_by} released the job"
        return Ceased(submission=submission, proof=Proof.ASSUMED_GONE, why=why)
    reports = listing.nodes or ()
    lost = _not_back(nodes_of(known), reports)
    if lost or not reports:
        return _await(view, known, lost, listing)
    if not _must_register(view, known):
        return Ceased(submission=submission, proof=Proof.CLEANED)
    if known.nodes_back is None:
        return NodesBack(submission=submission, sent=listing.sent, answered=listing.answered)
    proven = known.nodes_back + view.header.declarations.kill_wait
    if listing.sent < proven:
        return proven
    return Ceased(
        submission=submission,
        proof=Proof.NODES_BACK,
        why=f"back: {', '.join(r.name for r in reports)}",
    )


def _must_register(view: JobView, known: ObjectView) -> bool:
    """Whether an execution of it may have been lost, so that its nodes must have had time to kill what they should not run."""
    decision = view.last_decision
    ordinary = (
        known is view.current
        and decision is not None
        and decision.verdict.cause not in RE_REGISTER_CAUSES
    )
    # What was forgotten or ran more than once may have left an earlier execution behind, whatever the last one came to.
    return not ordinary or known.awaiting_since is not None or bool(known.why) or known.restarts > 0


def _not_back(wanted: tuple[str, ...], reports: tuple[NodeReport, ...]) -> tuple[str, ...]:
    responding = {report.name for report in reports if report.responding and not report.kill_failed}
    return tuple(sorted({*wanted, *(report.name for report in reports)} - responding))


def _await(
    view: JobView, known: ObjectView, lost: tuple[str, ...], listing: Listing
) -> Ceased | Awaiting | HoldAsked | datetime | None:
    if known.awaiting_since is None or known.awaiting != lost or known.nodes_back is not None:
        return Awaiting(submission=known.submission, nodes=lost, sent=listing.sent)
    cessation = (view.job.policy or NO_RECOVERY).cessation
    sighting = known.ended or known.missing
    since = sighting.seen_by if sighting else known.awaiting_since
    if (wait := cessation.assumed_after) is not None:
        if listing.sent >= since + wait:
            why = f"the policy accepts a wait of {wait} in place of proof"
            return Ceased(submission=known.submission, proof=Proof.ASSUMED_GONE, why=why)
        return since + wait
    return _hold_after(view, cessation, known.awaiting_since, listing.sent)


def _hold_after(
    view: JobView, cessation: Cessation, since: datetime, sent: datetime
) -> HoldAsked | datetime | None:
    if cessation.hold_after is None or view.hold is not None:
        return None
    if sent < since + cessation.hold_after:
        return since + cessation.hold_after
    why = f"no proof for {cessation.hold_after} that the last execution is gone; release the job once you know that it is"
    return HoldAsked(instance=view.last_instance + 1, by=HOLD_BY_CESSATION, why=why)
