"""Small makers of rules, verdicts and decisions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.builders import (
    at,
    ended,
    record,
)
from dispatch.core.recovery import (
    decide,
)
from dispatch.model.answers import Action
from dispatch.model.journal import Decided
from dispatch.model.policy import (
    Policy,
    Rule,
)
from dispatch.model.status import Cause, Detail, State, Verdict
from dispatch.model.view import JobView, ObjectView, Sighting


def failed(cause: Cause = Cause.PREEMPTED, *, proven: bool = True, **detail: Any) -> Verdict:
    return Verdict(state=State.FAILED, cause=cause, detail=Detail(**detail), proven=proven)


def rule(*when: Any, do: Action = Action.RESUBMIT, **fields: Any) -> Rule:
    return Rule(when=when or (Cause.PREEMPTED,), do=do, **fields)


def known(n: int = 1, *, ran_for: float = 600, end: float = 0) -> ObjectView:
    """An object whose end was read at that moment."""
    seen = ended(n, ran_for=ran_for)
    return ObjectView(
        submission=n, attempt="a", ref="r", base=0, seen=seen, ran=seen, ended=Sighting(sent=at(end), boot="b1")
    )  # fmt: skip


def after(view: JobView, *verdicts: Verdict, every: float = 100, ran_for: float = 600) -> JobView:
    """The view once that many executions have ended, each decided about."""
    for verdict in verdicts:
        n = len(view.decisions) + 1
        moment = n * every
        decided = decide(view, known(n, end=moment, ran_for=ran_for), verdict, at(moment))
        view = replace(view, decisions=(*view.decisions, (at(moment), decided)))
    return view


def decided(policy: Policy | None, *verdicts: Verdict, **fields: Any) -> Decided:
    """The decision about the last of these executions."""
    view = after(record(policy=policy), *verdicts, **fields)
    assert view.last_decision is not None
    return view.last_decision
