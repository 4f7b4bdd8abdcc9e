"""Every strike at every step of the short lives, and some pairs of them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from dispatch.core import ending
from dispatch.core.situation import Situation, final_verdict
from dispatch.model.status import Observation
from dispatch.model.steps import Step
from dispatch.model.view import ObjectView, Sighting
from dispatch.sim.enumerating import enumerate_strikes, play, strikes_of
from dispatch.sim.options import Line
from dispatch.sim.scenario import SCENARIOS, Kind, Strike

NEAR = 3
"""Pairs of strikes are at most so many steps apart, here; ``dispatch dev sim --enumerate`` goes further."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_strike_breaks_a_rule_or_loses_the_job(name: str) -> None:
    cases = list(enumerate_strikes(SCENARIOS[name]))
    assert len(cases) > 15
    assert [str(case) for case in cases if case.wrong] == []


def test_no_two_strikes_soon_after_one_another_do() -> None:
    cases = list(enumerate_strikes(SCENARIOS["a job succeeds"], pairs=NEAR))
    assert len(cases) > 100
    assert [str(case) for case in cases if case.wrong] == []


@contextmanager
def ends_are_judged_at_once() -> Generator[None]:
    judge = ending._judge_when_sure

    def hasty(s: Situation, known: ObjectView, seen: Observation, ended: Sighting) -> Step:
        assert ended.boot
        return ending._judge(s, known, final_verdict(known, seen.verdict))

    ending._judge_when_sure = hasty
    try:
        yield
    finally:
        ending._judge_when_sure = judge


def test_a_strike_finds_an_end_that_is_judged_within_the_save_window() -> None:
    scenario = SCENARIOS["a job is stopped while it waits"]
    cases = enumerate_strikes(scenario, mutant=ends_are_judged_at_once)
    assert any(case.wrong for case in cases)


def test_a_strike_happens_at_its_step_and_can_be_played_again() -> None:
    scenario = SCENARIOS["a job succeeds"]
    line = next(line for line in play(scenario).outcome.trace if line.what == "j1 open")
    strikes = (Strike(line.step, Kind.DIE),)
    first, second = play(scenario, strikes), play(scenario, strikes)
    assert first.outcome == second.outcome
    dead = first.outcome.trace[line.step]
    assert (dead.who, dead.what) == (line.who, "is dead")


def test_what_strikes_depends_on_who_made_the_step() -> None:
    lines = [
        Line(1, 0.0, "cluster", "j1 open #1 lands"),
        Line(2, 0.0, "s1.1", "j1 open"),
        Line(3, 0.0, "s1.1", "append"),
        Line(4, 0.0, "j1", "4: Observed {}"),
        Line(5, 0.0, "s1.1", "is dead"),
    ]
    kinds = {line.step: {strike.kind for strike in strikes_of([line])} for line in lines}
    assert Kind.CRASH in kinds[1]
    assert kinds[2] == {Kind.DIE, Kind.LOST, Kind.LATE}
    assert kinds[3] == {Kind.DIE}
    assert kinds[4] == {Kind.CRASH, Kind.PARTLY}
    assert not kinds[5]
