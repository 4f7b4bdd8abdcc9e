"""The policy: matching, actions, budgets, backoff and brakes (11; B1 of the hard cases; S4)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.builders import (
    JOB,
    at,
    calls,
    ceased,
    ended,
    gated,
    judged,
    planned,
    ran,
    record,
    s,
    settled_step,
    started,
    step,
    tell,
)
from core.policies import decided, failed, known, rule
from dispatch.core.recovery import FREE_BACKOFF, FREE_CAUSES, MOST_FREE_RETRIES, backoff, decide
from dispatch.model.answers import Action
from dispatch.model.epoch import Epoch
from dispatch.model.journal import Decided, HoldAsked, Verb
from dispatch.model.policy import (
    ENDING_CAUSES,
    PROGRAM_CAUSES,
    Backoff,
    Budget,
    Changes,
    CrashLoop,
    ExcludeNodes,
    Limits,
    Policy,
    Trigger,
    Unmatched,
)
from dispatch.model.status import By, Cause

# --- matching


def test_a_job_without_a_policy_ends_with_its_cause() -> None:
    found = decided(None, failed())
    assert (found.action, found.budget, found.due) == (Action.FAIL, None, None)
    assert found.verdict.cause is Cause.PREEMPTED
    assert "no rule matches" in found.why


def test_the_first_rule_that_matches_wins() -> None:
    policy = Policy(rules=(rule(Cause.TIMEOUT), rule(limit=5), rule(do=Action.HOLD)))
    found = decided(policy, failed())
    assert (found.rule, found.action, found.why) == (1, Action.RESUBMIT, "rule 2")


@pytest.mark.parametrize(
    ("when", "detail", "found_rule"),
    [
        ({"exit_code": (134, 75)}, {"exit_code": 75}, 0),
        ({"exit_code": (134,)}, {"exit_code": 75}, None),
        ({"exit_code": (134,)}, {}, None),
        ({"signal": ("ABRT",)}, {"signal": "ABRT"}, 0),
        ({"signal": ("ABRT",)}, {"signal": "TERM"}, None),
        ({"by": By.ADMINISTRATOR}, {"by": By.ADMINISTRATOR}, 0),
        ({"by": By.ADMINISTRATOR}, {"by": By.OWNER}, None),
        ({"suspected": Cause.OUT_OF_MEMORY}, {"suspected": Cause.OUT_OF_MEMORY}, 0),
        ({"suspected": Cause.OUT_OF_MEMORY}, {}, None),
        ({}, {"exit_code": 1, "suspected": Cause.OUT_OF_MEMORY}, 0),
        ({"exit_code": (1,), "signal": ("ABRT",)}, {"exit_code": 1}, None),
    ],
)
def test_a_trigger_matches_only_what_it_names(
    when: dict[str, Any], detail: dict[str, Any], found_rule: int | None
) -> None:
    trigger = Trigger(cause=Cause.NON_ZERO_EXIT, **when)
    found = decided(Policy(rules=(rule(trigger),)), failed(Cause.NON_ZERO_EXIT, **detail))
    assert found.rule == found_rule


def test_a_trigger_does_not_match_another_cause() -> None:
    found = decided(Policy(rules=(rule(Trigger(cause=Cause.TIMEOUT)),)), failed())
    assert found.rule is None


def test_a_suspicion_is_no_cause() -> None:
    policy = Policy(rules=(rule(Cause.OUT_OF_MEMORY),))
    assert decided(policy, failed(Cause.SIGNALLED, suspected=Cause.OUT_OF_MEMORY)).rule is None


def test_the_action_is_the_one_that_was_planned() -> None:
    policy = Policy(rules=(rule(do=Action.RESTART, or_else=Action.RESUBMIT),))
    view = planned(record(policy=policy), Action.RESUBMIT)
    assert decide(view, known(), failed(), at(0)).action is Action.RESUBMIT


# --- what is not matched


def test_an_unmatched_cause_may_hold_the_job_for_a_person() -> None:
    policy = Policy(unmatched=Unmatched.HOLD)
    view = judged(record(*ran(), policy=policy), ended())
    assert view.verdict is None
    assert view.hold is not None
    assert view.hold.by.startswith("policy: no rule matches")
    assert view.hold.why == "Preempted"
    (_, found) = view.decisions[-1]
    assert (found.action, found.due, found.budget) == (Action.HOLD, None, None)


# --- the rule hold


def test_the_rule_hold_starts_the_next_object_and_holds_it_before_its_open() -> None:
    policy = Policy(rules=(rule(do=Action.HOLD),))
    view = ceased(record(*ran(), policy=policy), ended())
    assert view.hold is not None
    made = step(view, ended(), sent=900)
    assert calls(made) == (Verb.START, 2)
    _, made = settled_step(tell(view, *started(2)), ended(), gated(2), sent=901)
    assert calls(made) == (Verb.HOLD, 2)


def test_a_hold_of_the_policy_has_no_backoff_but_the_one_it_asks_for() -> None:
    assert decided(Policy(rules=(rule(do=Action.HOLD),)), failed()).due == at(100)
    slow = Backoff(initial=s("60s"), jitter=0)
    held_later = decided(Policy(rules=(rule(do=Action.HOLD, backoff=slow),)), failed())
    assert held_later.due == at(160)


@pytest.mark.parametrize(("until", "instance"), [(None, 1), (99999.0, 2)])
def test_a_hold_that_ends_by_itself_does_not_do_for_the_policys(
    until: float | None, instance: int
) -> None:
    moment = None if until is None else at(until)
    view = record(*ran(), HoldAsked(instance=1, by="alice", until=moment), policy=Policy(rules=(rule(do=Action.HOLD),)))  # fmt: skip
    view = judged(view, ended())
    assert view.hold is not None
    assert (view.hold.instance, view.hold.until) == (instance, None)


# --- budgets


def test_a_rule_is_passed_over_once_its_limit_is_used_up() -> None:
    policy = Policy(rules=(rule(limit=2), rule(do=Action.HOLD)))
    assert [decided(policy, *[failed()] * n).rule for n in (1, 2, 3, 4)] == [0, 0, 1, 1]


def test_a_rule_with_limit_zero_never_applies() -> None:
    assert decided(Policy(rules=(rule(limit=0),)), failed()).rule is None


def test_a_limit_within_a_window_counts_only_what_lies_in_it() -> None:
    policy = Policy(rules=(rule(limit=2, within=s("250s")),))
    assert decided(policy, *[failed()] * 3, every=100).rule is None
    assert decided(policy, *[failed()] * 3, every=126).rule == 0
    assert decided(policy, *[failed()] * 3, every=125).rule == 0  # one exactly at its edge is out


def test_the_total_budget_counts_every_charged_execution() -> None:
    policy = Policy(rules=(rule(), rule(Cause.TIMEOUT)), limits=Limits(total=2))
    assert decided(policy, failed(), failed(Cause.TIMEOUT)).action is Action.RESUBMIT
    found = decided(policy, failed(), failed(Cause.TIMEOUT), failed())
    assert (found.action, found.rule, found.budget, found.due) == (Action.FAIL, None, None, None)
    assert found.why == "limits.total of 2 is used up"


@pytest.mark.parametrize(
    ("budget", "mine", "other"),
    [
        (Budget.INFRASTRUCTURE, Cause.PREEMPTED, Cause.TIMEOUT),
        (Budget.PROGRAM, Cause.TIMEOUT, Cause.PREEMPTED),
    ],
)
def test_each_budget_counts_its_own(budget: Budget, mine: Cause, other: Cause) -> None:
    policy = Policy(
        rules=(rule(Cause.PREEMPTED, Cause.TIMEOUT),), limits=Limits(**{str(budget): 2})
    )
    assert decided(policy, failed(mine), failed(other), failed(mine)).rule == 0
    found = decided(policy, failed(mine), failed(mine), failed(mine))
    assert found.why == f"limits.{budget} of 2 is used up"
    assert decided(policy, failed(mine), failed(mine), failed(other)).rule == 0


def test_a_rule_may_name_the_budget_it_charges() -> None:
    policy = Policy(
        rules=(rule(Cause.NON_ZERO_EXIT, budget=Budget.INFRASTRUCTURE),), limits=Limits(program=0)
    )
    found = decided(policy, failed(Cause.NON_ZERO_EXIT))
    assert (found.rule, found.budget) == (0, Budget.INFRASTRUCTURE)


def test_used_up_budgets_hold_where_the_policy_says_so() -> None:
    policy = Policy(rules=(rule(),), limits=Limits(total=0), unmatched=Unmatched.HOLD)
    found = decided(policy, failed())
    assert (found.action, found.rule) == (Action.HOLD, None)


def test_a_rule_that_fails_fails_whatever_the_budgets() -> None:
    policy = Policy(
        rules=(rule(Cause.TIMEOUT, do=Action.FAIL, with_=Changes(qos="x")), rule()),
        limits=Limits(total=0),
        unmatched=Unmatched.HOLD,
        crash_loop=CrashLoop(executions=2, shorter_than=s("1h")),
    )
    found = decided(policy, failed(), failed(Cause.TIMEOUT))
    assert (found.action, found.rule, found.due) == (Action.FAIL, 0, None)
    assert (found.budget, found.changes) == (None, None)


@pytest.mark.parametrize("cause", sorted(ENDING_CAUSES))
def test_program_and_infrastructure_are_told_apart(cause: Cause) -> None:
    found = decided(Policy(rules=(rule(cause),)), failed(cause))
    expected = Budget.PROGRAM if cause in PROGRAM_CAUSES else Budget.INFRASTRUCTURE
    assert found.budget is expected


def test_what_nobody_knows_is_charged_to_nobody() -> None:
    policy = Policy(rules=(rule(Cause.UNKNOWN),), limits=Limits(total=1))
    assert decided(policy, *[failed(Cause.UNKNOWN, proven=False)] * 5).rule == 0
    assert decided(policy, *[failed(Cause.UNKNOWN)] * 2).rule is None


def test_an_execution_is_decided_about_by_its_epoch() -> None:
    seen = ended(restarts=3)
    object_ = replace(known(2), seen=seen)
    found = decide(record(), object_, failed(), at(0))
    assert Epoch(found.submission, found.restarts) == Epoch(2, 3)


# --- faults of ours


@pytest.mark.parametrize("cause", sorted(FREE_CAUSES))
def test_a_fault_of_ours_goes_on_without_a_policy_and_without_a_charge(cause: Cause) -> None:
    found = decided(None, failed(cause))
    assert (found.action, found.budget, found.rule) == (Action.RESUBMIT, None, None)
    assert found.due is not None
    assert at(105) <= found.due <= at(106)
    assert "charged to nobody" in found.why


def test_faults_of_ours_use_up_no_budget_and_no_rule() -> None:
    policy = Policy(rules=(rule(limit=1),), limits=Limits(total=1))
    assert decided(policy, *[failed(Cause.FORGOTTEN)] * 5, failed()).rule == 0


def test_too_many_faults_of_ours_in_a_row_ask_for_a_person() -> None:
    view = replace(record(), lost_starts=MOST_FREE_RETRIES - 1)
    assert decide(view, known(), failed(Cause.FORGOTTEN), at(0)).action is Action.RESUBMIT
    view = replace(record(), lost_starts=MOST_FREE_RETRIES)
    found = decide(view, known(), failed(Cause.FORGOTTEN), at(0))
    assert (found.action, found.due) == (Action.HOLD, at(0))
    assert found.why.startswith("11 executions in a row")


def test_an_end_that_nobody_knows_is_not_tried_again_for_ever_at_nobodys_charge() -> None:
    policy = Policy(rules=(rule(Cause.UNKNOWN),))
    lost = failed(Cause.UNKNOWN, proven=False)
    view = replace(record(policy=policy), lost_starts=MOST_FREE_RETRIES - 1)
    assert decide(view, known(), lost, at(0)).action is Action.RESUBMIT
    view = replace(record(policy=policy), lost_starts=MOST_FREE_RETRIES)
    assert decide(view, known(), lost, at(0)).action is Action.HOLD


def test_faults_of_ours_are_counted_in_a_row_and_back_off() -> None:
    def event(cause: Cause, budget: Budget | None) -> Decided:
        verdict = failed(cause)
        return Decided(
            submission=1, restarts=0, verdict=verdict, action=Action.RESUBMIT, budget=budget
        )

    view = record(*ran())
    for cause, budget, count in (
        (Cause.FENCED, None, 1),
        (Cause.UNKNOWN, None, 1),
        (Cause.PREEMPTED, Budget.INFRASTRUCTURE, 0),
    ):
        assert tell(view, event(cause, budget)).lost_starts == count
    waits_ = [
        decide(replace(record(), lost_starts=n), known(), failed(Cause.FENCED), at(0)).due
        for n in (0, 1, 9)
    ]
    assert waits_ == sorted(waits_, key=str)
    assert waits_[1] is not None
    assert waits_[1] >= at(10)


def test_what_no_rule_matches_is_told_by_the_budget_that_is_used_up_too() -> None:
    policy = Policy(limits=Limits(infrastructure=0))
    assert decided(policy, failed()).why == "limits.infrastructure of 0 is used up"
    assert "no rule matches" in decided(policy, failed(Cause.TIMEOUT)).why


def test_used_up_budgets_leave_nothing_of_the_rule_behind() -> None:
    policy = Policy(
        rules=(rule(Cause.NODE_LOST, with_=Changes(qos="x"), exclude_nodes=ExcludeNodes()),),
        limits=Limits(total=0),
    )
    found = decided(policy, failed(Cause.NODE_LOST, nodes=("n1",)))
    assert (found.changes, found.exclude, found.exclude_until) == (None, (), None)


def test_a_fault_of_ours_waits_its_own_backoff() -> None:
    view = replace(record(), lost_starts=3)
    object_ = replace(known(2), seen=ended(2, restarts=4))
    found = decide(view, object_, failed(Cause.FENCED), at(0))
    assert found.due == at(0) + backoff(FREE_BACKOFF, 3, JOB, 2, 4)
