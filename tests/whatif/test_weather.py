"""When failures strike."""

from __future__ import annotations

import math

import pytest

from dispatch.model.quantity import Duration
from dispatch.model.status import Cause
from dispatch.whatif.weather import NEVER, Gap, Hazard, Source, Spread, draw, draws, exponential
from whatif.makers import every, fixed, once_in


def strikes(source: Source, seed: int | None, count: int, nodes: int = 1) -> list[int]:
    hazard, found = Hazard(source, seed), list[int]()
    for _ in range(count):
        found.append(hazard.strikes_in(nodes))
        hazard.strike()
    return found


def test_random_gaps_have_their_mean_and_the_spread_of_a_poisson_process() -> None:
    gaps = strikes(once_in("1h"), 7, 4000)
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert mean == pytest.approx(3_600_000, rel=0.05)
    assert deviation == pytest.approx(mean, rel=0.07)


def test_the_draws_of_a_seed_are_these_on_every_machine() -> None:
    assert strikes(once_in("1h"), 1, 3) == FIRST_OF_SEED_1


FIRST_OF_SEED_1 = [5202254, 7659317, 1753242]


def test_another_seed_draws_other_gaps() -> None:
    assert strikes(once_in("1h"), 1, 3) != strikes(once_in("1h"), 2, 3)


def test_kinds_do_not_share_their_draws() -> None:
    assert strikes(once_in("1h"), 1, 3) != strikes(once_in("1h", Cause.EVICTED), 1, 3)


def test_more_nodes_are_hit_sooner_and_use_up_more_of_the_gap() -> None:
    hazard = Hazard(every("8h", cause=Cause.NODE_LOST, per_node=True), None)
    assert hazard.strikes_in(4) == Duration(hours=2).ms
    hazard.pass_by(Duration(hours=1).ms, nodes=4)
    assert hazard.strikes_in(4) == Duration(hours=1).ms
    assert hazard.strikes_in(1) == Duration(hours=4).ms


def test_a_history_without_a_seed_comes_in_its_order_and_begins_again() -> None:
    assert strikes(every("1h", "2h"), None, 3) == [3_600_000, 7_200_000, 3_600_000]


def test_a_history_with_a_seed_comes_in_any_order() -> None:
    found = strikes(every("1h", "2h"), 3, 50)
    assert set(found) == {3_600_000, 7_200_000}
    assert found != strikes(every("1h", "2h"), None, 50)


def test_time_in_which_nothing_happened_delays_the_next() -> None:
    source = Source(cause=Cause.PREEMPTED, gaps=(Gap(ms=5), Gap(ms=100, happened=False)))
    assert strikes(source, None, 3) == [5, 105, 105]
    assert source.mean_ms == 105


def test_a_history_in_which_it_never_happened_never_strikes() -> None:
    source = Source(cause=Cause.PREEMPTED, gaps=(Gap(ms=100, happened=False),))
    assert strikes(source, 1, 2) == [NEVER, NEVER]
    assert math.isinf(source.mean_ms)


def test_a_history_of_failures_at_once_lets_a_job_run_at_least_a_moment() -> None:
    assert strikes(Source(cause=Cause.PREEMPTED, gaps=(Gap(ms=0),)), 1, 2) == [1, 1]


def test_a_time_is_always_the_same_or_random_around_its_mean() -> None:
    drawn = draws(1, "queue")
    assert {draw(fixed("20m"), drawn) for _ in range(5)} == {1_200_000}
    waits = [draw(Spread(mean=Duration(minutes=20), exponential=True), drawn) for _ in range(3000)]
    assert sum(waits) / len(waits) == pytest.approx(1_200_000, rel=0.06)


def test_a_time_of_nothing_is_at_least_a_moment() -> None:
    assert exponential(draws(1, "x"), 0) == 1
