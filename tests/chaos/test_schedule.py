"""The seed alone decides which jobs there are and which faults come when."""

from __future__ import annotations

from collections import Counter

import pytest

from chaos.fates import ENDS, SHARES, VICTIMS, Fate, make_plans
from chaos.schedule import RATES, Kind, make_aims, make_schedule
from dispatch.model.documents import decode_document
from dispatch.model.job import Job
from dispatch.model.journal import Verb


def test_the_same_seed_gives_the_same_jobs_and_faults_and_another_seed_others() -> None:
    assert make_plans(7, 60) == make_plans(7, 60)
    assert make_plans(7, 60) != make_plans(8, 60)
    schedule = make_schedule(7, 100, supervisors=2, nodes=6)
    assert schedule == make_schedule(7, 100, supervisors=2, nodes=6)
    assert schedule != make_schedule(8, 100, supervisors=2, nodes=6)


@pytest.mark.parametrize("count", [12, 60, 300])
def test_a_run_has_so_many_jobs_of_different_keys_and_no_fate_is_left_out(count: int) -> None:
    plans = make_plans(0, count)
    assert len({plan.key for plan in plans}) == len(plans) == count
    fates = Counter(plan.fate for plan in plans)
    missing = set(Fate) - set(fates)
    assert not missing or count < sum(1 for _ in SHARES) + 1


def test_the_shares_are_of_sixty_jobs_and_every_fate_has_an_end() -> None:
    assert sum(SHARES.values()) == 60
    assert set(ENDS) == set(SHARES) == set(Fate)
    assert set(Fate) > VICTIMS


@pytest.mark.parametrize("seed", range(5))
def test_each_job_file_is_one_that_dispatch_takes(seed: int) -> None:
    for plan in make_plans(seed, 60):
        job = decode_document(plan.document(), Job, where="The job")
        assert job.name == plan.key


@pytest.mark.parametrize("seed", range(5))
def test_a_schedule_has_each_fault_in_its_measure_and_its_order(seed: int) -> None:
    schedule = make_schedule(seed, 100, supervisors=2, nodes=6)
    assert list(schedule) == sorted(schedule, key=lambda fault: fault.at)
    counts = Counter(fault.kind for fault in schedule)
    assert counts == {kind: round(100 / rate[0]) for kind, rate in RATES.items()}
    for fault in schedule:
        _, least, greatest = RATES[fault.kind]
        assert 0 <= fault.at <= 100
        assert least <= fault.length <= greatest
        assert fault.target < (6 if fault.kind in (Kind.KILL_SLURMD, Kind.PAUSE_SLURMD) else 2)


def test_every_verb_is_aimed_at_and_twenty_kills_are_wanted() -> None:
    assert set(make_aims(60)) == set(Verb)
    assert sum(make_aims(60).values()) >= 20
    assert min(make_aims(1).values()) == 1
