"""Mutants of planning, recovery, people's requests and turns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from dispatch.core import recovery
from dispatch.core.situation import Situation
from dispatch.core.starting import begin
from dispatch.model.answers import Action
from dispatch.model.journal import Decided, Verb
from dispatch.model.plan import Plan
from dispatch.model.quantity import Duration
from dispatch.model.steps import Call, Step
from dispatch.model.view import JobView, Phase
from dispatch.sim import climates
from dispatch.sim.mutants.mutant import Mutant, Swap, constant, instead

_charged, _uses = recovery._charged, recovery._uses  # noqa: SLF001 - what is broken


def _all_but_the_last(view: JobView) -> Iterator[tuple[datetime, Decided]]:
    return iter(list(_charged(view))[:-1])


def _one_less(view: JobView, index: int, since: datetime | None) -> int:
    return max(_uses(view, index, since) - 1, 0)


def _begin_at_once(s: Situation) -> Step | None:
    known = s.view.current
    if known is not None and known.phase is not Phase.CEASED:
        return None
    if s.view.stop is not None:
        return begin(s)
    return Call(verb=Verb.START, submission=s.view.next_submission, row="start")


MUTANTS = (
    Mutant(
        "another action than the rule's", "plan",
        "The plan says what is done by each rule: what holds does not run again.",
        (Swap(Plan, "action", constant(Action.RESUBMIT)),), 80, climates.PREEMPTING,
    ),
    Mutant(
        "budget off by one", "B1",
        "A budget is what was promised, to the last execution.",
        (Swap(recovery, "_charged", _all_but_the_last),), 30, climates.PREEMPTING,
    ),
    Mutant(
        "a rule's limit off by one", "B1",
        "A limit is what was promised, to the last execution.",
        (Swap(recovery, "_uses", _one_less),), 30, climates.PREEMPTING,
    ),
    Mutant(
        "no backoff", "B1",
        "A due time counts from the recorded end.",
        (Swap(recovery, "backoff", constant(Duration())),), 30, climates.PREEMPTING,
    ),
    Mutant(
        "the due time is not awaited", "B1",
        "Never early.",
        (instead(begin, _begin_at_once),), 30, climates.PREEMPTING,
    ),
    Mutant(
        "faults of the controller are charged", "B1",
        "What the controller forgot is charged to nobody.",
        (Swap(recovery, "FREE_CAUSES", frozenset[Any]()),), 30, climates.FORGETFUL,
    ),
)  # fmt: skip
