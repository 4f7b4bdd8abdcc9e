"""What a policy does, played exactly: the decisions are the core's, so each rule, budget and wait is seen at its time."""

from __future__ import annotations

from typing import Any

import pytest

from dispatch.model.answers import Action
from dispatch.model.errors import Refused
from dispatch.model.job import SignalBefore
from dispatch.model.policy import (
    Backoff,
    Cessation,
    Changes,
    CrashLoop,
    ExcludeNodes,
    Limits,
    Raise,
    Raises,
    Trigger,
    Unmatched,
    Which,
)
from dispatch.model.quantity import Duration, TimeLimit
from dispatch.model.status import Cause
from dispatch.whatif import playing
from dispatch.whatif.conditions import Program
from dispatch.whatif.playing import Run, _Game, play
from dispatch.whatif.simulating import plan_simulated, simulate
from dispatch.whatif.weather import Source, Spread
from whatif.makers import (
    AGAIN,
    DAY,
    HOUR,
    causes,
    conditions,
    every,
    failing,
    fixed,
    job,
    once_in,
    played,
    policy,
    rule,
    span,
    starts,
)

SURE = 10 + 30
"""Seconds from an end until it is certain: the next look, and the save window."""


# --- rules and their limits


def test_without_a_policy_the_first_failure_ends_the_job() -> None:
    run = played(None, every("6h"))
    assert (run.outcome, causes(run)) == ("failed", ["Preempted"])
    assert run.ended == 6 * HOUR + SURE * 1000


def test_a_rule_starts_the_next_execution_as_soon_as_the_end_is_certain() -> None:
    run = played(AGAIN, every("1h"), horizon=span("3h"))
    assert starts(run) == [0, 3600 + SURE, 2 * (3600 + SURE)]
    assert run.outcome == "running"


def test_a_rule_whose_limit_is_used_up_is_passed_over() -> None:
    found = policy(rule(Cause.PREEMPTED, limit=2), rule(Cause.PREEMPTED, limit=1))
    run = played(found, every("1h"))
    assert [one.decided.rule for one in run.decisions] == [0, 0, 1, None]
    assert run.outcome == "failed"
    assert "no rule matches, or the limits of those that match are used up" in run.why


def test_a_limit_within_a_window_is_free_again_once_the_window_has_passed() -> None:
    found = policy(rule(Cause.PREEMPTED, limit=2, within=span("24h")))
    assert len(played(found, every("13h"), horizon=span("10d")).decisions) > 10
    assert len(played(found, every("1h"), horizon=span("10d")).decisions) == 3


def test_the_budget_of_the_whole_job_ends_it() -> None:
    run = played(policy(rule(Cause.PREEMPTED), limits=Limits(total=3)), every("1h"))
    assert len(run.executions) == 4
    assert run.why == "limits.total of 3 is used up"


def test_programs_have_a_budget_of_their_own() -> None:
    found = policy(
        rule(Cause.PREEMPTED), rule(Cause.NON_ZERO_EXIT), limits=Limits(total=99, program=2)
    )
    run = played(found, every("1h"), failing("5h"))
    assert causes(run).count("NonZeroExit") == 3
    assert run.why == "limits.program of 2 is used up"


def test_a_rule_for_an_exit_code_leaves_the_others_alone() -> None:
    found = policy(rule(Trigger(cause=Cause.NON_ZERO_EXIT, exit_code=(75,))))
    assert len(played(found, failing("5h", 75), horizon=span("2d")).executions) > 5
    assert len(played(found, failing("5h", 1), horizon=span("2d")).executions) == 1


def test_a_backoff_doubles_up_to_its_longest() -> None:
    wait = Backoff(initial=span("10m"), max=span("30m"), jitter=0)
    run = played(policy(rule(Cause.PREEMPTED, backoff=wait)), every("1h"), horizon=span("8h"))
    pauses = [
        (after.opened - before.ended) // 1000
        for before, after in zip(run.executions, run.executions[1:], strict=False)
    ]
    read_and_skew = 10 + 2
    assert pauses[:4] == [
        600 + read_and_skew,
        1200 + read_and_skew,
        1800 + read_and_skew,
        1800 + read_and_skew,
    ]


def test_the_brake_holds_a_job_that_ends_again_and_again() -> None:
    found = policy(
        rule(Cause.NON_ZERO_EXIT), crash_loop=CrashLoop(executions=3, shorter_than=span("5m"))
    )
    run = played(found, failing("1m"))
    assert (run.outcome, len(run.executions)) == ("held", 3)
    assert "crashLoop" in run.why


def test_an_end_that_nobody_knows_the_cause_of_is_charged_to_nobody_and_held_after_ten() -> None:
    run = played(
        policy(rule(Cause.UNKNOWN), limits=Limits(total=3)), every("1h", cause=Cause.UNKNOWN)
    )
    assert {one.decided.budget for one in run.decisions} == {None}
    assert (run.outcome, len(run.executions)) == ("held", 11)


# --- holds


