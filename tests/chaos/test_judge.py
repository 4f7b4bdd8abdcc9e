"""Each thing that must not be is found by the judge where it is, and not where it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.fates import Fate
from chaos.judge import (
    Call,
    Deed,
    Done,
    Evidence,
    Execution,
    Killed,
    Living,
    Record,
    Sort,
    Told,
    inside_an_intent,
    judge,
    truth_of,
)
from chaos.report import make_report
from dispatch.model.journal import Verb
from dispatch.model.status import Cause, State

JOB = "01J0000000000000000000000A"
FAILED, SUCCEEDED, CANCELLED = State.FAILED, State.SUCCEEDED, State.CANCELLED


def line(what: str, at: float, word: str = "-", *, submission: int = 1, rank: int = 0) -> Told:
    return Told(what, submission * 1_000_000, rank, "n1", "4", at, word)


def execution(
    state: State, cause: Cause | None = None, *, submission: int = 1, proven: bool = True
) -> Execution:
    return Execution(submission, state, cause, proven, decided=120.0, ended=110.0, nodes=("n1",))


def evidence_of(
    fate: Fate, *executions: Execution, told: tuple[Told, ...] = (), done: tuple[Done, ...] = ()
) -> Evidence:
    last = executions[-1]
    record = Record(JOB, "k", 99.0, (last.state, last.cause), executions, numbers=frozenset({"4"}))
    return Evidence({"k": fate}, (("k", JOB),), (record,), {"k": told}, done)


RAN = (line("start", 100), line("end", 110, "0"), line("over", 110))
GOOD = evidence_of(Fate.SUCCEEDS, execution(SUCCEEDED), told=RAN)


def sorts(evidence: Evidence) -> set[Sort]:
    return {finding.sort for finding in judge(evidence)}


def test_a_job_that_ran_once_and_ended_as_its_fate_is_gives_no_finding() -> None:
    assert judge(GOOD) == ()


def test_a_lock_that_a_task_did_not_get_is_an_overlap() -> None:
    assert sorts(replace(GOOD, told={"k": (*RAN, line("overlap", 101))})) == {Sort.OVERLAP}


def test_a_job_that_was_printed_and_that_no_record_has_is_lost() -> None:
    assert Sort.LOST in sorts(replace(GOOD, printed=(("k", JOB), ("k", "another"))))
    assert sorts(replace(GOOD, records=())) == {Sort.LOST}


def test_a_key_that_was_submitted_and_that_no_record_has_is_lost_though_nothing_was_printed() -> (
    None
):
    assert sorts(replace(GOOD, printed=(), records=())) == {Sort.LOST}


def test_a_job_without_a_verdict_in_the_end_is_lost() -> None:
    (record,) = GOOD.records
    assert sorts(replace(GOOD, records=(replace(record, verdict=None),))) == {Sort.LOST}


def test_two_jobs_of_one_key_are_found() -> None:
    (record,) = GOOD.records
    twice = replace(GOOD, records=(record, replace(record, job="another")))
    assert sorts(twice) == {Sort.TWO_JOBS}


@pytest.mark.parametrize("living", [Living("4", JOB, "PENDING"), Living("9", "another", "RUNNING")])
def test_an_object_that_lives_on_when_its_job_has_ended_or_is_unknown_is_an_orphan(
    living: Living,
) -> None:
    assert sorts(replace(GOOD, living=(living,))) == {Sort.ORPHAN}


@pytest.mark.parametrize(
    "called",
    [
        (FAILED, Cause.NON_ZERO_EXIT),
        (FAILED, Cause.NODE_LOST),
        (FAILED, Cause.PREEMPTED),
        (CANCELLED, Cause.CANCELLED),
        (FAILED, Cause.FORGOTTEN),
    ],
)
def test_a_proven_cause_of_which_nothing_happened_is_wrong(called: tuple[State, Cause]) -> None:
    wrong = evidence_of(Fate.SUCCEEDS, execution(*called), told=RAN)
    assert sorts(wrong) == {Sort.WRONG_CAUSE, Sort.WRONG_END}


def test_a_cause_that_is_only_suspected_or_unknown_is_not_wrong() -> None:
    for cause, proven in ((Cause.UNKNOWN, True), (Cause.NODE_LOST, False)):
        lost = execution(FAILED, cause, proven=proven)
        again = execution(SUCCEEDED, submission=2)
        told = (*RAN, line("start", 111, submission=2), line("end", 115, "0", submission=2))
        assert judge(evidence_of(Fate.SUCCEEDS, lost, again, told=told)) == ()


def test_a_success_that_no_task_came_to_is_wrong() -> None:
    assert sorts(evidence_of(Fate.SUCCEEDS, execution(SUCCEEDED), told=RAN[:1])) == {
        Sort.WRONG_CAUSE
    }


def test_a_success_of_one_rank_of_two_is_wrong() -> None:
    assert sorts(evidence_of(Fate.PAIR, execution(SUCCEEDED), told=RAN)) == {Sort.WRONG_CAUSE}


def preempted_at(at: float) -> Evidence:
    done = (Done(Deed.PREEMPTED, at, at + 25, "k"),)
    once = execution(FAILED, Cause.PREEMPTED)
    return evidence_of(Fate.PREEMPTED, once, told=RAN, done=done)


def test_a_deed_just_after_the_own_end_may_be_what_the_scheduler_saw_and_a_later_one_not() -> None:
    assert Sort.WRONG_CAUSE not in sorts(preempted_at(111))
    assert Sort.WRONG_CAUSE in sorts(preempted_at(116))


def test_what_is_done_before_the_script_has_ended_too_may_be_its_end() -> None:
    lost = preempted_at(116)
    assert Sort.WRONG_CAUSE not in sorts(replace(lost, told={"k": RAN[:2]}))


def test_what_was_done_to_another_job_or_node_is_no_truth_of_this_one() -> None:
    for done in (
        Done(Deed.PREEMPTED, 105, 130, "other"),
        Done(Deed.NODE_KILLED, 105, 130, node="n2"),
    ):
        lost = evidence_of(
            Fate.SUCCEEDS, execution(FAILED, Cause.NODE_LOST), told=RAN[:1], done=(done,)
        )
        assert Sort.WRONG_CAUSE in sorts(lost)


def test_a_killed_node_is_the_truth_of_what_ran_on_it() -> None:
    done = (Done(Deed.NODE_KILLED, 105, 107, node="n1"),)
    lost = execution(FAILED, Cause.NODE_LOST)
    evidence = evidence_of(Fate.NODE_KILLED, lost, told=RAN[:1], done=done)
    assert Sort.WRONG_CAUSE not in sorts(evidence)
    assert truth_of(lost, evidence.records[0], evidence).row == "node killed"


def test_only_a_controller_that_was_killed_can_have_forgotten() -> None:
    forgot = execution(FAILED, Cause.FORGOTTEN)
    killed = (Done(Deed.CONTROLLER_KILLED, 105, 106),)
    assert Sort.WRONG_CAUSE in sorts(evidence_of(Fate.SUCCEEDS, forgot, told=RAN[:1]))
    assert Sort.WRONG_CAUSE not in sorts(
        evidence_of(Fate.SUCCEEDS, forgot, told=RAN[:1], done=killed)
    )


@pytest.mark.parametrize("deed", [Deed.CONTROLLER_KILLED, Deed.CONTROLLER_PAUSED])
def test_a_launch_can_fail_for_want_of_a_controller_and_only_where_the_command_never_began(
    deed: Deed,
) -> None:
    failed = execution(FAILED, Cause.LAUNCH_FAILED)
    done = (Done(deed, 105, 106),)
    assert Sort.WRONG_CAUSE not in sorts(evidence_of(Fate.SUCCEEDS, failed, done=done))
    assert Sort.WRONG_CAUSE in sorts(evidence_of(Fate.SUCCEEDS, failed))
    assert Sort.WRONG_CAUSE in sorts(evidence_of(Fate.SUCCEEDS, failed, told=RAN[:1], done=done))
    late = (Done(deed, 125, 126),)
    assert Sort.WRONG_CAUSE in sorts(evidence_of(Fate.SUCCEEDS, failed, done=late))


def test_an_end_that_is_not_the_fate_of_the_job_is_wrong() -> None:
    told = (line("start", 100), line("end", 110, "3"))
    once = evidence_of(Fate.FLAKY, execution(FAILED, Cause.NON_ZERO_EXIT), told=told)
    assert sorts(once) == {Sort.WRONG_END}
    assert judge(replace(once, fates={"k": Fate.BROKEN})) == ()


@pytest.mark.parametrize("deed", [Deed.HELD, Deed.USER_HELD])
def test_a_start_between_a_hold_and_its_release_is_found(deed: Deed) -> None:
    held = replace(GOOD, done=(Done(deed, 90, 101, "k"),))
    assert sorts(held) == {Sort.RAN_HELD}
    assert judge(replace(GOOD, done=(Done(deed, 90, 99, "k"),))) == ()
    crash = Done(Deed.CONTROLLER_KILLED, 92, 93)
    assert judge(replace(held, done=(*held.done, crash))) == ()


def test_a_start_after_an_acknowledged_stop_is_found() -> None:
    stopped = replace(GOOD, done=(Done(Deed.STOPPED, 90, 95, "k"),))
    assert Sort.RAN_STOPPED in sorts(stopped)


def test_more_executions_than_the_policy_allows_are_over_its_budget() -> None:
    told = tuple(
        one
        for number in range(1, 5)
        for one in (line("start", 100, submission=number), line("end", 110, "3", submission=number))
    )
    tries = [
        replace(execution(FAILED, Cause.NON_ZERO_EXIT, submission=number), resubmitted=number < 4)
        for number in range(1, 5)
    ]
    assert sorts(evidence_of(Fate.BROKEN, *tries, told=told)) == {Sort.OVER_BUDGET}
    assert judge(evidence_of(Fate.BROKEN, *tries[1:], told=told)) == ()


def test_a_kill_counts_as_inside_an_intent_only_while_its_own_call_was_open() -> None:
    (record,) = GOOD.records
    calls = (Call(Verb.START, 7, 100.0, 103.0), Call(Verb.OPEN, 8, 104.0, None))
    killed = (
        Killed(101.0, "submit", Verb.START, 7, JOB),
        Killed(103.5, "submit", Verb.START, 7, JOB),  # its outcome was recorded
        Killed(105.0, "submit", Verb.OPEN, 9_000, JOB),  # the call of another intent
        Killed(105.0, "supervisor", Verb.OPEN, 8, JOB),
        Killed(106.0, "supervisor"),
    )
    evidence = replace(GOOD, records=(replace(record, calls=calls),), killed=killed)
    counts = inside_an_intent(evidence)
    assert counts == {**dict.fromkeys(Verb, 0), Verb.START: 1, Verb.OPEN: 1}


def test_the_report_shows_every_finding_the_matrix_and_the_times() -> None:
    overlapping = replace(GOOD, told={"k": (*RAN, line("overlap", 101))})
    report = make_report(overlapping, judge(overlapping), seed=7, seconds=60)
    assert report.matrix == {"exit 0": {"Succeeded": 1}}
    assert report.to_decision == {"Succeeded": [10.0]}
    text = report.as_text()
    assert "seed 7" in text
    assert "    1  overlap" in text
    assert "overlap: k: epoch 1000000 rank 0 on n1 as Slurm job 4" in text
    assert '"seed": 7' in report.as_json()
