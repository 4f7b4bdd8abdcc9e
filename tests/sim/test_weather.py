"""Faults have names, each is drawn by itself, and a call that was sent lands whatever becomes of its caller."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dispatch.model.answers import Declarations
from dispatch.sim.chance import Chance
from dispatch.sim.enumerating import play
from dispatch.sim.options import Line
from dispatch.sim.scenario import SCENARIOS, Kind, Strike
from dispatch.sim.weather import Faults, Weather

STORM = timedelta(minutes=40)
SCENARIO = SCENARIOS["a job succeeds"]


def weather(seed: int, only: frozenset[str] | None = None) -> tuple[Weather, Faults]:
    faults = Faults(only)
    return Weather(Chance(seed), faults, STORM, Declarations()), faults


def rough(seed: int = 0) -> int:
    """The next seed with rough weather."""
    while weather(seed)[0].rate(0.0) < 0.1:
        seed += 1
    return seed


def told(calls: Weather, number: int) -> str:
    return str(calls.write(f"j1 open #{number}", 0.0))


def test_a_fault_that_is_left_out_moves_no_other() -> None:
    seed = rough()
    every, faults = weather(seed)
    ways = [told(every, number) for number in range(200)]
    assert len(faults.happened) > 5
    without = frozenset(faults.happened[1:])
    fewer, left = weather(seed, without)
    again = [told(fewer, number) for number in range(200)]
    assert left.happened == faults.happened[1:]
    assert sum(one != other for one, other in zip(ways, again, strict=True)) == 1


def test_a_write_lands_within_the_call_bound_of_its_beginning() -> None:
    seed, bound = rough(), Declarations().call_bound.total_seconds()
    calls, _ = weather(seed)
    ways = [calls.write(f"j1 open #{number}", 0.0) for number in range(500)]
    assert all(0 < way.landing < bound for way in ways)
    assert all(way.again is None or 0 <= way.again < bound for way in ways)
    assert max(way.landing for way in ways) > bound / 2


def test_nothing_happens_once_the_faults_have_ceased() -> None:
    calls, faults = weather(rough())
    faults.ceased = True
    for number in range(200):
        calls.write(f"j1 open #{number}", 0.0)
    assert not faults.happened


def test_a_stream_is_the_same_in_every_process_and_differs_with_its_name() -> None:
    assert [Chance(7).stream("a").whole(0, 999) for _ in range(2)] == [365, 365]
    assert Chance(7).stream("b").unit() != Chance(7).stream("a").unit()
    assert Chance(8).stream("a").unit() != Chance(7).stream("a").unit()


def strike(what: str, kind: Kind) -> tuple[Line, list[Line]]:
    """Strike where that is done first; the step, and all that follows."""
    first = next(line for line in play(SCENARIO).outcome.trace if line.what == what)
    trace = play(SCENARIO, (Strike(first.step, kind),)).outcome.trace
    return first, [line for line in trace if line.step > first.step]


def lands(lines: list[Line]) -> Line:
    return next(line for line in lines if line.what == "j1 open #1 lands")


def test_a_call_whose_caller_dies_before_it_is_sent_never_lands() -> None:
    _, after = strike("j1 open", Kind.DIE)
    assert after[0].what == "is dead"
    assert not [line for line in after if line.what == "j1 open #1 lands"]


def test_a_call_that_is_late_and_unheard_lands_just_within_its_bound() -> None:
    sent, after = strike("j1 open", Kind.LATE)
    assert lands(after).seconds == pytest.approx(sent.seconds + 0.99 * 25)
    assert not [line for line in after if line.what == "j1 open answered"]


def test_a_reply_that_is_lost_is_that_of_a_call_which_has_landed() -> None:
    sent, after = strike("j1 open", Kind.LOST)
    assert lands(after).seconds < sent.seconds + 1
    assert not [line for line in after if line.what == "j1 open answered"]


def test_a_dead_process_writes_nothing_more_and_another_follows_it() -> None:
    first, after = strike("j1 start", Kind.DIE)
    assert not [line for line in after[1:] if line.who == first.who]
    life = int(first.who.partition(".")[2])
    follower = f"{first.who.partition('.')[0]}.{life + 1}"
    assert [line for line in after if line.who == follower]
