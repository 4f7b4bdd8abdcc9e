"""Faults of dispatch itself are found within their stated number of seeds; calm weather hides most, and no normal run reaches one."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dispatch.cli.commands.dev_sim import replay_line
from dispatch.sim import run
from dispatch.sim.climates import CLIMATES
from dispatch.sim.hunting_mutants import Hunted, hunt_mutant, hunt_mutants, mutant_names
from dispatch.sim.mutants import MUTANTS, UNSHOWN, Mutant
from dispatch.sim.options import Options

RULES = Path(__file__).parents[2] / "docs" / "explanation" / "rules.md"
CALM_SEEDS = 3
"""In CI; by hand a hundred (docs/explanation/simulator.md)."""


@pytest.fixture(scope="module")
def hunted() -> dict[str, Hunted]:
    """What becomes of every mutant, on all cores."""
    return {one.name: one for one in hunt_mutants()}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", mutant_names())
def test_a_mutant_is_found_within_its_seeds(name: str, hunted: dict[str, Hunted]) -> None:
    assert hunted[name].found, f"not within {hunted[name].within} seeds"


@pytest.mark.timeout(600)
def test_without_faults_most_mutants_stay_unseen() -> None:
    unseen = [one.name for one in hunt_mutants(calm=CALM_SEEDS) if not one.found]
    assert len(unseen) >= 20, unseen


@pytest.mark.parametrize("climate", sorted(CLIMATES))
def test_in_their_climates_nothing_is_found_without_a_mutant(climate: str) -> None:
    for seed in range(3):
        violation = run(seed, CLIMATES[climate]).violation
        assert violation is None, f"seed {seed}: {violation}"


def test_what_is_found_without_the_mutant_too_is_not_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harmless = Mutant("none", "R1", "Nothing is broken.", (), 2, Options(stop_at=1))
    monkeypatch.setattr("dispatch.sim.mutants.MUTANTS", (harmless,))
    assert not hunt_mutant("none").found


def test_there_are_at_least_thirty_each_with_a_name_of_its_own() -> None:
    names = [one.name for one in MUTANTS]
    assert len(names) >= 30
    assert len(set(names)) == len(names)


def test_each_rule_is_broken_by_a_mutant_or_it_is_said_why_not() -> None:
    rules = set(re.findall(r"^### ([A-Z]\d)\. ", RULES.read_text(), flags=re.MULTILINE))
    broken = {one.rule for one in MUTANTS}
    assert rules <= broken | UNSHOWN.keys()
    assert not broken & UNSHOWN.keys()
    assert UNSHOWN.keys() <= rules


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_a_mutant_leaves_nothing_behind(mutant: Mutant) -> None:
    def stands() -> list[object]:
        return [swap.stands() for swap in mutant.swaps]

    before = stands()
    with mutant.planted():
        assert all(now is not old for now, old in zip(stands(), before, strict=True))
    assert all(now is old for now, old in zip(stands(), before, strict=True))


def test_a_mutant_does_not_outlive_its_run() -> None:
    mutant = next(one for one in MUTANTS if one.name == "open before the record")
    options = replace(mutant.options, stop_at=400)
    sound = run(0, options)
    assert run(0, options, mutant.planted).violation is not None
    assert run(0, options) == sound


@pytest.mark.parametrize(
    "imports",
    [
        "dispatch.cli.main, dispatch.cli.commands.submit, dispatch.cli.commands.supervise",
        "dispatch.cli.commands.dev_sim, dispatch.sim",
        "dispatch.shell.supervisor, dispatch.adapters.memory, dispatch.testing.memory_scheduler",
    ],
)
def test_no_normal_run_loads_a_mutant(imports: str) -> None:
    ask = f"import sys, {imports}; print(*(name for name in sys.modules if name.startswith('dispatch.sim.mutants')))"
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert not said.stdout.strip()


def test_a_submission_loads_no_part_of_the_simulator() -> None:
    ask = (
        "import sys, dispatch.cli.main, dispatch.cli.commands.submit, dispatch.shell.supervisor; "
        "print(*(name for name in sys.modules if name.startswith('dispatch.sim')))"
    )
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert not said.stdout.strip()


def test_a_climate_is_hunted_and_replayed_by_its_name() -> None:
    options = replace(CLIMATES["together"], supervisors=2)
    assert replay_line(7, options).endswith("--jobs 6 --climate together")
    assert "--climate" not in replay_line(7, Options())
