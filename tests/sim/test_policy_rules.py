"""Each rule on policies and requests sees what breaks it, and lets pass what keeps it. All on planted histories."""

from __future__ import annotations

import msgspec

from core.builders import at, cancelled, intent, read, running, started
from dispatch.model.answers import Action
from dispatch.model.journal import (
    Decided,
    HoldAsked,
    Intended,
    Outcome,
    ReleaseAsked,
    Settled,
    Verb,
)
from dispatch.model.policy import Budget, CrashLoop, Policy, Rule, Unmatched
from dispatch.model.quantity import Duration
from dispatch.model.status import By, Cause, State, Verdict
from dispatch.sim import policy_rules
from sim.planted import begin, decided, told, write


def test_a_hold_that_ends_by_itself_before_its_time_is_seen() -> None:
    history = told(HoldAsked(instance=1, by="alice", until=at(60)))
    ends = ReleaseAsked(instance=1, by="until then")
    assert policy_rules.released_before_its_time(history, write(history, ends, when=50))
    assert policy_rules.released_before_its_time(history, write(history, ends, when=60)) is None
    asked = ReleaseAsked(instance=1, by="alice")
    assert policy_rules.released_before_its_time(history, write(history, asked, when=50)) is None


def test_a_start_before_its_due_time_is_seen_to_the_moment() -> None:
    verdict = Verdict(state=State.FAILED, cause=Cause.PREEMPTED)
    again = Decided(
        submission=1, restarts=0, verdict=verdict, action=Action.RESUBMIT, rule=0, due=at(60)
    )
    history = told(again)
    start = Intended(intent=intent(Verb.START, 2))
    assert policy_rules.started_before_its_due_time(history, write(history, start, when=59.5))
    assert policy_rules.started_before_its_due_time(history, write(history, start, when=60)) is None


def test_what_no_rule_matches_is_done_with_as_the_policy_says() -> None:
    verdict = Verdict(state=State.FAILED, cause=Cause.TIMEOUT)

    def unmatched(action: Action) -> Decided:
        return Decided(submission=1, restarts=0, verdict=verdict, action=action)

    history = told(*started(), policy=Policy(unmatched=Unmatched.HOLD))
    failed, held = (unmatched(Action.FAIL), unmatched(Action.HOLD))
    assert policy_rules.did_another_thing_unmatched(history, write(history, failed))
    assert policy_rules.did_another_thing_unmatched(history, write(history, held)) is None
    history = told(*started(), policy=Policy(unmatched=Unmatched.FAIL))
    assert policy_rules.did_another_thing_unmatched(history, write(history, held))
    assert policy_rules.did_another_thing_unmatched(history, write(history, failed)) is None


def test_a_brake_that_is_put_on_too_late_or_too_soon_is_seen() -> None:
    brake = CrashLoop(executions=2, shorter_than=Duration(seconds=60))
    verdict = Verdict(state=State.FAILED, cause=Cause.PREEMPTED)

    def after(seconds: int, action: Action, why: str = "") -> Decided:
        ran_for = Duration(seconds=seconds)
        return Decided(
            submission=1,
            restarts=0,
            verdict=verdict,
            action=action,
            rule=0,
            ran_for=ran_for,
            why=why,
        )

    policy = Policy(crash_loop=brake)
    history = told(*started(), policy=policy)
    soon = after(10, Action.HOLD, "crashLoop: short")
    assert policy_rules.braked_wrongly(history, write(history, soon))
    assert policy_rules.braked_wrongly(history, write(history, soon)) is None
    assert policy_rules.braked_wrongly(history, write(history, after(10, Action.RESUBMIT)))
    assert policy_rules.braked_wrongly(history, write(history, after(100, Action.RESUBMIT))) is None
    assert policy_rules.braked_wrongly(history, write(history, after(10, Action.RESUBMIT))) is None


