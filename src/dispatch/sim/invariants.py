"""What must hold after every step: S1 to S9, each a pure function of a history and of what has just been added to it.

A rule answers what is broken, or nothing. It looks at what truly happened and at what was recorded, never at how dispatch
came to do it: nothing here calls the fold or the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import chain

from dispatch.adapters.memory.records import Execution
from dispatch.adapters.memory.slurm_reading import by_exit
from dispatch.model.answers import Action
from dispatch.model.epoch import Epoch
from dispatch.model.journal import (
    Accepted,
    Ceased,
    Decided,
    Ended,
    HoldAsked,
    Intended,
    Intent,
    Observed,
    Proof,
    ReleaseAsked,
    StopAsked,
    Verb,
)
from dispatch.model.policy import HOLD_BY_CESSATION, NO_RECOVERY, Backoff, Policy
from dispatch.model.status import By, Cause, State, Verdict
from dispatch.sim.history import Begun, History, Told, Written

OnWritten = Callable[[History, Written], str | None]
OnBegun = Callable[[History, Begun], str | None]


# --- S1


def overlap_is_excused(history: History, first: Execution, second: Execution) -> str | None:
    """Say what made an overlap that is not ours: a declared assumption, or the scheduler's own requeue (02, S1)."""
    submission = first.epoch.submission
    if first.object == second.object and second.epoch > first.epoch:
        return "the scheduler, or another person, ran the same object again"
    for ceased in history.events(Ceased):
        if ceased.submission == submission and ceased.proof is Proof.ASSUMED_GONE:
            return f"submission {submission} was assumed to be gone: {ceased.why}"
    return None


def two_live(history: History, first: Execution, second: Execution) -> str | None:
    """S1: never two live executions of one job."""
    if overlap_is_excused(history, first, second):
        return None
    return f"{second.epoch} began while {first.epoch} lives on {', '.join(sorted(first.alive))}"


# --- S2, S3, S5, S9: what may begin


def began_without_an_open(history: History, new: Begun) -> str | None:
    """S2: nothing runs whose Open was not recorded as intended first."""
    if _opens(history, new.ref) or opened_by_a_person(history, new.ref):
        return None
    return f"{new.ref} runs, and no Open of it was recorded before"


def opened_by_a_person(history: History, ref: str) -> str | None:
    """Say that a person has opened an object by hand, which nothing of ours can prevent."""
    return "a person opened it by hand" if ref in history.opened_by_hand else None


def _opens(history: History, ref: str) -> list[Told]:
    return [
        told
        for told in history.told(Intended)
        if isinstance(told.event, Intended)
        and told.event.intent.verb is Verb.OPEN
        and told.event.intent.ref == ref
    ]


def began_while_held(history: History, new: Begun) -> str | None:
    """S3: what is opened after a hold was recorded does not run before that hold's release is."""
    released = {event.instance for event in history.events(ReleaseAsked)}
    for told in history.told(HoldAsked):
        hold = told.event
        if (
            not _was_set_back(history, told)
            and isinstance(hold, HoldAsked)
            and hold.instance not in released
            and hold.by != HOLD_BY_CESSATION
            and not opened_by_a_person(history, new.ref)
            and all(opened.place > told.place for opened in _opens(history, new.ref))
            and told is history.told(HoldAsked)[-1]
        ):
            return f"{new.ref} was opened and runs, though hold {hold.instance} stands"
    return None


def lifted_another_hold(
    before: tuple[By | None, int | None], after: tuple[By | None, int | None], named: int | None
) -> str | None:
    """S3: a write of ours lifts no administrator's hold, and a release none but the hold it names.

    ``before`` and ``after``: who else holds the object, and the instance of our hold.
    """
    if before[0] is By.ADMINISTRATOR and after[0] is not By.ADMINISTRATOR:
        return "a write of ours has lifted an administrator's hold"
    if named is not None and before[1] not in (None, named) and after[1] != before[1]:
        return f"the release of hold {named} has lifted hold {before[1]}"
    return None


def epoch_is_not_higher(history: History, new: Begun) -> str | None:
    """S5: epochs strictly increase over the executions of a job."""
    earlier = [begun.execution for begun in history.begun if begun.place < new.place]
    if not earlier:
        return None
    last = max(execution.epoch for execution in earlier)
    if new.execution.epoch > last or epoch_was_set_back(history):
        return None
    return f"epoch {new.execution.epoch} runs after epoch {last}"


def epoch_was_set_back(history: History) -> str | None:
    """Say why an epoch may come again: the records were set back, nothing shows the first, and no start ticket is taken."""
    if history.set_back and not history.counts_restarts:
        return "the records were set back, and the cluster has no start tickets"
    return None


def began_after_the_end(history: History, new: Begun) -> str | None:
    """S9: nothing starts after the job's end was acknowledged."""
    ended = [told for told in history.told(Ended) if not _was_set_back(history, told)]
    if not ended or new.ref in history.opened_by_hand:
        return None
    return f"{new.ref} runs, though the job has ended"


