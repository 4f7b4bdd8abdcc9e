"""What the engine does about a job, by the phase of its object, by what a read shows, and by the boot."""

from __future__ import annotations

from collections.abc import Iterator

from core.builders import (
    at,
    ceased,
    ended,
    gated,
    judged,
    listing,
    opened,
    opening,
    ran,
    read,
    record,
    started,
    tell,
)
from dispatch.core.deciding import next_step
from dispatch.model.answers import Action
from dispatch.model.journal import Forgot
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause
from dispatch.model.steps import Append, Call, Look, Rest
from dispatch.model.view import JobView
from docs.fields import table
from docs.protocol_views import READS, seen_as

AGAIN = Policy(
    rules=(
        Rule(
            when=(Cause.PREEMPTED,),
            do=Action.RESUBMIT,
            backoff=Backoff(initial=Duration(seconds=1), max=Duration(seconds=1)),
        ),
    )
)
SENT = 20.0
"""Long before the landing bound of a write that is open, and before the save window of an end is over."""
LATER = 200.0


def _situations() -> dict[str, tuple[JobView, float]]:
    """A record for each phase, and when it is read."""
    return {
        "gated": (record(*started(), read(gated()), policy=AGAIN), SENT),
        "opening": (record(*opening(), policy=AGAIN), SENT),
        "open": (record(*opened(), policy=AGAIN), SENT),
        "open, was seen running": (record(*ran(), policy=AGAIN), SENT),
        "tainted": (
            record(*opened(), Forgot(submission=1, why="the controller forgot"), policy=AGAIN),
            SENT,
        ),
        "ended": (record(*ran(), read(ended()), policy=AGAIN), SENT),
        "ended, a save window ago": (record(*ran(), read(ended()), policy=AGAIN), LATER),
        "judged, resubmit": (judged(record(*ran(), policy=AGAIN), ended()), LATER),
        "ceased, resubmit": (ceased(record(*ran(), policy=AGAIN), ended()), LATER),
    }


def steps() -> str:
    """The table; what makes no difference stands in one row."""
    rows: list[list[str]] = []
    for phase, (view, sent) in _situations().items():
        found: dict[tuple[str, str], list[str]] = {}
        for name in READS:
            same, other = (" → ".join(_steps(view, name, sent, boot)) for boot in ("b1", "b2"))
            which = {"any": same} if same == other else {"the same": same, "another": other}
            for boot, done in which.items():
                found.setdefault((boot, done), []).append(name)
        rows += [[phase, "; ".join(names), boot, done] for (boot, done), names in found.items()]
    return "\n".join(table(["phase in the record", "the read shows", "boot", "what is done"], rows))


def _steps(view: JobView, name: str, sent: float, boot: str) -> Iterator[str]:
    """Name what is appended on one read, and the call or the wait that it comes to."""
    for _ in range(9):
        step = next_step(view, listing(view, *seen_as(name), sent=sent, boot=boot), at(sent))
        match step:
            case Append():
                events = [type(event).__name__ for event in step.events]
                yield " and ".join(f"`{one[0].lower()}{one[1:]}`" for one in events)
                view = tell(view, *step.events, when=at(sent))
            case Call():
                yield f"**{step.verb} {step.submission}**"
                return
            case Look():
                yield f"*{step.row}*"
                return
            case Rest():
                yield "*rest*"
                return
    raise AssertionError(f"it appends without end: {name}")
