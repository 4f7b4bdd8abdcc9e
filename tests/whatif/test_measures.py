"""What runs come to, summed up; nothing is counted twice or lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.policy import Limits, Trigger
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause
from dispatch.whatif.conditions import Program
from dispatch.whatif.measures import Summary, figure, summarize
from dispatch.whatif.playing import Run
from dispatch.whatif.reporting import document, report
from dispatch.whatif.tally import TIMES, ratio, tally, times_of
from whatif.makers import (
    AGAIN,
    DAY,
    HOUR,
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
)  # fmt: skip

MIXED = (
    once_in("5h"),
    once_in("10d", Cause.NODE_LOST, per_node=True),
    once_in("2d", Cause.NON_ZERO_EXIT),
)
VARIED = policy(
    rule(Cause.PREEMPTED, limit=20, within=span("2d")), rule(Cause.NODE_LOST), rule(Cause.NON_ZERO_EXIT, limit=3),
)  # fmt: skip


def varied(seeds: int = 4) -> list[Run]:
    program = Program(
        checkpoint_every=span("1h"), checkpoint_cost=span("2m"), restart_cost=span("9m")
    )
    waits = {"": fixed("7m")}
    return [
        played(
            VARIED, *MIXED, seed=seed, program=program, node_timeout=span("5m"), queue_wait=waits
        )
        for seed in range(seeds)
    ]


def summed_up(made: Job, horizon: int, runs: Sequence[Run]) -> Summary:
    return summarize(
        made, [tally(made, conditions(horizon=Duration.of_ms(horizon)), run) for run in runs]
    )


def test_a_figure_has_the_mean_and_the_spread() -> None:
    assert figure(range(11)) == (5, 1, 5, 9)
    assert figure([3]) == (3, 3, 3, 3)
    assert tuple(figure([0, 1])) == pytest.approx((0.5, 0.1, 0.5, 0.9))


@pytest.mark.parametrize("run", varied(), ids=lambda run: f"seed {run.seed}")
def test_all_of_the_time_is_told(run: Run) -> None:
    times = times_of(run, 30 * DAY)
    assert tuple(times) == TIMES
    assert sum(times.values()) == 30 * DAY


def test_the_ratio_of_a_job_that_was_given_up_is_that_of_the_whole_time() -> None:
    run = played(None, every("1d"))
    assert ratio(run, 10 * DAY) == pytest.approx(0.1, abs=0.001)


def test_the_ratio_of_a_job_that_finished_is_that_of_its_own_time() -> None:
    run = played(AGAIN, every("30d"), work=span("12h"), horizon=span("90d"))
    assert ratio(run, 90 * DAY) == pytest.approx(1.0, abs=0.001)


def test_each_cause_is_told_with_its_cost() -> None:
    program = Program(checkpoint_every=span("1h"), restart_cost=span("30m"))
    run = played(
        AGAIN, every("2h"), program=program, queue_wait={"": fixed("1h")}, horizon=span("7h")
    )
    (row,) = summed_up(job(AGAIN), 7 * HOUR, [run]).causes
    # Started at 1 h and, 40 s after its end, an hour later again; each ran for 2 h, of which 30 min are lost.
    assert (row.cause, row.executions) == ("Preempted", 2)
    assert row.lost == 4 * 2 * 0.5
    assert row.restart == pytest.approx(4 * 0.5)
    assert row.waited == pytest.approx(2, abs=0.01)


def test_each_rule_is_told_with_its_uses_and_the_day_of_its_limit() -> None:
    found = policy(
        rule(Cause.PREEMPTED, limit=3), rule(Trigger(cause=Cause.PREEMPTED), do=Action.FAIL)
    )
    runs = [played(found, every("1d"), seed=seed) for seed in (1, 2)]
    first, second = summed_up(job(found), 30 * DAY, runs).rules
    assert (first.rule, first.causes, first.action, first.limit) == (
        1,
        ("Preempted",),
        "resubmit",
        "3",
    )
    assert (first.uses.mean, first.used_up) == (3, 2)
    assert first.day is not None
    assert first.day.p50 == pytest.approx(3, abs=0.01)
    assert (second.action, second.uses.mean, second.day) == ("fail", 1, None)


def test_a_limit_in_a_window_is_reached_only_within_it() -> None:
    found = policy(rule(Cause.PREEMPTED, limit=2, within=span("24h")))
    (often,) = summed_up(job(found), 30 * DAY, [played(found, every("10h"))]).rules
    (seldom,) = summed_up(job(found), 30 * DAY, [played(found, every("30h"))]).rules
    assert (often.limit, often.used_up, seldom.used_up) == ("2 in 1d", 1, 0)


def test_each_budget_is_told_with_the_day_on_which_it_was_used_up() -> None:
    found = policy(
        rule(Cause.PREEMPTED), rule(Cause.NON_ZERO_EXIT), limits=Limits(total=50, infrastructure=40, program=2)
    )  # fmt: skip
    run = played(found, every("1d"), failing("2d12h"))
    budgets = {row.name: row for row in summed_up(job(found), 30 * DAY, [run]).budgets}
    assert (budgets["program"].charged.mean, budgets["program"].used_up) == (2, 1)
    assert budgets["program"].day is not None
    assert budgets["program"].day.p50 == pytest.approx(5, abs=0.01)
    assert budgets["total"].used_up == budgets["infrastructure"].used_up == 0
    assert budgets["total"].charged.mean == budgets["infrastructure"].charged.mean + 2


def test_endings_are_grouped_by_the_words_of_the_core() -> None:
    found = policy(rule(Cause.PREEMPTED), limits=Limits(total=1))
    runs = [played(found, every("1d"), seed=seed) for seed in (1, 2, 3)]
    (row,) = summed_up(job(found), 30 * DAY, runs).endings
    assert (row.outcome, row.why, row.seeds) == ("failed", "limits.total of 1 is used up", 3)


def test_a_report_has_the_advice_and_what_it_would_give() -> None:
    program = Program(checkpoint_every=span("5h"), checkpoint_cost=span("1m"))
    one = report("mine", job(), conditions(once_in("5h"), program=program), [1, 2, 3])
    assert one.advised is not None
    assert one.advised.ratio_daly > one.advised.ratio_now + 0.1
    told = document(one)
    assert told["advice"]["dalyInterval"].startswith("23m49s")
    assert told["conditions"]["sources"] == [{"cause": "Preempted", "mean": "5h", "recorded": 0}]
    assert told["effectiveTrainingTimeRatio"]["mean"] == one.summary.ettr.mean