def _was_set_back(history: History, told: Told) -> bool:
    return any(place >= told.place for place in history.set_back)


def wrote_after_a_stop(history: History, new: Written) -> str | None:
    """S9: after a request to stop, nothing that could let the job run is intended any more (12, E2)."""
    event = new.entry.event
    stops = [told for told in history.told(StopAsked) if not _was_set_back(history, told)]
    if not stops or not isinstance(event, Intended):
        return None
    if event.intent.verb in (Verb.STOP, Verb.HOLD):
        return None
    return f"{event.intent.verb} was intended after a stop was asked for"


# --- S4


def spent_too_much(history: History, new: Written) -> str | None:
    """S4: budgets are never exceeded."""
    one, policy = new.entry.event, _policy(history)
    if not isinstance(one, Decided):
        return None
    decided = history.events(Decided)
    if [(d.submission, d.restarts) for d in decided].count((one.submission, one.restarts)) > 1:
        return (
            None
            if history.set_back
            else f"execution {one.submission}.{one.restarts} is decided about twice"
        )
    limits = [
        ("limits.total", policy.limits.total, [d for d in decided if d.budget is not None]),
    ]
    for name, limit in (
        ("infrastructure", policy.limits.infrastructure),
        ("program", policy.limits.program),
    ):
        if limit is not None:
            charged = [d for d in decided if d.budget is not None and d.budget == name]
            limits.append((f"limits.{name}", limit, charged))
    if one.rule is not None and (limit := policy.rules[one.rule].limit) is not None:
        within = policy.rules[one.rule].within
        uses = [
            told.event
            for told in history.told(Decided)
            if isinstance(told.event, Decided)
            and told.event.rule == one.rule
            and told.event.action is not Action.FAIL
            and (within is None or told.at > new.at - within)
        ]
        limits.append((f"rules[{one.rule}].limit", limit, uses))
    for name, limit, used in limits:
        if len(used) > limit and not history.set_back:
            return f"{name} of {limit} is used {len(used)} times"
    return None


def waited_too_short(history: History, new: Written) -> str | None:
    """S4: the wait that is decided is at least the rule's own, from the end that was read."""
    one = new.entry.event
    if not isinstance(one, Decided) or one.rule is None or one.action is not Action.RESUBMIT:
        return None
    rule = _policy(history).rules[one.rule]
    sent = [e.sent for e in history.events(Observed) if _is_end_of(e, one.submission)]
    if one.due is None or not sent or rule.within is not None or history.set_back:
        return None if one.due is not None else "it is tried again without a due time"
    backoff = rule.backoff or Backoff()
    uses = sum(d.rule == one.rule for d in history.events(Decided)) - 1
    wait = min(backoff.initial * 2 ** min(uses, 30), backoff.max)
    if one.due < min(sent) + wait:
        return f"the wait before submission {one.submission + 1} is shorter than {wait}"
    return None


def _is_end_of(event: Observed, submission: int) -> bool:
    return event.submission == submission and event.observation.state.ended


def started_early(history: History, new: Written) -> str | None:
    """S4: backoffs are never cut short, by the true time."""
    intent = _intent(new)
    decided = [told for told in history.told(Decided) if not _was_set_back(history, told)]
    if intent is None or intent.verb is not Verb.START or not decided:
        return None
    last = decided[-1].event
    due = last.due if isinstance(last, Decided) else None
    if due is None or new.at + history.skew >= due:
        return None
    return f"submission {intent.submission} is started {due - new.at} before its backoff ends"


def _intent(new: Written) -> Intent | None:
    event = new.entry.event
    return event.intent if isinstance(event, Intended) else None


def _policy(history: History) -> Policy:
    return history.header.job.policy or NO_RECOVERY


# --- S6, S7


def ended_twice(history: History, new: Written) -> str | None:
    """S6: a final verdict is written once and never changes."""
    if not isinstance(new.entry.event, Ended):
        return None
    ends = [told for told in history.told(Ended) if not _was_set_back(history, told)]
    return None if len(ends) == 1 else f"the job ends {len(ends)} times"


def lost_events(history: History, nonces: tuple[str, ...]) -> str | None:
    """S7: the record still has every event that was acknowledged; ``nonces`` are those of the record now."""
    since = max(history.set_back, default=0)
    if since:
        return None  # a person has set it back, on purpose
    promised = tuple(one.entry.nonce for one in history.written)
    if nonces[: len(promised)] == promised:
        return None
    return f"the record has {len(nonces)} events, and {len(promised)} were acknowledged"


# --- S8


def wrong_cause(history: History, new: Written) -> str | None:
    """S8: a recorded cause equals the truth, or is ``Unknown``."""
    match new.entry.event:
        case Decided(verdict=verdict, submission=submission, restarts=restarts):
            return _compare(history, verdict, submission, restarts)
        case Ended(verdict=verdict) if verdict.state is State.SUCCEEDED:
            if any(begun.execution.end == "0:0" for begun in history.begun):
                return None
            return "the job is recorded as succeeded, and no execution of it was"
        case _:
            return None


