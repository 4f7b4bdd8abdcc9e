"""What must hold at the end of a tale, by the ground truth of the cluster and by the record."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

from crash.story import End, Tale
from dispatch.adapters.memory import ExecutionTruth
from dispatch.model.answers import Action
from dispatch.model.journal import (
    Accepted,
    Decided,
    Ended,
    Entry,
    HoldAsked,
    Intended,
    ReleaseAsked,
    StopAsked,
    Verb,
)
from dispatch.model.status import Cause
from dispatch.model.view import JobView
from dispatch.spi.store import Query

FAULTS_OF_THE_CLUSTER = (Cause.FORGOTTEN, Cause.FENCED)


def broken(tale: Tale) -> Iterator[str]:
    """Name everything that does not hold."""
    if len(tale.jobs) != len(tale.story.ends):
        yield "the submission was never acknowledged"
        return
    listed = [job.key for job in tale.site.store.list(Query())]
    for key in tale.keys:
        if (count := listed.count(key)) != 1:
            yield f"there are {count} jobs of the key {key}"
    if overlaps := tale.site.env.overlaps():
        yield f"S1: {len(overlaps)} overlaps, {overlaps[0]}"
    if not tale.over:
        yield f"lost: after {tale.rounds} rounds {tale.done} of {len(tale.story.acts)} acts were played"
    before = executions(tale)
    for job, end in zip(tale.jobs, tale.story.ends, strict=True):
        entries = tale.site.history(job)
        ran = executions(tale, job)
        yield from _safety(entries, ran)
        yield from _budgets(entries, end)
        yield from _people(entries, ran)
        yield from _end(tale.site.view(job), end, ran)
    yield from _aftermath(tale, before)


def executions(tale: Tale, job: str | None = None) -> list[ExecutionTruth]:
    """All executions that ever were, of a job or of all, in the order of their starts."""
    ran = [one for truth in tale.site.env.truths(job) for one in truth.executions]
    return sorted(ran, key=lambda one: one.serial)


def _safety(entries: tuple[Entry, ...], ran: list[ExecutionTruth]) -> Iterator[str]:
    for one in ran:
        if not any(
            isinstance(entry.event, Intended)
            and entry.event.intent.verb is Verb.OPEN
            and entry.event.intent.ref == one.ref
            and entry.at <= one.started
            for entry in entries
        ):
            yield f"S2: {one.ref} ran, and no open of it was recorded before"
    epochs = [one.epoch for one in ran]
    if any(after <= before for before, after in pairwise(epochs)):
        yield f"S5: the epochs are {epochs}"
    if sum(isinstance(entry.event, Ended) for entry in entries) > 1:
        yield "S6: there is more than one final verdict"


def _budgets(entries: tuple[Entry, ...], end: End) -> Iterator[str]:
    decided = [entry.event for entry in entries if isinstance(entry.event, Decided)]
    if len({(one.submission, one.restarts) for one in decided}) != len(decided):
        yield "S4: one execution is decided about twice"
    charged = sum(one.budget is not None and one.action is not Action.FAIL for one in decided)
    if charged != end.charges:
        yield f"S4: charged {charged} times, not {end.charges}"
    for one in decided:
        for entry in entries:
            event = entry.event
            if (
                one.due is not None
                and isinstance(event, Intended)
                and event.intent.verb is Verb.START
                and event.intent.submission > one.submission
                and entry.at < one.due
            ):
                yield f"S4: a backoff until {one.due} was cut short at {entry.at}"
    if false := [
        one.verdict.cause for one in decided if one.verdict.cause in FAULTS_OF_THE_CLUSTER
    ]:
        yield f"S8: {false[0]}, although the controller forgot nothing"
    tried = sum(one.action is Action.RESUBMIT for one in decided)
    policy = entries[0].event.job.policy if isinstance(entries[0].event, Accepted) else None
    limit = policy.rules[0].limit if policy else None
    if limit is not None and tried > limit:
        yield f"S4: tried again {tried} times, with a limit of {limit}"


def _people(entries: tuple[Entry, ...], ran: list[ExecutionTruth]) -> Iterator[str]:
    stopped = next((entry for entry in entries if isinstance(entry.event, StopAsked)), None)
    ended = next((entry for entry in entries if isinstance(entry.event, Ended)), None)
    for entry in entries:
        if (
            stopped is not None
            and entry.version > stopped.version
            and isinstance(entry.event, Intended)
            and entry.event.intent.verb in (Verb.START, Verb.OPEN, Verb.RELEASE)
        ):
            yield f"S9: {entry.event.intent.verb} was intended after the stop"
    if ended is not None and any(one.started > ended.at for one in ran):
        yield "S9: something started after the end"
    for entry in entries:
        if isinstance(entry.event, HoldAsked):
            release = next(
                (later.at for later in entries if isinstance(later.event, ReleaseAsked)), None
            )
            if any(
                entry.at < one.started and (release is None or one.started < release) for one in ran
            ):
                yield "S3: something started while the job was held"


def _end(view: JobView, end: End, ran: list[ExecutionTruth]) -> Iterator[str]:
    verdict = view.verdict
    if verdict is not None and (verdict.state, verdict.cause) != (end.state, end.cause):
        yield f"S8: it ended as {verdict.state}, {verdict.cause}"
    if verdict is not None and len(ran) != end.executions:
        yield f"{len(ran)} executions, not {end.executions}"


def _aftermath(tale: Tale, before: list[ExecutionTruth]) -> Iterator[str]:
    """What an hour after the end brings; of a story that never ended this says nothing."""
    if not tale.over:
        return
    tale.site.clock.advance(timedelta(hours=1))
    tale.site.env.run_all()
    if len(executions(tale)) != len(before):
        yield "S9: something started an hour after the end"
    for truth in tale.site.env.truths():
        if truth.observation is not None and not truth.observation.state.ended:
            yield f"an orphan is left: {truth.ref} is {truth.observation.state}"
