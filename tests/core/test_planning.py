"""Plans: what is accepted and on what it rests, and every reason of a refusal at once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.builders import s
from dispatch.core.planning import make_plan
from dispatch.model.answers import (
    Action,
    Answer,
    Answers,
    AnswerSource,
    Capability,
    Feature,
    Tristate,
)
from dispatch.model.errors import Invalid, Refused
from dispatch.model.job import Job, SignalBefore, features_of
from dispatch.model.plan import Executor, PlannedRule
from dispatch.model.policy import (
    Cessation,
    Changes,
    CrashLoop,
    ExcludeNodes,
    Policy,
    Raise,
    RaiseMemory,
    Raises,
    Rule,
    Unmatched,
)
from dispatch.model.quantity import Size, TimeLimit
from dispatch.model.status import Cause

YES = Answer(value=Tristate.YES, source=AnswerSource.PROBED, reason="proven")
NO = Answer(value=Tristate.NO, source=AnswerSource.READ, reason="not here")
UNKNOWN = Answer(value=Tristate.UNKNOWN)
HALF = Answer(value=Tristate.NO)


def answers(**changed: Any) -> Answers:
    """A cluster that can do everything but restart, with these answers in place of others."""
    capabilities = dict.fromkeys(Capability, YES) | changed.get("capabilities", {})
    rules = dict.fromkeys(Action, YES) | {Action.RESTART: NO} | changed.get("rules", {})
    features = dict.fromkeys(Feature, YES) | changed.get("features", {})
    return Answers(
        capabilities=capabilities,
        rules=rules,
        native=changed.get("native", {}),
        features=features,
    )


def job(policy: Policy | None = None, **fields: Any) -> Job:
    values: dict[str, Any] = {"command": ("train",), "recovery": policy, **fields}
    return Job(**values)


def resubmit(*causes: Cause, **fields: Any) -> Rule:
    values: dict[str, Any] = {"when": causes or (Cause.PREEMPTED,), "do": Action.RESUBMIT}
    return Rule(**{**values, **fields})


def reasons(made: Job, can: Answers) -> tuple[str, ...]:
    with pytest.raises(Refused) as refused:
        make_plan(made, can)
    return refused.value.reasons


def test_a_plan_says_who_carries_out_each_rule_and_on_which_answer_that_rests() -> None:
    plan = make_plan(job(Policy(rules=(resubmit(), resubmit(do=Action.FAIL)))), answers())
    assert plan.rules == (
        PlannedRule(rule=0, action=Action.RESUBMIT, executor=Executor.SUPERVISOR, rests_on=("rule resubmit: yes (probed, proven)",)),
        PlannedRule(rule=1, action=Action.FAIL, executor=Executor.SUPERVISOR, rests_on=("rule fail: yes (probed, proven)",)),
    )  # fmt: skip
    assert plan.action(1) is Action.FAIL
    assert plan.notes == ()


def test_a_job_without_a_policy_needs_a_gate_and_nothing_else() -> None:
    can = Answers(capabilities={Capability.GATE: YES, Capability.FENCE: YES})
    plan = make_plan(job(), can)
    assert (plan.rules, plan.notes) == ((), ())


@pytest.mark.parametrize("answer", [NO, UNKNOWN, HALF])
def test_no_job_is_accepted_where_the_gate_is_not_proven(answer: Answer) -> None:
    found = reasons(job(), answers(capabilities={Capability.GATE: answer}))
    assert found[0].startswith("a new object cannot be kept from running until it is recorded")


def test_an_answer_is_told_with_its_source_and_its_reason_where_it_has_one() -> None:
    (found,) = reasons(job(), answers(capabilities={Capability.GATE: NO}))
    assert found.endswith("Gate is no (read, not here)")
    (found,) = reasons(job(), answers(capabilities={Capability.GATE: HALF}))
    assert found.endswith("Gate is no (declared)")


def test_where_holds_do_not_work_a_hold_rule_is_refused_and_a_resubmit_rule_is_not() -> None:
    can = answers(capabilities={Capability.HOLD: NO}, rules={Action.HOLD: NO})
    assert make_plan(job(Policy(rules=(resubmit(),))), can).rules
    found = reasons(job(Policy(rules=(resubmit(), resubmit(do=Action.HOLD)))), can)
    assert found == (
        "recovery.rules[1]: the action hold is not possible here: no (read, not here)",
        "recovery.rules[1]: it holds, but holds do not work here: no (read, not here)",
    )


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        (Policy(unmatched=Unmatched.HOLD), "unmatched"),
        (Policy(crash_loop=CrashLoop(executions=2, shorter_than=s("1m"))), "crashLoop"),
        (Policy(cessation=Cessation(hold_after=s("1h"))), "cessation.holdAfter"),
    ],
)
def test_every_place_of_a_policy_that_holds_needs_holds(policy: Policy, place: str) -> None:
    assert make_plan(job(policy), answers()).rules == ()
    (found,) = reasons(job(policy), answers(capabilities={Capability.HOLD: NO}))
    assert found == f"recovery.{place}: it holds, but holds do not work here: no (read, not here)"


def test_a_crash_loop_that_fails_needs_no_holds() -> None:
    brake = CrashLoop(executions=2, shorter_than=s("1m"), do=Unmatched.FAIL)
    can = answers(capabilities={Capability.HOLD: NO})
    assert make_plan(job(Policy(crash_loop=brake)), can).rules == ()


# --- actions


def test_an_action_that_is_not_possible_is_refused() -> None:
    (found,) = reasons(job(Policy(rules=(resubmit(),))), answers(rules={Action.RESUBMIT: NO}))
    assert found == "recovery.rules[0]: the action resubmit is not possible here: no (read, not here)"  # fmt: skip


def test_the_action_in_place_of_one_that_is_not_possible_is_planned() -> None:
    rule = resubmit(do=Action.RESTART, or_else=Action.RESUBMIT)
    (planned,) = make_plan(job(Policy(rules=(rule,))), answers()).rules
    assert planned.action is Action.RESUBMIT
    assert planned.rests_on == ("rule resubmit: yes (probed, proven)",)


def test_where_neither_action_is_possible_both_obstacles_are_told() -> None:
    rule = resubmit(do=Action.RESTART, or_else=Action.RESUBMIT)
    found = reasons(job(Policy(rules=(rule,))), answers(rules={Action.RESUBMIT: NO}))
    assert [each.split(" is ")[0] for each in found] == [
        "recovery.rules[0]: the action restart",
        "recovery.rules[0]: the action resubmit",
    ]


def test_a_restart_is_refused_even_where_a_cluster_offers_it_since_no_call_of_ours_makes_it() -> None:  # fmt: skip
    can = answers(rules={Action.RESTART: YES})
    (found,) = reasons(job(Policy(rules=(resubmit(do=Action.RESTART),))), can)
    assert "not carried out by this version" in found


@pytest.mark.parametrize(
    ("native", "executor"),
    [(YES, Executor.SCHEDULER), (NO, Executor.SUPERVISOR), (UNKNOWN, Executor.SUPERVISOR)],
)
def test_a_scheduler_that_can_do_it_itself_is_named(native: Answer, executor: Executor) -> None:
    can = answers(native={Action.RESUBMIT: native})
    (planned,) = make_plan(job(Policy(rules=(resubmit(),))), can).rules
    assert planned.executor is executor


def test_a_native_yes_whose_rule_is_not_yes_is_refused() -> None:
    can = answers(native={Action.RESUBMIT: YES}, rules={Action.RESUBMIT: UNKNOWN})
    assert reasons(job(Policy(rules=(resubmit(),))), can)


# --- cessation


def test_where_nothing_proves_cessation_every_new_copy_is_refused() -> None:
    """Nodes are read after every end, ordinary ones included: without them the job would wait for ever."""
    can = answers(capabilities={Capability.CESSATION: NO})
    fails = resubmit(Cause.TIMEOUT, do=Action.FAIL)
    policy = Policy(rules=(resubmit(Cause.NODE_LOST), fails, resubmit(Cause.NON_ZERO_EXIT)))
    found = reasons(job(replace(policy, unmatched=Unmatched.HOLD)), can)
    assert [each.split(" needs ")[0] for each in found] == [
        "recovery.rules[0]: a new copy",
        "recovery.rules[2]: a new copy",
        "recovery.unmatched: a new copy",
    ]
    assert "recovery.cessation.after: 30m" in found[0]


def test_a_declared_wait_takes_the_place_of_proof_and_the_plan_says_so() -> None:
    policy = Policy(rules=(resubmit(Cause.NODE_LOST),), cessation=Cessation(after="30m"))
    plan = make_plan(job(policy), answers(capabilities={Capability.CESSATION: NO}))
    (note,) = plan.notes
    assert "started 30m after a node was lost, without proof" in note


def test_a_rule_that_fails_makes_no_copy_that_needs_proof() -> None:
    policy = Policy(rules=(resubmit(Cause.NODE_LOST, do=Action.FAIL),))
    assert make_plan(job(policy), answers(capabilities={Capability.CESSATION: NO})).rules


# --- features


def test_a_field_that_is_not_honoured_is_refused_by_its_name() -> None:
    can = answers(features={Feature.PARTITION: NO, Feature.GPUS: UNKNOWN})
    found = reasons(job(partition="gpu", gpus_per_node=8), can)
    assert found == (
        "gpusPerNode: not honoured here: unknown (declared)",
        "partition: not honoured here: no (read, not here)",
    )


@pytest.mark.parametrize("name", ["partition", "account", "qos", "constraint"])
def test_a_change_that_is_not_honoured_is_refused(name: str) -> None:
    change: dict[str, Any] = {name: "x"}
    policy = Policy(rules=(resubmit(), resubmit(with_=Changes(**change))))
    can = answers(features={Feature(name): NO})
    (found,) = reasons(job(policy), can)
    assert found == f"recovery.rules[1].with.{name}: not honoured here: no (read, not here)"
    assert make_plan(job(policy), answers()).rules


def test_the_features_of_a_policy_are_features_of_the_job() -> None:
    policy = Policy(rules=(resubmit(exclude_nodes=ExcludeNodes()),))
    assert Feature.EXCLUDE_NODES in features_of(job(policy))
    assert reasons(job(policy), answers(features={Feature.EXCLUDE_NODES: NO}))


# --- contradictions


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        (None, "signalBefore: it needs a timeLimit to come before"),
        ("5m", "signalBefore: a lead of 5m does not fit into the timeLimit of 5m"),
    ],
)
def test_a_signal_before_the_limit_needs_a_limit_to_come_before(
    limit: str | None, reason: str
) -> None:
    signal = SignalBefore(signal="USR1", lead=s("5m"))
    time_limit = TimeLimit.parse(limit) if limit else None
    (found,) = reasons(job(signal_before=signal, time_limit=time_limit), answers())
    assert found == reason


def test_a_signal_that_fits_is_accepted() -> None:
    signal = SignalBefore(signal="USR1", lead=s("5m"))
    assert (
        make_plan(job(signal_before=signal, time_limit=TimeLimit.parse("6m")), answers()).rules
        == ()
    )


def test_a_limit_that_the_job_has_not_cannot_be_raised() -> None:
    raises = Raises(
        time_limit=Raise(percent=150, max=TimeLimit.parse("72h")),
        memory=RaiseMemory(percent=150, max=Size.parse("1T")),
    )
    policy = Policy(rules=(resubmit(), resubmit(raise_=raises)))
    assert reasons(job(policy), answers()) == (
        "recovery.rules[1].raise.timeLimit: the job has no timeLimit to raise",
        "recovery.rules[1].raise.memory: the job has no memory to raise",
    )
    limits = {"time_limit": TimeLimit.parse("24h"), "memory": Size.parse("1G")}
    assert make_plan(job(policy, **limits), answers()).rules
    sets = resubmit(with_=Changes(time_limit=TimeLimit.parse("24h"), memory=Size.parse("1G")))
    assert make_plan(job(Policy(rules=(sets, resubmit(raise_=raises)))), answers()).rules


# --- the whole


def test_every_reason_is_told_at_once() -> None:
    policy = Policy(rules=(resubmit(do=Action.HOLD), resubmit(do=Action.RESTART)))
    can = answers(
        capabilities={Capability.GATE: NO, Capability.HOLD: NO},
        rules={Action.HOLD: NO},
        features={Feature.QOS: NO},
    )
    signal = SignalBefore(signal="USR1", lead=s("5m"))
    found = reasons(job(policy, qos="high", signal_before=signal), can)
    assert len(found) == 6


def test_a_policy_that_is_only_named_must_have_been_looked_up() -> None:
    with pytest.raises(Invalid, match="'spot' has not been looked up"):
        make_plan(job(recovery="spot"), answers())


def test_a_plan_notes_what_is_not_proven() -> None:
    plan = make_plan(job(), answers(capabilities={Capability.FENCE: NO}))
    (note,) = plan.notes
    assert note.startswith("Fence is no (read, not here): nothing shows that a second launch")


def test_what_a_cluster_can_do_is_accepted() -> None:
    policy = Policy(rules=(resubmit(Cause.NODE_LOST), resubmit(do=Action.HOLD)))
    plan = make_plan(job(policy), answers())
    assert [planned.action for planned in plan.rules] == [Action.RESUBMIT, Action.HOLD]
    assert plan.notes == ()