def test_a_hold_lasts_until_a_person_comes() -> None:
    found = policy(rule(Cause.PREEMPTED, do=Action.HOLD))
    assert played(found, every("1h")).outcome == "held"
    run = played(found, every("1h"), person_after=span("8h"), horizon=span("10h"))
    assert starts(run)[:2] == [0, 3600 + SURE + 8 * 3600]
    assert run.waits["held"] == 8 * HOUR


def test_what_nothing_matches_may_hold() -> None:
    run = played(policy(unmatched=Unmatched.HOLD), every("1h"))
    assert (run.outcome, len(run.executions)) == ("held", 1)


def test_a_job_is_held_where_no_proof_comes() -> None:
    found = policy(rule(Cause.NODE_LOST), cessation=Cessation(hold_after=span("1h")))
    lost = every("4h", cause=Cause.NODE_LOST, per_node=True)
    run = played(found, lost, repair=fixed("6h"), horizon=span("9h"))
    assert run.waits["held"] > 4 * HOUR
    assert len(run.executions) == 2
    sooner = played(found, lost, repair=fixed("6h"), person_after=span("1h"), horizon=span("9h"))
    assert starts(sooner)[1] < starts(run)[1]


# --- lost nodes


def node_loss(**fields: object) -> Run:
    """A job on four nodes that loses one after each hour; it is away for six."""
    found = fields.pop("policy", policy(rule(Cause.NODE_LOST)))
    values: dict[str, object] = {"repair": fixed("6h"), "horizon": span("2d"), **fields}
    return played(found, every("4h", cause=Cause.NODE_LOST, per_node=True), **values)  # type: ignore[arg-type]


def test_the_next_copy_waits_for_proof_that_the_lost_node_runs_nothing() -> None:
    run = node_loss()
    kill_wait = 30
    assert starts(run)[1] == 3600 + 6 * 3600 + kill_wait


def test_a_declared_wait_does_without_proof_on_other_nodes() -> None:
    run = node_loss(policy=policy(rule(Cause.NODE_LOST), cessation=Cessation(after="30m")))
    assert starts(run)[1] == 3600 + 10 + 30 * 60


def test_without_spare_nodes_it_waits_for_the_repair() -> None:
    run = node_loss(
        policy=policy(rule(Cause.NODE_LOST), cessation=Cessation(after="30m")), spares=0
    )
    assert starts(run)[1] == 3600 + 6 * 3600
    assert run.executions[1].opened == (3600 + 10 + 30 * 60) * 1000


def test_a_lost_node_hangs_the_job_until_the_scheduler_notices() -> None:
    run = node_loss(node_timeout=span("5m"))
    assert [one.silent for one in run.executions[:2]] == [300_000, 300_000]
    assert run.executions[0].ended == HOUR + 300_000


def test_a_node_that_is_back_at_once_hangs_the_job_no_longer_than_that() -> None:
    assert node_loss(node_timeout=span("5m"), repair=fixed("1m")).executions[0].silent == 60_000


def test_too_many_excluded_nodes_leave_it_waiting_for_ever() -> None:
    exclude = ExcludeNodes(which=Which.ALL, for_=span("100d"), max=8)
    run = node_loss(policy=policy(rule(Cause.NODE_LOST, exclude_nodes=exclude)), spares=3)
    assert (run.outcome, len(run.executions)) == ("waiting", 2)
    assert "exclude" in run.why


def test_an_excluded_node_is_not_used_again() -> None:
    exclude = ExcludeNodes(which=Which.FAILED, for_=span("100d"), max=8)
    assert (
        len(
            node_loss(
                policy=policy(rule(Cause.NODE_LOST, exclude_nodes=exclude)), spares=1
            ).executions
        )
        == 3
    )
    assert len(node_loss(policy=policy(rule(Cause.NODE_LOST)), spares=1).executions) > 5


# --- changes of the job


def test_a_rule_may_move_the_job_to_a_partition_with_other_failures_and_another_queue() -> None:
    found = policy(
        rule(Cause.PREEMPTED, limit=2), rule(Cause.PREEMPTED, with_=Changes(partition="ondemand"))
    )
    calm = Source(cause=Cause.PREEMPTED, partition="ondemand")
    waits = {"ondemand": fixed("3h")}
    run = played(found, every("1h"), calm, queue_wait=waits, horizon=span("10d"))
    assert causes(run) == ["Preempted"] * 3 + [None]
    assert run.executions[-1].started - run.executions[-1].opened == 3 * HOUR


