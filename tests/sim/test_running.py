"""A seed runs to its end, the same way each time, and a calm one disturbs nobody."""

from __future__ import annotations

import pytest

from dispatch.sim import Options, run
from dispatch.sim.running import is_death
from dispatch.sim.wire import Wire
from dispatch.testing.points import Crash
from sim.reverting import put

CALM = Options(faults=False)


def test_without_faults_every_job_succeeds() -> None:
    outcome = run(1, CALM)
    assert outcome.violation is None
    assert outcome.ends == {"Succeeded": CALM.jobs}
    assert not outcome.faults


def test_the_same_seed_gives_the_same_run() -> None:
    first, second = (run(11, Options(trace=True)) for _ in range(2))
    assert first == second
    assert first.faults
    plain = run(11)
    assert (plain.steps, plain.faults) == (first.steps, first.faults)


def test_a_run_stops_at_the_step_it_is_told_to() -> None:
    assert run(11, Options(stop_at=50, trace=True)).trace[49].step == 50


def test_only_the_faults_that_are_named_happen() -> None:
    every = run(11).faults
    some = frozenset(every[:3])
    assert set(run(11, Options(only=some)).faults) <= some
    assert not run(11, Options(only=frozenset())).faults


@pytest.mark.parametrize("seed", range(30))
def test_no_rule_is_broken(seed: int) -> None:
    outcome = run(seed)
    assert outcome.violation is None, str(outcome.violation)


@pytest.mark.parametrize("step", [5, 17, 60])
def test_what_the_end_of_a_run_cuts_short_is_no_finding(step: int) -> None:
    for seed in range(4):
        assert run(seed, Options(stop_at=step)).violation is None


def test_an_error_at_which_nobody_looks_is_a_finding() -> None:
    def failing(_: object) -> None:
        raise LookupError("there is none")

    with put(Wire, "declarations", property(failing)):
        violation = run(1, CALM).violation
    assert violation is not None
    assert violation.rule == "fault"
    assert "there is none" in violation.what


def test_only_the_end_of_a_process_is_its_death() -> None:
    assert is_death(BaseExceptionGroup("", [Crash(), BaseExceptionGroup("", [Crash()])]))
    assert not is_death(BaseExceptionGroup("", [Crash(), OSError()]))
    assert not is_death(None)
