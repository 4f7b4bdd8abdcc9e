"""Policies: what their values accept, what they refuse, and what is left out of them."""

from __future__ import annotations

from typing import Any

import pytest

from dispatch.model.answers import Action
from dispatch.model.codec import decode, encode
from dispatch.model.errors import Invalid
from dispatch.model.policy import (
    ENDING_CAUSES,
    NO_RECOVERY,
    PROGRAM_CAUSES,
    Backoff,
    Cessation,
    CrashLoop,
    ExcludeNodes,
    Limits,
    Notify,
    NotifyOn,
    Policy,
    Raise,
    Rule,
    Trigger,
    Unmatched,
    Which,
)
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause


def rule(**fields: Any) -> Rule:
    values: dict[str, Any] = {"when": (Cause.PREEMPTED,), "do": Action.RESUBMIT, **fields}
    return Rule(**values)


def paths(error: pytest.ExceptionInfo[Invalid]) -> list[str]:
    return [fault.path for fault in error.value.faults]


def test_a_missing_policy_recovers_nothing() -> None:
    assert NO_RECOVERY.rules == ()
    assert NO_RECOVERY.unmatched is Unmatched.FAIL
    assert NO_RECOVERY.cessation.assumed_after is None


def test_the_defaults_are_those_that_the_documents_tell() -> None:
    assert Backoff() == Backoff(initial=Duration.parse("30s"), max=Duration.parse("10m"), jitter=20)
    assert Limits() == Limits(total=100, infrastructure=None, program=None)
    assert ExcludeNodes() == ExcludeNodes(which=Which.FAILED, for_=Duration.parse("24h"), max=8)
    assert CrashLoop(executions=2, shorter_than=Duration.parse("1m")).do is Unmatched.HOLD


@pytest.mark.parametrize("cause", sorted(set(Cause) - ENDING_CAUSES))
def test_a_rule_matches_no_cause_with_which_an_execution_cannot_end(cause: Cause) -> None:
    with pytest.raises(Invalid) as error:
        rule(when=(Cause.PREEMPTED, cause))
    assert paths(error) == ["when[1]"]
    with pytest.raises(Invalid) as error:
        Trigger(cause=cause)
    assert paths(error) == ["cause"]


@pytest.mark.parametrize("cause", sorted(ENDING_CAUSES))
def test_a_rule_matches_every_cause_with_which_an_execution_can_end(cause: Cause) -> None:
    assert rule(when=(cause, Trigger(cause=cause))).when


def test_what_a_person_asked_for_and_what_we_broke_are_no_causes_of_rules() -> None:
    assert not ENDING_CAUSES & {Cause.STOPPED, Cause.REJECTED, Cause.FENCED, Cause.FORGOTTEN}
    assert PROGRAM_CAUSES <= ENDING_CAUSES


def test_every_fault_of_a_rule_is_told_at_once() -> None:
    with pytest.raises(Invalid) as error:
        rule(when=(Cause.GATED,), within=Duration.parse("1h"), or_else=Action.FAIL)
    assert paths(error) == ["when[0]", "within", "orElse"]


def test_a_window_needs_a_limit_and_an_alternative_a_restart() -> None:
    assert rule(limit=1, within=Duration.parse("1h")).within
    assert rule(do=Action.RESTART, or_else=Action.RESUBMIT).or_else


def test_a_backoff_ends_no_lower_than_it_begins() -> None:
    with pytest.raises(Invalid) as error:
        Backoff(initial=Duration.parse("11m"))
    assert paths(error) == ["max"]
    assert Backoff(initial=Duration.parse("10m")).max == Backoff().initial * 20


@pytest.mark.parametrize(("after", "wait"), [("proof", None), ("30m", "30m"), ("0s", "0s")])
def test_cessation_is_proof_or_a_declared_wait(after: str, wait: str | None) -> None:
    expected = None if wait is None else Duration.parse(wait)
    assert Cessation(after=after).assumed_after == expected


@pytest.mark.parametrize("after", ["", "soon", "30", "Proof"])
def test_cessation_is_nothing_else(after: str) -> None:
    with pytest.raises(Invalid) as error:
        Cessation(after=after)
    assert paths(error) == ["after"]
    assert "proof, or a duration" in error.value.faults[0].allowed


@pytest.mark.parametrize("fields", [{}, {"command": ("mail",), "webhook": "https://example.org"}])
def test_a_notice_goes_one_way(fields: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as error:
        Notify(on=(NotifyOn.HELD,), **fields)
    assert paths(error) == ["command"]
    assert Notify(on=(NotifyOn.HELD,), command=("mail",)).webhook is None


@pytest.mark.parametrize(
    "text",
    [
        '{"rules":[{"when":[],"do":"fail"}]}',
        '{"rules":[{"when":["Preempted"],"do":"retry"}]}',
        '{"rules":[{"when":["Preempted"],"do":"fail","limit":-1}]}',
        '{"rules":[{"when":["Preempted"],"do":"fail","budget":"mine"}]}',
        '{"rules":[{"when":[{"cause":"NonZeroExit","exitCode":[256]}],"do":"fail"}]}',
        '{"limits":{"total":1000000}}',
        '{"crashLoop":{"executions":1,"shorterThan":"1m"}}',
        '{"unmatched":"ignore"}',
        '{"rule":[]}',
    ],
)
def test_a_policy_is_decoded_strictly(text: str) -> None:
    with pytest.raises(Invalid):
        decode(text, Policy)


def test_a_policy_reads_as_the_documents_write_it() -> None:
    text = (
        '{"rules":[{"when":["NodeLost",{"cause":"NonZeroExit","exitCode":[134]}],"do":"resubmit",'
        '"limit":3,"within":"1d","budget":"infrastructure","backoff":{"initial":"1m"},'
        '"excludeNodes":{"for":"1h"},"raise":{"timeLimit":{"percent":150,"max":"3d"}},'
        '"with":{"partition":"ondemand"}}],"unmatched":"hold"}'
    )
    policy = decode(text, Policy)
    (only,) = policy.rules
    assert only.when == (Cause.NODE_LOST, Trigger(cause=Cause.NON_ZERO_EXIT, exit_code=(134,)))
    assert only.exclude_nodes == ExcludeNodes(for_=Duration.parse("1h"))
    assert only.raise_ is not None
    assert only.with_ is not None
    assert only.with_.partition == "ondemand"
    assert isinstance(only.raise_.time_limit, Raise)
    assert encode(policy).decode() == text