def test_a_rule_may_raise_the_time_limit() -> None:
    raises = Raises(time_limit=Raise(percent=200, max=TimeLimit(hours=8)))
    found = job(policy(rule(Cause.TIMEOUT, raise_=raises)), time_limit=TimeLimit(hours=2))
    run = play(found, plan_simulated(found), conditions(every("9d"), work=span("10h")), 1)
    assert [(one.ended - one.started) // HOUR for one in run.executions] == [2, 4, 4]
    assert run.outcome == "finished"


def test_a_program_that_heeds_the_signal_saves_before_its_time_limit() -> None:
    found = job(
        policy(rule(Trigger(cause=Cause.NON_ZERO_EXIT, exit_code=(75,)))),
        time_limit=TimeLimit(hours=2),
        signal_before=SignalBefore(signal="USR1", lead=span("10m")),
    )
    program = Program(checkpoint_every=span("1h"), exit_on_signal=75)
    run = play(found, plan_simulated(found), conditions(every("9d"), program=program), 1)
    assert [one.spent.lost for one in run.executions[:2]] == [0, 0]
    assert run.executions[0].ended == 110 * 60_000


def test_fewer_nodes_work_slower_and_meet_fewer_failures() -> None:
    found = policy(rule(Cause.NODE_LOST, with_=Changes(nodes=2)), cessation=Cessation(after="1ms"))
    lost = every("4h", cause=Cause.NODE_LOST, per_node=True)
    run = played(found, lost, work=span("3h"))
    assert [(one.nodes, one.spent.kept // HOUR) for one in run.executions] == [
        (4, 1),
        (2, 2),
        (2, 2),
    ]
    assert run.outcome == "finished"


# --- the end


def test_a_job_that_finishes_its_work_has_succeeded() -> None:
    run = played(AGAIN, every("4h"), work=span("10h"), horizon=span("10d"))
    assert run.outcome == "finished"
    assert sum(one.spent.kept for one in run.executions) == 10 * HOUR


def test_a_job_that_is_preempted_sooner_than_it_saves_comes_nowhere() -> None:
    run = played(AGAIN, every("1h"), program=Program(checkpoint_every=span("2h")), work=span("3h"))
    assert run.outcome == "running"
    assert sum(one.spent.kept for one in run.executions[:-1]) == 0


def test_a_job_that_only_ever_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "MOST_EXECUTIONS", 50)
    run = played(policy(rule(Cause.PREEMPTED)), every("1ms"), horizon=span("3650d"))
    assert (run.outcome, len(run.executions)) == ("endless", 50)


def test_what_saves_when_it_is_preempted_loses_nothing() -> None:
    program = Program(checkpoint_every=span("1d"), saves_when_preempted=True)
    run = played(AGAIN, every("5h"), program=program, horizon=span("2d"))
    assert sum(one.spent.lost for one in run.executions) == 0


def test_a_policy_that_dispatch_cannot_carry_out_is_refused_with_its_reasons() -> None:
    with pytest.raises(Refused, match="not carried out by this version"):
        simulate(job(policy(rule(Cause.PREEMPTED, do=Action.RESTART))), conditions(), [1])


# --- runs as such

MIXED = (
    once_in("5h"),
    once_in("10d", Cause.NODE_LOST, per_node=True),
    once_in("2d", Cause.NON_ZERO_EXIT),
)
WAITS: dict[str, Any] = {"queue_wait": {"": Spread(mean=Duration(minutes=20), exponential=True)}}
VARIED = policy(
    rule(Cause.PREEMPTED, limit=20, within=span("2d"), backoff=Backoff()),
    rule(Cause.NODE_LOST, exclude_nodes=ExcludeNodes(which=Which.ALL, max=5)),
    rule(Cause.NON_ZERO_EXIT, limit=5),
)


@pytest.mark.parametrize("seed", range(4))
def test_a_run_is_the_same_each_time(seed: int) -> None:
    assert played(VARIED, *MIXED, seed=seed, **WAITS) == played(VARIED, *MIXED, seed=seed, **WAITS)


def test_another_seed_is_another_run() -> None:
    assert played(VARIED, *MIXED, seed=1) != played(VARIED, *MIXED, seed=2)


def keep(_: _Game) -> None:
    """Drop nothing."""


@pytest.mark.parametrize("seed", range(4))
def test_objects_that_have_ceased_need_not_be_kept(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = played(VARIED, *MIXED, seed=seed, **WAITS)
    monkeypatch.setattr(_Game, "_forget_what_is_gone", keep)
    assert played(VARIED, *MIXED, seed=seed, **WAITS) == run


@pytest.mark.parametrize("seed", range(4))
def test_the_time_of_a_run_adds_up(seed: int) -> None:
    run = played(VARIED, *MIXED, seed=seed, node_timeout=span("5m"), horizon=span("20d"), **WAITS)
    spent = sum(sum(one.spent) + one.silent + one.started - one.opened for one in run.executions)
    assert spent + sum(run.waits.values()) == run.ended


def test_two_policies_meet_the_same_failures_after_the_same_time_of_running() -> None:
    slow = policy(rule(Cause.PREEMPTED, backoff=Backoff(initial=span("3h"), max=span("3h"))))
    quick, waiting = (
        played(one, once_in("5h"), seed=3, horizon=span("10d")) for one in (AGAIN, slow)
    )
    ran = [[one.ended - one.started for one in run.executions[:10]] for run in (quick, waiting)]
    assert ran[0] == ran[1]


def test_a_day_of_a_calm_job_is_one_execution() -> None:
    run = played(AGAIN, every("9d"), horizon=span("1d"))
    assert [one.spent.kept for one in run.executions] == [DAY]
