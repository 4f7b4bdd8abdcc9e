"""The simulation agrees with what is known in closed form: lost work, and the best interval between checkpoints."""

from __future__ import annotations

import math
from functools import cache

import pytest

from dispatch.model.quantity import Duration
from dispatch.model.status import Cause
from dispatch.whatif.advice import (
    Advice,
    advise,
    daly,
    expected_ratio,
    mean_time_between_losses,
    young,
)
from dispatch.whatif.conditions import Conditions, Program
from dispatch.whatif.playing import Run
from dispatch.whatif.simulating import simulate
from whatif.makers import HOUR, conditions, job, once_in, span

MTBF = span("10h")
COST = span("3m")
RESTART = span("6m")
SEEDS = range(12)


@cache
def runs(every: Duration, cost: Duration = COST, restart: Duration = RESTART) -> list[Run]:
    """Runs of a hundred days of a job that is preempted once in ten hours."""
    program = Program(checkpoint_every=every, checkpoint_cost=cost, restart_cost=restart)
    made = conditions(once_in(str(MTBF)), program=program, horizon=span("100d"))
    return simulate(job(), made, list(SEEDS))


def ratio_while_running(found: list[Run]) -> float:
    """The share of the running time that was kept: what stands between two executions is no part of the closed form."""
    ran = sum(sum(one.spent) for run in found for one in run.executions)
    return sum(one.spent.kept for run in found for one in run.executions) / ran


def test_a_failure_loses_half_an_interval_where_that_is_short() -> None:
    """Uniform in the interval, but for the little by which an early failure is likelier: T/2 - T²/12M."""
    every = span("1h")
    found = runs(every, Duration(), Duration())
    lost = [one.spent.lost for run in found for one in run.executions if one.cause]
    mean = sum(lost) / len(lost)
    exact = MTBF.ms - every.ms / math.expm1(every / MTBF)
    noise = every.ms / math.sqrt(12 * len(lost))
    assert len(lost) > 2000
    assert abs(mean - exact) < 3 * noise
    assert abs(mean - every.ms / 2) < 4 * noise


def test_a_failure_loses_the_restart_too() -> None:
    found = runs(span("1h"), Duration(), RESTART)
    ended = [one for run in found for one in run.executions if one.cause]
    restarts = sum(one.spent.restart for one in ended) / len(ended)
    # A failure during the restart cuts it short: M (1 - e^(-R/M)).
    assert restarts == pytest.approx(-MTBF.ms * math.expm1(-RESTART / MTBF), rel=0.01)


@pytest.mark.parametrize("times", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_the_share_that_is_kept_is_dalys_expectation(times: float) -> None:
    every = Duration.of_ms(round(daly(COST.ms, MTBF.ms) * times))
    exact = expected_ratio(every.ms, COST.ms, RESTART.ms, MTBF.ms)
    assert ratio_while_running(runs(every)) == pytest.approx(exact, abs=0.006)


def test_the_best_interval_is_dalys() -> None:
    best = daly(COST.ms, MTBF.ms)
    found = {
        times: ratio_while_running(runs(Duration.of_ms(round(best * times))))
        for times in (0.25, 0.5, 1.0, 2.0, 4.0)
    }
    assert max(found, key=lambda times: found[times]) == 1.0


def test_dalys_interval_is_where_the_closed_form_is_best() -> None:
    best = daly(COST.ms, MTBF.ms)
    ratios = {n: expected_ratio(best * n / 20, COST.ms, RESTART.ms, MTBF.ms) for n in range(10, 31)}
    assert max(ratios, key=lambda n: ratios[n]) == 20


def test_young_and_daly_agree_where_saving_is_cheap_and_differ_where_it_is_not() -> None:
    assert daly(1, 1e6) == pytest.approx(young(1, 1e6), rel=0.001)
    assert young(300, 3600) == pytest.approx(1469.7, abs=0.1)
    assert daly(300, 3600) == pytest.approx(1276.5, abs=0.1)
    assert daly(7200, 3600) == 3600


# --- advice


def advised(made: Conditions) -> Advice | None:
    return advise(made, job(nodes=10))


def test_all_that_loses_work_counts_for_the_advice() -> None:
    made = conditions(once_in("20h"), once_in("200h", Cause.NODE_LOST, per_node=True))
    assert mean_time_between_losses(made, job(nodes=10)) == pytest.approx(10 * HOUR)


def test_what_is_saved_before_it_ends_does_not_count() -> None:
    program = Program(saves_when_preempted=True, checkpoint_cost=COST)
    found = advised(conditions(once_in("1h"), once_in("10h", Cause.EVICTED), program=program))
    assert found is not None
    assert found.mtbf == 10 * HOUR


def test_there_is_no_advice_where_saving_is_free_or_nothing_is_lost() -> None:
    assert advised(conditions(once_in("1h"))) is None
    assert advised(conditions(program=Program(checkpoint_cost=COST))) is None
