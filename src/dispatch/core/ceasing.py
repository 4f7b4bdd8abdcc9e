"""Whether a judged execution is gone, so that the next one may start (12, E4).

An end is not yet cessation: processes on a node that was lost live on until the node registers again. So every node of
the execution must respond in a read sent after the end, and must have had the kill wait since it was first seen so. That
holds for ordinary ends too: a node that falls silent while it cleans up is given up by the controller, which then shows
nothing more to be cleaned up; it may have come back a moment ago. The wait passes beside the save window.
"""

from __future__ import annotations

from datetime import datetime

from dispatch.core.recovery import decide
from dispatch.core.sighting import is_fenced, nodes_of
from dispatch.core.situation import final_verdict, is_gone
from dispatch.model.answers import Action
from dispatch.model.journal import Awaiting, Ceased, HoldAsked, NodesBack, Proof
from dispatch.model.policy import HOLD_BY_CESSATION, NO_RECOVERY
from dispatch.model.status import Listing, NodeReport, State
from dispatch.model.view import JobView, ObjectView, Phase

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


def whose_nodes(view: JobView, *, fence: bool) -> ObjectView | None:
    """The object whose nodes are read together with the job, for a proof of cessation.

    ``fence``: as in ``Listing``.
    """
    known = awaited(view) or _soon_awaited(view)
    return None if known is None or never_ran(known, fence=fence) else known


def _soon_awaited(view: JobView) -> ObjectView | None:
    """The current object, once nothing of it is left to clean up, where another is to follow: its kill wait may begin."""
    known = view.current
    if known is None or known.phase is not Phase.ENDED or known.seen is None or known.ended is None:
        return None
    if not is_gone(known.seen) or known.seen.state is State.SUCCEEDED:
        return None
    verdict = final_verdict(known, known.seen.verdict)
    decided = decide(view, known, verdict, known.ended.sent)
    return None if decided.action is Action.FAIL else known


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
    if known.nodes_back is None:
        return _back(known, listing)
    proven = known.nodes_back + view.header.declarations.kill_wait
    if listing.sent < proven:
        return _no_later(proven, _assume(view, known, listing))
    responding = ", ".join(report.name for report in reports)
    return Ceased(submission=submission, proof=Proof.NODES_BACK, why=f"responding: {responding}")


def begin_kill_wait(view: JobView, listing: Listing) -> NodesBack | Awaiting | None:
    """Note that every node of an execution responds whose end is read, and not judged yet; or that one does no more."""
    if not listing.nodes:
        return None
    known = whose_nodes(view, fence=listing.fence)
    if known is None or known is not view.current or known.phase is not Phase.ENDED:
        return None
    lost = _not_back(nodes_of(known), listing.nodes)
    if known.nodes_back is None:
        return None if lost else _back(known, listing)
    return Awaiting(submission=known.submission, nodes=lost, sent=listing.sent) if lost else None


def _back(known: ObjectView, listing: Listing) -> NodesBack:
    return NodesBack(submission=known.submission, sent=listing.sent, answered=listing.answered)


def _not_back(wanted: tuple[str, ...], reports: tuple[NodeReport, ...]) -> tuple[str, ...]:
    responding = {report.name for report in reports if report.responding and not report.kill_failed}
    return tuple(sorted({*wanted, *(report.name for report in reports)} - responding))


def _await(
    view: JobView, known: ObjectView, lost: tuple[str, ...], listing: Listing
) -> Ceased | Awaiting | HoldAsked | datetime | None:
    if known.awaiting_since is None or known.awaiting != lost or known.nodes_back is not None:
        return Awaiting(submission=known.submission, nodes=lost, sent=listing.sent)
    if (assumed := _assume(view, known, listing)) is not None:
        return assumed
    return _hold_after(view, known.awaiting_since, listing.sent)


def _assume(view: JobView, known: ObjectView, listing: Listing) -> Ceased | datetime | None:
    """Take the policy's wait in place of proof, or say when it is over."""
    wait = (view.job.policy or NO_RECOVERY).cessation.assumed_after
    sighting = known.ended or known.missing
    since = sighting.seen_by if sighting else known.awaiting_since or known.nodes_back
    if wait is None or since is None:
        return None
    if listing.sent < since + wait:
        return since + wait
    why = f"the policy accepts a wait of {wait} in place of proof"
    return Ceased(submission=known.submission, proof=Proof.ASSUMED_GONE, why=why)


def _no_later(proven: datetime, assumed: Ceased | datetime | None) -> Ceased | datetime:
    if isinstance(assumed, Ceased):
        return assumed
    return proven if assumed is None else min(proven, assumed)


def _hold_after(view: JobView, since: datetime, sent: datetime) -> HoldAsked | datetime | None:
    cessation = (view.job.policy or NO_RECOVERY).cessation
    if cessation.hold_after is None or view.hold is not None:
        return None
    if sent < since + cessation.hold_after:
        return since + cessation.hold_after
    why = f"no proof for {cessation.hold_after} that the last execution is gone; release the job once you know that it is"
    return HoldAsked(instance=view.last_instance + 1, by=HOLD_BY_CESSATION, why=why)
