"""The page on the simulator names everything that can go wrong, with the weight that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatch.sim import acts, scheduler, weather
from dispatch.sim.mutants import MUTANTS
from dispatch.sim.scenario import SCENARIOS

EXPLANATION = Path(__file__).parents[2] / "docs" / "explanation"
PAGE = (EXPLANATION / "simulator.md").read_text()
CELLS = {cell.strip() for cell in PAGE.split("|")}
WEIGHED = {
    f"{name} ({weight:g})"
    for name, weight in (
        *weather._WRITES,
        *scheduler.ENDS,
        *((act.name, act.weight) for act in acts.ACTS),
        *((act.name, weight) for act, weight in acts.REACTIONS),
    )
}
APART = [f"| {act.name} | {100 * share:g} % |" for act, share in acts.APART]


@pytest.mark.parametrize("weighed", sorted(WEIGHED))
def test_the_page_gives_what_goes_wrong_its_weight(weighed: str) -> None:
    assert weighed in CELLS


@pytest.mark.parametrize("row", APART)
def test_the_page_tells_what_is_drawn_apart_and_how_often(row: str) -> None:
    assert row in PAGE


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_page_has_each_scenario(name: str) -> None:
    assert name in CELLS


def test_the_page_counts_the_mutants() -> None:
    assert f"| mutants | {len(MUTANTS)}, " in (EXPLANATION / "simulator-mutants.md").read_text()
