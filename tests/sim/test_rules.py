"""Each further rule sees what breaks it, and lets pass what keeps it. All on planted histories: nothing is run."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.builders import at, ended, entry, header, intent, opening, read, ref, running, started
from dispatch.adapters.memory.records import Execution
from dispatch.model.answers import Action
from dispatch.model.epoch import Epoch
from dispatch.model.journal import (
    AnyEvent,
    Decided,
    Intended,
    Outcome,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.policy import Budget, Policy, Rule
from dispatch.model.status import Cause, State, Verdict
from dispatch.sim import rules
from dispatch.sim.history import Begun, History, Written

HOLDS = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.HOLD),))
STOP = StopAsked(by="alice")


def told(*events: AnyEvent) -> History:
    """A history of these events, after a header."""
    history = History(header().id, "j1", timedelta(seconds=1))
    write(history, header(HOLDS), *events)
    return history


def write(history: History, *events: AnyEvent) -> Written:
    """Add events; the last of them."""
    added = [history.write(entry(history.length + 1, event), at(0)) for event in events]
    return added[-1]


def begin(history: History, n: int = 1) -> Begun:
    """Add an execution of submission n."""
    execution = Execution(
        serial=len(history.begun) + 1, object=n, job=header().id, epoch=Epoch(n, 0), attempt="a",
        nodes=("n1",), alive={"n1"}, started=at(0),
    )  # fmt: skip
    return history.begin(ref(n), execution, at(0))


def not_landed(verb: Verb, n: int = 1) -> Settled:
    return Settled(
        intent=f"{verb}-{n}", outcome=Outcome.NOT_LANDED, reason="2 reads do not show it"
    )


def decided(cause: Cause, action: Action, budget: Budget | None = None) -> Decided:
    verdict = Verdict(state=State.FAILED, cause=cause)
    return Decided(submission=1, restarts=0, verdict=verdict, action=action, rule=0, budget=budget)


def test_a_start_that_lands_though_it_is_recorded_as_not_landed_is_seen() -> None:
    history = told(Intended(intent=intent(Verb.START)))
    assert rules.made_though_not_landed(history, "try-1") is None
    write(history, not_landed(Verb.START))
    assert rules.made_though_not_landed(history, "try-1")
    assert rules.made_though_not_landed(history, "try-2") is None


def test_what_runs_though_each_open_of_it_is_recorded_as_not_landed_is_seen() -> None:
    history = told(*opening(), not_landed(Verb.OPEN))
    assert rules.began_though_not_opened(history, begin(history))
    again = Intended(intent=intent(Verb.OPEN, id="open-again"))
    write(history, again)
    assert rules.began_though_not_opened(history, begin(history)) is None


def test_an_open_is_not_recorded_as_not_landed_once_its_object_has_run() -> None:
    history = told(*opening())
    begin(history)
    assert rules.is_wrong_about_an_open(history, write(history, not_landed(Verb.OPEN)))
    history = told(*opening())
    assert rules.is_wrong_about_an_open(history, write(history, not_landed(Verb.OPEN))) is None


def test_what_has_run_is_not_opened_again() -> None:
    history = told(*opening())
    again = Intended(intent=intent(Verb.OPEN, id="open-again"))
    assert rules.opened_again(history, write(history, again)) is None
    begin(history)
    assert rules.opened_again(history, write(history, again))
    history.opened_by_hand.add(ref(1))
    assert rules.opened_again(history, write(history, again)) is None


def test_a_rule_that_holds_runs_nothing_again() -> None:
    history = told(*started())
    wrong = decided(Cause.PREEMPTED, Action.RESUBMIT, Budget.INFRASTRUCTURE)
    assert rules.did_another_thing(history, write(history, wrong))
    right = decided(Cause.PREEMPTED, Action.HOLD, Budget.INFRASTRUCTURE)
    assert rules.did_another_thing(history, write(history, right)) is None


@pytest.mark.parametrize("cause", [Cause.FENCED, Cause.FORGOTTEN])
def test_a_fault_of_the_controller_is_charged_to_nobody_and_ends_no_job(cause: Cause) -> None:
    history = told(*started())
    charged = decided(cause, Action.RESUBMIT, Budget.INFRASTRUCTURE)
    assert rules.charged_for_nothing(history, write(history, charged))
    failed = decided(cause, Action.FAIL)
    assert rules.charged_for_nothing(history, write(history, failed))
    assert (
        rules.charged_for_nothing(history, write(history, decided(cause, Action.RESUBMIT))) is None
    )
    write(history, STOP)
    assert rules.charged_for_nothing(history, write(history, failed)) is None


def test_who_has_read_a_success_lets_nothing_run_any_more() -> None:
    history = told(*opening())
    again = Intended(intent=intent(Verb.START, 2))
    assert rules.went_on_after_a_success(history, write(history, again)) is None
    history.successes[entry(1, again).actor.host] = ref(1)
    assert rules.went_on_after_a_success(history, write(history, again))
    write(history, *opening(2))
    later = Intended(intent=intent(Verb.START, 3))
    assert rules.went_on_after_a_success(history, write(history, later)) is None


def test_a_stop_that_waits_for_an_open_is_seen() -> None:
    settled = Settled(intent="open-1", outcome=Outcome.LANDED, reason="read back")
    history = told(*opening(), STOP)
    assert rules.waited_with_a_stop(history, write(history, settled))
    history = told(*opening(), STOP, Intended(intent=intent(Verb.STOP)))
    assert rules.waited_with_a_stop(history, write(history, settled)) is None
    history = told(*opening(), STOP, read(running()), read(ended()))
    assert rules.waited_with_a_stop(history, write(history, settled)) is None
