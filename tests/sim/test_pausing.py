"""A process that stands still does nothing, whatever it had set, and goes on late with what it knew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dispatch.adapters.memory import ShapeName
from dispatch.sim import Outcome, run
from dispatch.sim.climates import STANDING_STILL
from dispatch.sim.pausing import PausableLoop
from dispatch.sim.process import Process

Pauses = list[tuple[str, float, float]]
NEWS = ("is dead", "stands still")
"""What a trace tells of a process that is not its own doing."""


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    """Who stood still, from when, and until when."""
    told: Pauses = []
    pause = PausableLoop.pause

    def noted(self: PausableLoop, process: Process, seconds: float) -> None:
        pause(self, process, seconds)
        told.append((process.name, self.time(), process.paused_until))

    monkeypatch.setattr(PausableLoop, "pause", noted)
    return told


def doings(outcome: Outcome, pauses: Pauses) -> list[str]:
    """What processes did while they stood still."""
    return [
        str(line)
        for name, begin, end in pauses
        for line in outcome.trace
        if line.who == name and begin < line.seconds < end and line.what not in NEWS
    ]


@pytest.mark.parametrize("shape", list(ShapeName), ids=str)
def test_who_stands_still_does_nothing_and_no_rule_is_broken(
    shape: ShapeName, pauses: Pauses
) -> None:
    went_on = 0
    for seed in range(20):
        pauses.clear()
        outcome = run(seed, replace(STANDING_STILL, shape=shape, trace=True))
        assert outcome.violation is None, f"{seed}: {outcome.violation}"
        assert doings(outcome, pauses) == []
        ends = {(name, end) for name, _, end in pauses}
        went_on += sum((line.who, line.seconds) in ends for line in outcome.trace)
    assert went_on > 20


def test_a_process_that_does_not_stand_still_is_seen_to_act(
    pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(self: PausableLoop, process: Process, seconds: float) -> None:
        told.append((process.name, self.time(), self.time() + seconds))

    told = pauses
    monkeypatch.setattr(PausableLoop, "pause", at_once)
    outcome = run(3, replace(STANDING_STILL, trace=True))
    assert doings(outcome, told) != []
