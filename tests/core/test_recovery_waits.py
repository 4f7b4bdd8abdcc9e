"""The policy: backoff, the crash loop, raised limits, changes, and nodes left out (11; B1 of the hard cases; S4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from core.builders import (
    JOB,
    at,
    calls,
    ceased,
    ended,
    queued,
    ran,
    record,
    row,
    s,
    settled_step,
    step,
    waits,
)
from core.policies import after, decided, failed, known, rule
from dispatch.core.recovery import (
    backoff,
    decide,
    effective_job,
    excluded_nodes,
)
from dispatch.model.answers import Action
from dispatch.model.journal import Decided, HoldAsked, Verb
from dispatch.model.policy import (
    Backoff,
    Changes,
    CrashLoop,
    ExcludeNodes,
    Policy,
    Raise,
    RaiseMemory,
    Raises,
    Rule,
    Unmatched,
    Which,
)
from dispatch.model.quantity import Duration, Size, TimeLimit
from dispatch.model.status import Cause
from dispatch.model.steps import Append
from dispatch.model.view import JobView

# --- backoff


@given(
    initial=st.integers(0, 10**9),
    longest=st.integers(0, 864_000_000_000),
    jitter=st.integers(0, 100),
    uses=st.integers(0, 10**6),
)
def test_jitter_only_ever_lengthens_a_backoff_and_nothing_overflows(
    initial: int, longest: int, jitter: int, uses: int
) -> None:
    wait = Backoff(
        initial=Duration.of_ms(min(initial, longest)), max=Duration.of_ms(longest), jitter=jitter
    )
    found = backoff(wait, uses, JOB, 1, 0)
    plain = min(wait.initial.ms << min(uses, 50), longest)
    assert plain <= found.ms <= plain + plain * jitter // 100
    assert found == backoff(wait, uses, JOB, 1, 0) == Duration.of_ms(found.ms)


def test_a_backoff_doubles_up_to_its_maximum() -> None:
    wait = Backoff(initial=s("30s"), max=s("10m"), jitter=0)
    found = [backoff(wait, n, JOB, 1, 0) for n in (0, 1, 2, 4, 5, 99)]
    assert [str(each) for each in found] == ["30s", "1m", "2m", "8m", "10m", "10m"]


def test_jitter_differs_by_job_and_epoch() -> None:
    wait = Backoff(initial=s("1h"), max=s("1h"), jitter=100)
    names = [(JOB, 1, 0), (JOB, 2, 0), (JOB, 1, 1), ("other", 1, 0)]
    assert len({backoff(wait, 0, *name) for name in names}) == 4


def test_the_jitter_of_an_epoch_is_the_same_for_every_supervisor_for_ever() -> None:
    wait = Backoff(initial=s("1h"), max=s("1h"), jitter=100)
    assert str(backoff(wait, 0, JOB, 1, 0)) == "1h51m44s215ms"


def test_jitter_is_rounded_down_to_whole_milliseconds() -> None:
    wait = Backoff(initial=s("7d"), max=s("7d"), jitter=33)
    assert backoff(wait, 0, JOB, 15, 0).ms == 646_085_171


def test_due_counts_from_the_recorded_end() -> None:
    policy = Policy(rules=(rule(backoff=Backoff(initial=s("10m"), jitter=0)),))
    view = record(policy=policy)
    found = decide(view, known(end=50), failed(), at(500))
    assert found.due == at(650)
    vanished = replace(known(), ended=None)
    assert decide(view, vanished, failed(), at(500)).due == at(1100)


def test_a_rule_without_a_backoff_has_the_usual_one() -> None:
    found = decided(Policy(rules=(rule(),)), failed())
    assert found.due is not None
    assert at(130) <= found.due <= at(136)


def test_the_next_submission_is_never_early_whatever_clock_recorded_the_end() -> None:
    policy = Policy(rules=(rule(backoff=Backoff(initial=s("10m"), jitter=0)),))
    view = ceased(record(*ran(), policy=policy), ended())
    assert waits(step(view, ended(), sent=601.9)) == ("await due", 602)
    assert calls(step(view, ended(), sent=602)) == (Verb.START, 2)
    here = step(view, ended(), sent=500, requested=at(100), now=100)
    assert waits(here) == ("await due", 202)


def test_the_next_submission_says_why_it_is() -> None:
    policy = Policy(rules=(rule(),))
    made = step(ceased(record(*ran(), policy=policy), ended()), ended(), sent=900)
    assert getattr(made, "why", None) == "rule 1"


# --- the crash loop


LOOP = Policy(
    rules=(rule(Cause.NON_ZERO_EXIT),), crash_loop=CrashLoop(executions=3, shorter_than=s("5m"))
)
CRASH = failed(Cause.NON_ZERO_EXIT)


def test_so_many_short_executions_in_a_row_hold_the_job() -> None:
    assert decided(LOOP, *[CRASH] * 2, ran_for=299).action is Action.RESUBMIT
    found = decided(LOOP, *[CRASH] * 3, ran_for=299)
    assert (found.action, found.rule) == (Action.HOLD, 0)
    assert found.why == "crashLoop: the last 3 executions were each shorter than 5m"


def test_an_execution_as_long_as_the_bound_is_not_short() -> None:
    assert decided(LOOP, *[CRASH] * 3, ran_for=300).action is Action.RESUBMIT


def test_a_crash_loop_may_fail_the_job() -> None:
    assert LOOP.crash_loop is not None
    policy = replace(LOOP, crash_loop=replace(LOOP.crash_loop, do=Unmatched.FAIL))
    found = decided(policy, *[CRASH] * 3, ran_for=1)
    assert (found.action, found.due, found.budget, found.changes) == (Action.FAIL, None, None, None)


def test_one_long_execution_breaks_the_loop() -> None:
    view = after(record(policy=LOOP), CRASH, CRASH, ran_for=1)
    view = after(view, CRASH, ran_for=900)
    view = after(view, CRASH, CRASH, ran_for=1)
    assert view.last_decision is not None
    assert view.last_decision.action is Action.RESUBMIT


def test_faults_of_ours_neither_make_nor_break_a_loop() -> None:
    fenced = failed(Cause.FENCED)
    assert decided(LOOP, fenced, fenced, CRASH, ran_for=1).action is Action.RESUBMIT
    assert decided(LOOP, CRASH, fenced, CRASH, fenced, CRASH, ran_for=1).action is Action.HOLD


@pytest.mark.parametrize(
    ("fields", "ran_for"),
    [
        ({"started": at(0), "ended": at(90.9)}, Duration(seconds=90)),
        ({"started": None, "ended": at(9)}, None),
        ({"started": at(0), "ended": None}, None),
        ({"started": at(9), "ended": at(8)}, None),
        ({"started": at(9), "ended": at(9)}, Duration()),
    ],
)
def test_how_long_it_ran_is_told_by_the_schedulers_times(
    fields: dict[str, Any], ran_for: Duration | None
) -> None:
    object_ = replace(known(), seen=replace(ended(), **fields))
    assert decide(record(), object_, failed(), at(0)).ran_for == ran_for


def test_what_was_never_read_ran_for_nobody_knows_how_long() -> None:
    assert decide(record(), replace(known(), seen=None), failed(), at(0)).ran_for is None


# --- raising limits, and other changes


def raising(time_limit: str | None = None, memory: str | None = None) -> Rule:
    raises = Raises(
        time_limit=Raise(percent=150, max=TimeLimit.parse(time_limit)) if time_limit else None,
        memory=RaiseMemory(percent=150, max=Size.parse(memory)) if memory else None,
    )
    return rule(Cause.TIMEOUT, Cause.OUT_OF_MEMORY, raise_=raises)


def raised(rules: tuple[Rule, ...], count: int, **fields: Any) -> JobView:
    view = record(*(), head=None, policy=Policy(rules=rules))
    view = replace(view, header=replace(view.header, job=replace(view.job, **fields)))
    return after(view, *[failed(Cause.TIMEOUT)] * count)


def test_a_raised_time_limit_grows_by_its_percentage_up_to_its_maximum() -> None:
    limits: list[str] = []
    for count in (0, 1, 2, 3):
        view = raised((raising("60h"),), count, time_limit=TimeLimit.parse("24h"))
        limits.append(str(effective_job(view).time_limit))
    assert limits == ["1d", "1d12h", "2d6h", "2d12h"]


def test_a_rule_with_nothing_left_to_raise_is_passed_over() -> None:
    rules = (raising("36h"), rule(Cause.TIMEOUT, do=Action.HOLD))
    view = raised(rules, 2, time_limit=TimeLimit.parse("24h"))
    assert [d.rule for _, d in view.decisions] == [0, 1]


def test_a_limit_beyond_the_maximum_is_not_lowered() -> None:
    view = raised((raising("12h"),), 1, time_limit=TimeLimit.parse("24h"))
    assert view.decisions[-1][1].rule is None


def test_a_job_without_the_limit_has_nothing_to_raise() -> None:
    assert raised((raising("12h", "1T"),), 1).decisions[-1][1].rule is None


def test_memory_is_raised_alike() -> None:
    sizes: list[tuple[str, int | None]] = []
    for count in (1, 2, 3):
        view = raised((raising(memory="400G"),), count, memory=Size.parse("200G"))
        sizes.append((str(effective_job(view).memory), view.decisions[-1][1].rule))
    assert sizes == [("300G", 0), ("400G", 0), ("400G", None)]


def test_one_of_two_raised_limits_is_enough() -> None:
    view = raised(
        (raising("24h", "400G"),), 1, time_limit=TimeLimit.parse("24h"), memory=Size.parse("200G")
    )
    assert view.decisions[-1][1].changes == Changes(memory=Size.parse("300G"))


def test_a_rule_may_raise_and_change() -> None:
    both = replace(raising("60h"), with_=Changes(partition="big"))
    view = raised((both,), 1, time_limit=TimeLimit.parse("24h"))
    job = effective_job(view)
    assert (job.partition, str(job.time_limit)) == ("big", "1d12h")


def test_changes_accumulate_in_their_order() -> None:
    changes = (
        Changes(partition="a", account="x", env={"A": "1", "B": "1"}),
        Changes(partition="b", qos="high", nodes=2, env={"B": "2"}),
        Changes(constraint="ib", memory=Size.parse("1G")),
    )
    rules = tuple(rule(limit=1, with_=each) for each in changes)
    view = record(policy=Policy(rules=rules))
    view = replace(view, header=replace(view.header, job=replace(view.job, env={"C": "0"})))
    job = effective_job(after(view, *[failed()] * 3))
    assert (job.partition, job.account, job.qos, job.constraint) == ("b", "x", "high", "ib")
    assert (job.nodes, job.memory) == (2, Size.parse("1G"))
    assert job.env == {"A": "1", "B": "2", "C": "0"}


# --- leaving nodes out


def excluding(**fields: Any) -> Policy:
    values: dict[str, Any] = {"for_": s("1h"), **fields}
    return Policy(rules=(rule(Cause.NODE_LOST, exclude_nodes=ExcludeNodes(**values)),))


def excluded(policy: Policy, *losses: tuple[str, ...], at_: float) -> tuple[str, ...]:
    verdicts = [failed(Cause.NODE_LOST, nodes=names) for names in losses]
    return excluded_nodes(after(record(policy=policy), *verdicts), at(at_))


def test_lost_nodes_are_left_out_for_so_long() -> None:
    policy = excluding()
    assert excluded(policy, ("n1",), at_=3699) == ("n1",)
    assert excluded(policy, ("n1",), at_=3700) == ()


def test_the_newest_nodes_are_left_out_first_and_no_more_than_so_many() -> None:
    policy = excluding(max=3)
    losses = (("n1", "n2"), ("n3",), ("n1", "n4"))
    assert excluded(policy, *losses, at_=400) == ("n1", "n4", "n3")
    assert excluded(policy, ("a", "b", "c", "d"), at_=400) == ("a", "b", "c")


def test_all_nodes_of_the_execution_may_be_left_out() -> None:
    policy = excluding(which=Which.ALL)
    assert excluded(policy, ("n9",), at_=400) == ("n1", "n2")
    view = record(policy=policy)
    never_seen = replace(known(), ran=None, seen=None)
    found = decide(view, never_seen, failed(Cause.NODE_LOST), at(0))
    assert (found.exclude, found.exclude_until) == ((), None)
    only_seen = replace(known(), ran=None)
    assert decide(view, only_seen, failed(Cause.NODE_LOST), at(0)).exclude == ("n1", "n2")


def test_a_cause_that_names_no_node_leaves_none_out() -> None:
    assert excluded(excluding(), (), at_=0) == ()
    assert excluded_nodes(record(), at(0)) == ()


# --- in the life of a job


def test_a_recovered_job_goes_on_as_the_next_submission() -> None:
    view = ceased(record(*ran(), policy=Policy(rules=(rule(),))), ended())
    assert view.wants_another
    assert calls(step(view, ended(), sent=900)) == (Verb.START, 2)


def test_a_decision_is_one_append_with_its_hold() -> None:
    view, _ = settled_step(record(*ran(), policy=Policy(rules=(rule(do=Action.HOLD),))), ended())
    made = step(view, ended(), sent=31)
    assert isinstance(made, Append)
    assert [type(event) for event in made.events] == [Decided, HoldAsked]
    assert row(made) == "judge"
    assert row(step(view, queued(), sent=31)) == "record what was read"


def test_a_rule_waits_by_its_uses_and_its_epoch() -> None:
    wait = Backoff(initial=s("1h"), max=s("9h"), jitter=100)
    view = after(record(policy=Policy(rules=(rule(backoff=wait),))), failed(), failed())
    object_ = replace(known(7), seen=ended(7, restarts=4))
    found = decide(view, object_, failed(), at(0))
    assert found.due == at(0) + backoff(wait, 2, JOB, 7, 4)


def test_the_nodes_of_the_last_execution_are_left_out_not_those_of_a_later_read() -> None:
    object_ = replace(known(), seen=ended(nodes=("n7",)))
    found = decide(
        record(policy=excluding(which=Which.ALL)), object_, failed(Cause.NODE_LOST), at(0)
    )
    assert found.exclude == ("n1", "n2")


def test_a_decision_without_changes_does_not_hide_a_later_one() -> None:
    rules = (rule(limit=1), rule(with_=Changes(qos="x")))
    assert effective_job(after(record(policy=Policy(rules=rules)), failed(), failed())).qos == "x"


def test_raised_limits_are_whole_numbers() -> None:
    view = raised((raising("60h"),), 1, time_limit=TimeLimit.of_ms(1_001))
    assert effective_job(view).time_limit == TimeLimit.of_ms(1_501)
    huge = Size(2**60 + 1)
    view = raised((raising(memory="9000000T"),), 1, memory=huge)
    assert effective_job(view).memory == huge * 150 // 100
