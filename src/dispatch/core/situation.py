"""What ``next_step`` decides on: a view, a read that was sent after it, and the time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from msgspec.structs import replace

from dispatch.core.sighting import PUT_BACK
from dispatch.model.status import By, Cause, Gate, Listing, Observation, State, Verdict
from dispatch.model.view import JobView, ObjectView


@dataclass(frozen=True)
class Situation:
    """One moment of one job."""

    view: JobView
    listing: Listing
    now: datetime

    @cached_property
    def ours(self) -> list[Observation]:
        """The objects that our own record store made; others are shown, never touched (12, T1)."""
        return [
            seen for seen in self.listing.observations if seen.key.store == self.view.header.store
        ]

    @cached_property
    def current_seen(self) -> Observation | None:
        """What the read says of the current object."""
        return next(
            (seen for seen in self.ours if known_as(self.view, seen) is self.view.current), None
        )

    @property
    def waits_for_retry(self) -> bool:
        """Whether the last write was refused for now, and its time to be tried again has not come."""
        return self.view.retry_at is not None and self.now < self.view.retry_at

    @property
    def retry(self) -> datetime | None:
        """When the last refused write is tried again."""
        return self.view.retry_at if self.waits_for_retry else None

    def local(self, moment: datetime) -> datetime:
        """A moment of the cluster's clock, on this host's clock."""
        return moment - (self.listing.sent - self.listing.requested)


def known_as(view: JobView, seen: Observation) -> ObjectView | None:
    """The recorded object that this is, by its ref; keys repeat only in a record that was set back."""
    if seen.key.store != view.header.store:
        return None
    known = view.objects.get(seen.key.submission)
    return known if known is not None and known.ref == seen.ref else None


def is_gone(seen: Observation) -> bool:
    """Whether the object has ended, can never run again, and has left nothing to clean up."""
    return seen.state.ended and seen.final and not seen.cleaning


def sweepable(view: JobView, seen: Observation) -> bool:
    """Whether this is a gated object that nobody will ever open: superseded, or lost while starting."""
    if seen.state.ended or seen.gate is not Gate.CLOSED or known_as(view, seen) is not None:
        return False
    return seen.key.submission in view.objects or seen.key.submission < view.next_submission


def final_verdict(known: ObjectView, verdict: Verdict) -> Verdict:
    """The verdict on an object that has ended, with what the record knows about it and the scheduler does not."""
    if verdict.state is State.SUCCEEDED:
        return verdict
    forgotten = bool(known.why) and known.why != PUT_BACK
    if forgotten and (not verdict.proven or _stopped_by_us(verdict)):
        # It was stopped because the controller had forgotten an open or a start of it: not the program's end.
        return replace(
            verdict, cause=Cause.FORGOTTEN, detail=replace(verdict.detail, reason=known.why)
        )
    if verdict.cause is Cause.NON_ZERO_EXIT and not verdict.proven:
        # Slurm reports an exit status for launches that it refused itself (12, E5).
        return replace(
            verdict,
            cause=Cause.UNKNOWN,
            detail=replace(verdict.detail, suspected=Cause.NON_ZERO_EXIT),
        )
    return verdict


def _stopped_by_us(verdict: Verdict) -> bool:
    return verdict.cause is Cause.CANCELLED and verdict.detail.by not in (
        By.ADMINISTRATOR,
        By.OTHER,
    )