def test_free_tries_end_after_many_in_a_row_and_not_before() -> None:
    free, held = (decided(Cause.FORGOTTEN, do) for do in (Action.RESUBMIT, Action.HOLD))
    history = told(*started())
    assert policy_rules.went_on_for_nothing(history, write(history, free)) is None
    assert policy_rules.went_on_for_nothing(history, write(history, held))
    for _ in range(policy_rules.MOST_FREE_RETRIES):
        assert policy_rules.went_on_for_nothing(history, write(history, free)) is None
    assert policy_rules.went_on_for_nothing(history, write(history, free))
    assert policy_rules.went_on_for_nothing(history, write(history, held)) is None


def test_what_runs_on_a_node_from_which_it_was_kept_off_is_seen() -> None:
    verdict = Verdict(state=State.FAILED, cause=Cause.NODE_LOST)

    def keeping_off(until: float) -> Decided:
        return Decided(
            submission=1, restarts=0, verdict=verdict, action=Action.RESUBMIT, rule=0,
            exclude=("n1",), exclude_until=at(until),
        )  # fmt: skip

    for until, breaks in ((60, True), (0, False)):
        history = told(keeping_off(until), *started(2))
        begin(history, 2)
        seen = write(history, read(running(2)))
        assert (policy_rules.ran_on_an_excluded_node(history, seen) is not None) is breaks
    history = told(*started(2), keeping_off(60))
    begin(history, 2)
    assert policy_rules.ran_on_an_excluded_node(history, write(history, read(running(2)))) is None


def test_a_start_that_is_recorded_as_refused_though_nobody_refused_it_is_seen() -> None:
    def refused(reason: str) -> Settled:
        return Settled(intent="start-1", outcome=Outcome.REJECTED, reason=reason)

    history = told(Intended(intent=intent(Verb.START)))
    assert policy_rules.refused_by_nobody(
        history, write(history, refused("Its deadline has passed."))
    )
    assert (
        policy_rules.refused_by_nobody(history, write(history, refused(policy_rules.REFUSAL)))
        is None
    )


def test_a_hold_that_has_the_number_of_an_earlier_one_is_seen() -> None:
    history = told(HoldAsked(instance=1, by="alice"))
    again = HoldAsked(instance=1, by="bob")
    assert policy_rules.numbered_a_hold_again(history, write(history, again))
    assert (
        policy_rules.numbered_a_hold_again(history, write(history, HoldAsked(instance=2, by="bob")))
        is None
    )


def test_an_end_that_nothing_proves_and_that_is_charged_is_seen() -> None:
    def unknown(budget: Budget | None, *, proven: bool = False) -> Decided:
        verdict = Verdict(state=State.FAILED, cause=Cause.UNKNOWN, proven=proven)
        return Decided(
            submission=1, restarts=0, verdict=verdict, action=Action.RESUBMIT, rule=0, budget=budget
        )

    rule = Rule(when=(Cause.UNKNOWN,), do=Action.RESUBMIT)
    history = told(*started(), policy=Policy(rules=(rule,)))
    charged = unknown(Budget.INFRASTRUCTURE)
    assert policy_rules.charged_for_what_nobody_knows(history, write(history, charged))
    for one in (unknown(None), unknown(Budget.INFRASTRUCTURE, proven=True)):
        assert policy_rules.charged_for_what_nobody_knows(history, write(history, one)) is None
    says = msgspec.structs.replace(rule, budget=Budget.INFRASTRUCTURE)
    history = told(*started(), policy=Policy(rules=(says,)))
    assert policy_rules.charged_for_what_nobody_knows(history, write(history, charged)) is None


def test_another_persons_stop_that_is_told_as_ours_is_seen() -> None:
    stopped = decided(Cause.STOPPED, Action.FAIL)
    for by, breaks in ((By.ADMINISTRATOR, True), (By.OTHER, True), (By.OWNER, False)):
        history = told(*started(), read(cancelled(by=by)))
        found = policy_rules.took_anothers_stop_for_ours(history, write(history, stopped))
        assert (found is not None) is breaks


def test_a_release_of_another_hold_than_the_one_that_stands_is_seen() -> None:
    history = told(HoldAsked(instance=1, by="alice"), HoldAsked(instance=2, by="alice"))
    for instance, breaks in ((1, True), (2, False)):
        release = write(history, ReleaseAsked(instance=instance, by="alice"))
        assert (policy_rules.released_another_hold(history, release) is not None) is breaks
