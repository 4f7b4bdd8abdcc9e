"""The corpus: cases that the simulator has found, each with its lesson, kept small and kept sharp."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dispatch.adapters.memory import ShapeName
from dispatch.model.quantity import Duration
from dispatch.sim import Options, run
from dispatch.sim.climate import Climate
from sim.reverting import MISTAKES

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))


def read(place: Path) -> tuple[dict[str, Any], Options]:
    """A case, and the options under which it runs."""
    case: dict[str, Any] = json.loads(place.read_text())
    options = Options(
        shape=ShapeName(case.get("shape", "slurm")),
        supervisors=case["supervisors"],
        absent=frozenset(case["absent"]),
        only=frozenset(case["only"]),
        climate=climate_of(case.get("climate", {})),
        jobs=case.get("jobs", Options.jobs),
        storm=Duration.parse(case.get("storm", "40m")),
        patience=Duration.parse(case.get("patience", "3h")),
    )
    return case, options


def climate_of(told: dict[str, Any]) -> Climate:
    settings: dict[str, Any] = {
        name: Duration.parse(value) if isinstance(value, str) else value
        for name, value in told.get("settings", {}).items()
    }
    fields: dict[str, Any] = {}
    for name, value in told.items():
        several: Any = value
        fields[name] = tuple(several) if isinstance(value, list) else value
    fields["settings"] = tuple(settings.items())
    return Climate(**fields)


@pytest.mark.parametrize("place", CORPUS, ids=lambda place: place.stem)
def test_a_case_of_the_corpus_breaks_no_rule_any_more(place: Path) -> None:
    case, options = read(place)
    outcome = run(case["seed"], options)
    assert outcome.violation is None, f"{case['lesson']}\n{outcome.violation}"


@pytest.mark.parametrize("place", CORPUS, ids=lambda place: place.stem)
def test_a_case_of_the_corpus_still_meets_the_mistake_that_it_is_of(place: Path) -> None:
    # Where the simulator's own chances have moved, a new case of the same mistake is to be hunted for.
    case, options = read(place)
    outcome = run(case["seed"], options, MISTAKES[case["mistake"]])
    assert outcome.violation is not None
    assert outcome.violation.rule == case["rule"]


def test_every_mistake_has_its_case() -> None:
    assert {read(place)[0]["mistake"] for place in CORPUS} == set(MISTAKES)