def _compare(history: History, verdict: Verdict, submission: int, restarts: int) -> str | None:
    if verdict.cause is Cause.UNKNOWN:
        return None
    seen = history.recorded.get(submission)
    stopped = verdict.cause is Cause.STOPPED and bool(history.told(StopAsked))
    # A refused launch is no end of the program's: a stop that was asked for meanwhile is all that ends the job.
    refused = stopped and seen is not None and seen.cause is Cause.FENCED
    if verdict.cause is Cause.FENCED or refused:
        return None if _was_taken(history, Epoch(submission, restarts)) else "no ticket was taken"
    if verdict.cause is Cause.FORGOTTEN:
        if history.forgetful or history.set_back:
            return None
        return f"{verdict.cause} is recorded, and the controller forgot nothing"
    true = list(_true_causes(history, submission, restarts))
    said: set[Cause | None] = {verdict.cause}
    if stopped:
        said = {Cause.CANCELLED, Cause.FORGOTTEN}  # what the controller lost needs no stop any more
        if not (true and verdict.proven) and (history.forgetful or history.set_back):
            return None  # it was forgotten, and whether or how it ran nobody can tell any more
    if said.intersection(true):
        return None
    shown = ", ".join(str(cause or "a success") for cause in true) or "nothing that ran"
    return f"submission {submission}.{restarts} is recorded as {verdict.cause}, and was {shown}"


def _was_taken(history: History, epoch: Epoch) -> bool:
    """Whether the start ticket of an epoch was taken, by another object or by a launch that the controller forgot (12, O4)."""
    seen = history.recorded.get(epoch.submission)
    return any(
        begun.execution.epoch >= epoch
        and (history.forgetful or seen is None or begun.ref != seen.ref)
        for begun in history.begun
    )


def _true_causes(history: History, submission: int, restarts: int) -> Iterator[Cause | None]:
    """Everything that can truly be said of the ends of the executions of the object that the record has as that submission."""
    seen = history.recorded.get(submission)
    recorded = seen.ref if seen else None
    for begun in history.begun:
        execution = begun.execution
        counted = execution.epoch.restarts == restarts or not history.counts_restarts
        if _is(begun.ref, recorded, submission) and counted:
            yield from _causes_of(history, execution)
    # Only a person's stop makes ours the cause; what we stop by ourselves was not the job's end (12, T1).
    ours = history.stopped if history.told(StopAsked) or history.set_back else ()
    if any(_is(ref, recorded, submission) for ref in history.unlaunched):
        yield Cause.LAUNCH_FAILED
    if any(_is(ref, recorded, submission) for ref in chain(history.cancelled, ours)):
        yield Cause.CANCELLED


def _is(ref: str, recorded: str | None, submission: int) -> bool:
    return ref == recorded if recorded is not None else _submission_of(ref) == submission


def _causes_of(history: History, execution: Execution) -> Iterator[Cause | None]:
    if execution.cause is not None or not execution.live:
        yield execution.cause
    if execution.end is not None:
        cause = by_exit(execution.end, ()).cause  # whatever else was to be its end
        yield cause
        if cause is Cause.SIGNALLED and not history.counts_restarts:
            yield Cause.NON_ZERO_EXIT  # all that a container tells of a signal is 128 and its number
    yield from history.befell.get(execution.serial, ())
    lost = (history.lost.get(name) for name in execution.nodes)
    if history.forgetful and any(at is not None and at >= execution.started for at in lost):
        yield Cause.NODE_LOST  # a controller that forgot its end has found the node lost
    if execution.serial in history.bereft:
        yield Cause.NODE_LOST  # both are true of a program that ended on a lost node


def _submission_of(ref: str) -> int:
    """The submission in a ref of the memory adapter, of either shape."""
    parts = ref.split(":")
    return int(parts[2]) if parts[2].isdigit() else int(parts[2].rpartition("-s")[2])


ON_WRITTEN: tuple[tuple[str, OnWritten], ...] = (
    ("S4", spent_too_much),
    ("S4", waited_too_short),
    ("S4", started_early),
    ("S6", ended_twice),
    ("S8", wrong_cause),
    ("S9", wrote_after_a_stop),
)
ON_BEGUN: tuple[tuple[str, OnBegun], ...] = (
    ("S2", began_without_an_open),
    ("S3", began_while_held),
    ("S5", epoch_is_not_higher),
    ("S9", began_after_the_end),
)
CHECKED = (Accepted, Decided, Ended, Intended)
"""The kinds of events that a rule looks at when they are written."""

MOST_SKEW = timedelta(seconds=1)
"""A host's clock is at most so far from the true time; two of them differ by at most the declared 2 s."""
