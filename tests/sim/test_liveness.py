"""When a job is at rest: it has ended, or waits for a named person and nothing of it can run meanwhile."""

from __future__ import annotations

import pytest

from core.builders import (
    at,
    ended,
    held,
    intent,
    judged,
    opened,
    queued,
    ran,
    read,
    record,
    started,
)
from dispatch.model.answers import Action
from dispatch.model.journal import AnyEvent, Ended, HoldAsked, Intended, StopAsked, Verb
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import Cause, State, Verdict
from dispatch.sim.liveness import is_at_rest

HOLD = HoldAsked(instance=1, by="alice")
A_WHILE = HoldAsked(instance=1, by="alice", until=at(600))


@pytest.mark.parametrize(
    ("events", "rests"),
    [
        ((), False),
        (opened(), False),
        ((*opened(), Ended(verdict=Verdict(state=State.SUCCEEDED))), True),
        ((HOLD,), True),
        ((*opened(), HOLD, read(held())), True),
        ((*opened(), HOLD, read(queued())), False),  # it can still run
        ((*opened(), HOLD, read(held(instance=0))), False),
        ((*opened(), A_WHILE, read(held())), False),
        ((*opened(), HOLD, read(held()), StopAsked(by="alice")), False),
        ((*started(), HOLD), False),
        ((*opened(), HOLD, read(held()), Intended(intent=intent(Verb.STOP))), False),
    ],
)
def test_a_job_rests_or_does_not(events: tuple[AnyEvent, ...], rests: bool) -> None:  # noqa: FBT001
    assert is_at_rest(record(*events)) is rests


def test_a_job_that_is_held_between_two_executions_rests() -> None:
    policy = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.HOLD),))
    view = judged(record(*ran(), policy=policy), ended())
    assert view.verdict is None
    assert is_at_rest(view)
