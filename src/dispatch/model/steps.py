"""What ``next_step`` answers: one thing to do now, or a time to look again."""

from __future__ import annotations

from dispatch.model.base import Instant, Value
from dispatch.model.journal import AnyEvent, Verb


class Call(Value):
    """Make this write: take the slot, record the intent, call, record the outcome.

    The shell completes it to an ``Intent`` with an id and a deadline, once it has the slot.
    """

    verb: Verb
    submission: int
    row: str
    ref: str | None = None
    instance: int | None = None
    why: str = ""


class Append(Value):
    """Append these events on the version that was folded, then look again at once."""

    events: tuple[AnyEvent, ...]
    row: str


class Look(Value):
    """Nothing to do now. Look again at ``at``, or with the next poll where it is ``None``."""

    why: str
    row: str
    at: Instant | None = None


class Rest(Value):
    """The job has ended and nothing of it is left to do."""

    row: str = "rest"


Step = Call | Append | Look | Rest
