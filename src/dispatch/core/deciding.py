"""``next_step``: what to do about a job now. All of the protocol's thinking, as one table of rows; the first that
answers is the step.

A row takes the situation and answers a step, or ``None`` where it has nothing to say. The order of the rows is part of
the protocol: what was read is recorded before anything is decided on it, an open intent is settled before the next, a
stop comes before all that could run the job again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from dispatch.core.ending import (
    judge,
    learn_of_success,
    note_missing,
    note_nodes_back,
    prove_cessation,
)
from dispatch.core.landing import settle, settle_by_record
from dispatch.core.reading import adopt, notice_forgetting, record_what_was_read, widen_bounds
from dispatch.core.situation import Situation
from dispatch.core.starting import begin, end_refused, expire_hold, keep_holds, open_gate
from dispatch.core.stopping import rest, stop_superseded, stop_what_lives, sweep, wait_for_others
from dispatch.model.journal import Missed, Settled
from dispatch.model.status import Listing
from dispatch.model.steps import Append, Look, Step
from dispatch.model.view import JobView

Row = Callable[[Situation], Step | None]


def next_step(view: JobView, listing: Listing, now: datetime) -> Step:
    """Answer the one thing to do about the job: a call to make, events to append, or a time to look again.

    ``listing`` is a read that was sent after the view was folded (12, R1); ``now`` is this host's clock.
    """
    if listing.version != view.version:
        return Look(
            row="stale listing", why="the record has moved on since the listing was sent", at=now
        )
    situation = Situation(view, listing, now)
    for row in ROWS:
        if (step := row(situation)) is not None:
            return step
    return Look(row="watch", why="nothing to do until something changes")


def settle_intents(s: Situation) -> Step | None:
    """Settle what was intended by what was read; while the outcome of a write is unknown, nothing else is written."""
    waits: list[datetime] = []
    for known in s.view.intents:
        match settle_by_record(known, s.listing, s.view) or settle(
            known, s.listing, s.view.header.declarations
        ):
            case Settled() | Missed() as event:
                return Append(events=(event,), row="settle")
            case moment:
                waits.append(moment)
    if not waits:
        return None
    verbs = " and ".join(known.intent.verb for known in s.view.intents)
    return Look(
        row="await landing", why=f"the outcome of {verbs} is not known yet", at=s.local(min(waits))
    )


def wait_for_retry(s: Situation) -> Step | None:
    """What was refused for now is tried again at its time."""
    if not s.waits_for_retry:
        return None
    return Look(row="await retry", why=s.view.retry_why, at=s.retry)


ROWS: tuple[Row, ...] = (
    widen_bounds,
    record_what_was_read,
    stop_what_lives,
    settle_intents,
    rest,
    sweep,
    adopt,
    stop_superseded,
    wait_for_others,
    learn_of_success,
    expire_hold,
    end_refused,
    wait_for_retry,
    note_nodes_back,
    note_missing,
    notice_forgetting,
    keep_holds,
    judge,
    prove_cessation,
    open_gate,
    begin,
)
"""The decision table, in order."""
