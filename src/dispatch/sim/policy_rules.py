"""What must hold of policies and of what people ask for, beside the budgets and waits of S4.

Each is a pure function of a history and of what has just been added to it, as in ``rules``.
"""

from __future__ import annotations

from dispatch.model.answers import Action
from dispatch.model.journal import (
    Decided,
    HoldAsked,
    Intended,
    Observed,
    Outcome,
    ReleaseAsked,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.policy import NO_RECOVERY, Unmatched
from dispatch.model.status import By, Cause
from dispatch.sim.history import History, Written


def released_before_its_time(history: History, new: Written) -> str | None:
    """S3: a hold with a time ends by itself no earlier."""
    event = new.entry.event
    if not isinstance(event, ReleaseAsked) or not event.by.startswith("until "):
        return None
    holds = [one for one in history.events(HoldAsked) if one.instance == event.instance]
    until = holds[-1].until if holds else None
    if until is not None and new.at + history.skew >= until:
        return None
    return f"hold {event.instance}, which was asked for until {until}, has ended by itself"


def started_before_its_due_time(history: History, new: Written) -> str | None:
    """S4: no clock's error makes a due time come early (12, B1)."""
    event = new.entry.event
    decided = history.events(Decided)
    if not isinstance(event, Intended) or event.intent.verb is not Verb.START or history.set_back:
        return None
    due = decided[-1].due if decided else None
    if due is None or new.at >= due:
        return None
    return f"submission {event.intent.submission} is started {due - new.at} before it is due"


def did_another_thing_unmatched(history: History, new: Written) -> str | None:
    """S4: what no rule matches is failed or held, as the policy says."""
    one, policy = new.entry.event, history.header.job.policy or NO_RECOVERY
    if not isinstance(one, Decided) or one.rule is not None or history.told(StopAsked):
        return None
    if one.verdict.cause in (Cause.FENCED, Cause.FORGOTTEN):
        return None
    says = Action.HOLD if policy.unmatched is Unmatched.HOLD else Action.FAIL
    return (
        None if one.action is says else f"what no rule matches is {says}, and {one.action} was done"
    )


def braked_wrongly(history: History, new: Written) -> str | None:
    """S4: the brake against crash loops is put on exactly where the policy says."""
    one, policy = new.entry.event, history.header.job.policy or NO_RECOVERY
    if not isinstance(one, Decided) or history.set_back or (brake := policy.crash_loop) is None:
        return None
    free = (Cause.FENCED, Cause.FORGOTTEN)
    own = [d.ran_for for d in history.events(Decided) if d.verdict.cause not in free]
    last = own[-brake.executions :]
    short = [ran for ran in last if ran is not None and ran < brake.shorter_than]
    loops = len(short) == brake.executions
    braked = one.why.startswith("crashLoop")
    if braked and not loops:
        return f"the brake is put on after {len(short)} short executions of {brake.executions}"
    if loops and one.action is Action.RESUBMIT and one.verdict.cause not in free:
        return f"the last {len(short)} executions were short, and the job is run again"
    return None


MOST_FREE_RETRIES = 10
"""So often in a row a job goes on at nobody's charge."""


def went_on_for_nothing(history: History, new: Written) -> str | None:
    """S4: a fault of the controller holds a job only after many in a row, and then it does."""
    one = new.entry.event
    if (
        not isinstance(one, Decided)
        or one.verdict.cause not in (Cause.FENCED, Cause.FORGOTTEN)
        or history.told(StopAsked)
        or history.set_back
    ):
        return None
    before = history.events(Decided)[:-1]
    free = [d.budget is None and d.action is Action.RESUBMIT for d in before]
    row = free[::-1].index(False) if False in free else len(free)
    if (one.action is Action.HOLD) == (row >= MOST_FREE_RETRIES):
        return None
    return f"after {row} free tries in a row the job is to {one.action}"


def ran_on_an_excluded_node(history: History, new: Written) -> str | None:
    """S4: an execution is kept off the nodes that the newest exclusion names, as long as it lasts."""
    event = new.entry.event
    if not isinstance(event, Observed) or history.set_back:
        return None
    attempt = event.observation.key.attempt
    start = next(
        (
            told
            for told in history.told(Intended)
            if isinstance(told.event, Intended) and told.event.intent.attempt == attempt
        ),
        None,
    )
    if start is None:
        return None
    decided = [t.event for t in history.told(Decided) if t.place < start.place]
    lasts = [
        one.exclude
        for one in decided
        if isinstance(one, Decided)
        and one.exclude_until is not None
        and one.exclude_until > start.at + history.skew
    ]
    excluded = lasts[-1] if lasts else ()
    for begun in history.begun:
        if begun.ref == event.observation.ref and (names := {*begun.execution.nodes} & {*excluded}):
            return f"{begun.ref} runs on {', '.join(sorted(names))}, from which it was kept off"
    return None


def released_another_hold(history: History, new: Written) -> str | None:
    """S3: a release that is accepted names the hold that stands, or it would lift nothing (12, B7)."""
    event = new.entry.event
    if not isinstance(event, ReleaseAsked) or history.set_back:
        return None
    last = max((one.instance for one in history.events(HoldAsked)), default=0)
    return None if event.instance == last else f"hold {event.instance} is released, of {last}"


def charged_for_what_nobody_knows(history: History, new: Written) -> str | None:
    """S4: an end that nothing proves is charged to nobody, unless its rule says whom (12, E5)."""
    one, policy = new.entry.event, history.header.job.policy or NO_RECOVERY
    if not isinstance(one, Decided) or one.verdict.cause is not Cause.UNKNOWN:
        return None
    says = one.rule is not None and policy.rules[one.rule].budget is not None
    if one.verdict.proven or one.budget is None or says:
        return None
    return f"an end that nothing proves is charged to {one.budget}"


def took_anothers_stop_for_ours(history: History, new: Written) -> str | None:
    """S8: what was read to be cancelled by another person was not stopped by the one who asked us to."""
    one = new.entry.event
    if not isinstance(one, Decided) or one.verdict.cause is not Cause.STOPPED:
        return None
    reads = [e for e in history.events(Observed) if e.submission == one.submission]
    verdict = reads[-1].observation.verdict if reads else one.verdict
    if verdict.cause is not Cause.CANCELLED or verdict.detail.by not in (
        By.ADMINISTRATOR,
        By.OTHER,
    ):
        return None
    return (
        f"submission {one.submission} was cancelled by {verdict.detail.by}, and is told as stopped"
    )


REFUSAL = "The scheduler refuses it."
"""What a scheduler says in a simulation that refuses for good."""


def refused_by_nobody(_: History, new: Written) -> str | None:
    """S8: a start is recorded as refused for good where the scheduler has said so, and for no other reason."""
    event = new.entry.event
    if not isinstance(event, Settled) or event.outcome is not Outcome.REJECTED:
        return None
    said = event.reason or ""
    return None if said.startswith(REFUSAL) else f"a start is recorded as refused: {said}"


def numbered_a_hold_again(history: History, new: Written) -> str | None:
    """S3: the instances of holds rise, so that a late release lifts none that came after its own."""
    event = new.entry.event
    if not isinstance(event, HoldAsked) or history.set_back:
        return None
    earlier = [one.instance for one in history.events(HoldAsked)[:-1]]
    if event.instance > max(earlier, default=0):
        return None
    return f"hold {event.instance} comes after hold {max(earlier)}"


ON_WRITTEN = (
    (ReleaseAsked, "S3", released_another_hold),
    (Decided, "S4", charged_for_what_nobody_knows),
    (Decided, "S8", took_anothers_stop_for_ours),
    (Intended, "S4", started_before_its_due_time),
    (Decided, "S4", did_another_thing_unmatched),
    (Decided, "S4", braked_wrongly),
    (Decided, "S4", went_on_for_nothing),
    (Observed, "S4", ran_on_an_excluded_node),
    (ReleaseAsked, "S3", released_before_its_time),
    (HoldAsked, "S3", numbered_a_hold_again),
    (Settled, "S8", refused_by_nobody),
)
