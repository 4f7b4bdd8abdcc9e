"""Planted histories: what rules are shown, of which nothing was run."""

from __future__ import annotations

from datetime import timedelta

from core.builders import at, entry, header, ref
from dispatch.adapters.memory.records import Execution
from dispatch.model.answers import Action
from dispatch.model.epoch import Epoch
from dispatch.model.journal import AnyEvent, Decided
from dispatch.model.policy import Budget, Policy, Rule
from dispatch.model.status import Cause, State, Verdict
from dispatch.sim.history import Begun, History, Written

HOLDS = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.HOLD),))


def told(*events: AnyEvent, policy: Policy = HOLDS) -> History:
    """A history of these events, after a header."""
    history = History(header().id, "j1", timedelta(seconds=1))
    write(history, header(policy), *events)
    return history


def write(history: History, *events: AnyEvent, when: float = 0) -> Written:
    """Add events; the last of them."""
    added = [history.write(entry(history.length + 1, event), at(when)) for event in events]
    return added[-1]


def begin(history: History, n: int = 1) -> Begun:
    """Add an execution of submission n."""
    execution = Execution(
        serial=len(history.begun) + 1, object=n, job=header().id, epoch=Epoch(n, 0), attempt="a",
        nodes=("n1",), alive={"n1"}, started=at(0),
    )  # fmt: skip
    return history.begin(ref(n), execution, at(0))


def decided(cause: Cause, action: Action, budget: Budget | None = None) -> Decided:
    verdict = Verdict(state=State.FAILED, cause=cause)
    return Decided(submission=1, restarts=0, verdict=verdict, action=action, rule=0, budget=budget)
