"""Each further rule sees what breaks it, and lets pass what keeps it. All on planted histories: nothing is run."""

from __future__ import annotations

import msgspec
import pytest

from core.builders import (
    BOUND,
    DECLARED,
    at,
    ended,
    entry,
    intent,
    opening,
    read,
    ref,
    running,
    started,
)
from dispatch.model.answers import Action
from dispatch.model.journal import (
    BoundsGrew,
    Ceased,
    Decided,
    Intended,
    Missed,
    Outcome,
    Proof,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.policy import Budget
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, State, Verdict
from dispatch.sim import rules
from sim.planted import begin, decided, told, write

STOP = StopAsked(by="alice")


def not_landed(verb: Verb, n: int = 1) -> Settled:
    return Settled(
        intent=f"{verb}-{n}", outcome=Outcome.NOT_LANDED, reason="2 reads do not show it"
    )


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


@pytest.mark.parametrize("landed_first", [True, False])
def test_an_open_that_is_recorded_as_landed_and_as_not_landed_has_landed(
    landed_first: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    # A read shows the gate open, of whoever opened it; the call itself comes too late, and did nothing (seed 2215).
    landed = Settled(intent="open-1", outcome=Outcome.LANDED, reason="read back")
    both = (landed, not_landed(Verb.OPEN))
    history = told(*opening(), *(both if landed_first else reversed(both)))
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


def missed(sent: float, boot: str = "b1") -> Missed:
    return Missed(intent="open-1", sent=at(sent), boot=boot)


def test_a_read_before_the_landing_bound_that_is_taken_for_one_after_it_is_seen() -> None:
    history = told(*opening())
    assert rules.read_before_its_bound(history, write(history, missed(BOUND - 1)))
    assert rules.read_before_its_bound(history, write(history, missed(BOUND))) is None
    wider = msgspec.structs.replace(DECLARED, call_bound=Duration(seconds=60))
    write(history, BoundsGrew(declarations=wider))
    assert rules.read_before_its_bound(history, write(history, missed(BOUND)))


def test_a_write_that_one_read_too_few_has_settled_is_seen() -> None:
    history = told(*opening())
    assert rules.settled_by_too_few_reads(history, write(history, not_landed(Verb.OPEN)))
    history = told(*opening(), missed(BOUND, "b0"), missed(BOUND))
    assert rules.settled_by_too_few_reads(history, write(history, not_landed(Verb.OPEN))) is None
    more = BoundsGrew(declarations=msgspec.structs.replace(DECLARED, settling_reads=3))
    history = told(*opening(), more, missed(BOUND, "b0"), missed(BOUND))
    assert rules.settled_by_too_few_reads(history, write(history, not_landed(Verb.OPEN)))
    history = told(*opening(), more, missed(BOUND), missed(BOUND + 1))
    assert rules.settled_by_too_few_reads(history, write(history, not_landed(Verb.OPEN)))
    history = told(*opening(), more, missed(BOUND), missed(BOUND + 25))
    assert rules.settled_by_too_few_reads(history, write(history, not_landed(Verb.OPEN))) is None


def test_a_write_beside_one_of_unknown_outcome_is_seen() -> None:
    hold = Intended(intent=intent(Verb.HOLD, instance=1))
    stop = Intended(intent=intent(Verb.STOP))
    history = told(*opening())
    assert rules.wrote_beside_an_open_write(history, write(history, hold))
    assert rules.wrote_beside_an_open_write(history, write(history, stop))
    history = told(*opening(), not_landed(Verb.OPEN))
    assert rules.wrote_beside_an_open_write(history, write(history, hold)) is None
    history = told(*opening(), STOP)
    assert rules.wrote_beside_an_open_write(history, write(history, stop)) is None
    again = Intended(intent=intent(Verb.STOP, id="stop-again"))
    assert rules.wrote_beside_an_open_write(history, write(history, again))


def test_an_end_that_is_judged_before_no_crash_can_undo_it_is_seen() -> None:
    preempted = decided(Cause.PREEMPTED, Action.HOLD)
    history = told(*started(), read(running()), read(ended(), sent=100))
    early, late = (write(history, preempted, when=when) for when in (120, 130))
    assert rules.judged_within_the_save_window(history, early)
    assert rules.judged_within_the_save_window(history, late) is None
    write(history, read(ended(), sent=110, boot="b2"))
    assert rules.judged_within_the_save_window(history, write(history, preempted, when=130))
    history = told(*started(), read(running()))
    assert rules.judged_within_the_save_window(history, write(history, preempted)) is None


def test_a_proof_that_something_is_gone_which_lives_is_seen() -> None:
    proof = Ceased(submission=1, proof=Proof.CLEANED)
    history = told(*started(), read(running()))
    begun = begin(history)
    assert rules.proved_wrongly(history, write(history, proof))
    assumed = Ceased(submission=1, proof=Proof.ASSUMED_GONE)
    assert rules.proved_wrongly(history, write(history, assumed)) is None
    begun.execution.ended = at(100)
    begun.execution.alive.clear()
    assert rules.proved_wrongly(history, write(history, proof)) is None


def test_what_is_given_up_before_its_evidence_could_come_is_seen() -> None:
    verdict = Verdict(state=State.UNKNOWN, cause=Cause.UNKNOWN, proven=False)
    lost = Decided(submission=1, restarts=0, verdict=verdict, action=Action.HOLD)
    gone = Vanished(submission=1, sent=at(100), boot="b1")
    history = told(*started(), read(running()), gone)
    early, late = (write(history, lost, when=when) for when in (398, 400))
    assert rules.judged_before_evidence_could_come(history, early)
    assert rules.judged_before_evidence_could_come(history, late) is None
    write(history, read(ended(), sent=200))
    assert rules.judged_before_evidence_could_come(history, write(history, lost, when=300)) is None
