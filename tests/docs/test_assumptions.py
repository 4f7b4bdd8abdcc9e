"""The page of the assumptions names for each what it rests on, and the tests that it names exist."""

from __future__ import annotations

import re

import pytest

from docs.blocks import ROOT
from docs.test_rules import names_in

PAGE = ROOT / "docs" / "explanation" / "assumptions.md"
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| assumed"))
]
CHAPTERS = re.findall(r"^## Of (.+)$", PAGE.read_text(), re.MULTILINE)
NAMED = re.compile(r"`([a-z0-9_/]+\.py)(?:::([a-z0-9_]+))?`")


def short(row: list[str]) -> str:
    return row[0][:60]


@pytest.mark.parametrize("row", ROWS, ids=short)
def test_an_assumption_says_what_it_rests_on_and_what_happens_without_it(row: list[str]) -> None:
    assumed, rests_on, otherwise = row
    assert assumed.endswith(".")
    assert NAMED.search(rests_on) or re.search(r"\*(lab|text|argued)\*", rests_on)
    assert otherwise


@pytest.mark.parametrize(
    ("path", "name"), sorted(set(NAMED.findall(" ".join(map(str, ROWS)))), key=str)
)
def test_a_test_that_an_assumption_rests_on_exists(path: str, name: str) -> None:
    assert not name or name in names_in(f"tests/{path}"), f"{path}::{name}"
    assert (ROOT / "tests" / path).exists()


def test_schedulers_clocks_stores_file_systems_and_shells_have_a_chapter() -> None:
    assert CHAPTERS == [
        "Slurm", "Kubernetes, Kueue and Kubeflow Trainer", "clocks", "stores", "file systems", "shells and hosts",
        "the people around it",
    ]  # fmt: skip


def test_a_row_without_a_source_is_seen() -> None:
    with pytest.raises(AssertionError):
        test_an_assumption_says_what_it_rests_on_and_what_happens_without_it(
            ["It works.", "Everybody says so.", "–"]
        )
