"""The page on the protocol says what the code does: its tables are the code's, and what its arguments name exists."""

from __future__ import annotations

import re

import pytest

from core.builders import DECLARED, intent
from dispatch.core.automaton import MOVES, Move
from dispatch.core.landing import landing_bound
from dispatch.model.answers import Declarations
from dispatch.model.errors import DispatchError
from dispatch.model.journal import Outcome, Verb
from dispatch.model.view import Phase
from docs.blocks import ROOT
from docs.protocol import (
    DECLARED_BY,
    ERRORS,
    MAIN_LINE,
    PAGE,
    TABLES,
    earliest_settlement,
    filled,
    intent_life,
    settling,
    slurm_declarations,
)
from docs.protocol_steps import steps
from docs.protocol_views import READS
from docs.test_rules import RULES, names_in
from rules.sabotage import SABOTAGES

TEXT = PAGE.read_text()
INVARIANTS = dict(
    re.findall(r"^### (S\d)\. .+\n((?:(?!^#).*\n)*)", TEXT, flags=re.MULTILINE)
)  # fmt: skip


def entries(name: str, label: str) -> list[str]:
    """What stands on the lines of that label."""
    found = re.search(rf"^- {label}: (.*?)(?=^- |\Z)", INVARIANTS[name], re.MULTILINE | re.DOTALL)
    assert found, f"{name} has no {label}"
    return re.findall(r"`([^`]+)`", found[1]) or found[1].strip().rstrip(".").split(", ")


def test_the_tables_are_those_of_the_code() -> None:
    assert filled(TEXT) == TEXT, "run `python3 dev.py docs`"


def test_every_table_is_on_the_page_once() -> None:
    assert sorted(re.findall(r"<!-- table: ([a-z-]+) -->", TEXT)) == sorted(TABLES)


def test_a_table_that_has_changed_is_noticed() -> None:
    assert filled(TEXT.replace("**opening**", "**open**", 1)) != TEXT.replace(
        "**opening**", "**open**", 1
    )


def test_every_invariant_is_argued_for_in_order() -> None:
    assert list(INVARIANTS) == [f"S{n}" for n in range(1, 10)]
    for body in INVARIANTS.values():
        assert re.findall(r"^- ([A-Z][a-z ]+): ", body, re.MULTILINE) == [
            "Why", "Code", "Rules", "Broken by", "Limits",
        ]  # fmt: skip


@pytest.mark.parametrize("name", INVARIANTS)
def test_the_rules_that_an_argument_rests_on_exist(name: str) -> None:
    assert set(entries(name, "Rules")) <= set(RULES)


@pytest.mark.parametrize("name", INVARIANTS)
def test_the_code_that_an_argument_names_exists(name: str) -> None:
    for entry in entries(name, "Code"):
        path, _, what = entry.partition("::")
        text = (ROOT / "src" / "dispatch" / path).read_text()
        if path.endswith(".py"):
            assert not what or what in names_in(f"src/dispatch/{path}"), entry
        else:
            assert what in text, entry


@pytest.mark.parametrize("name", INVARIANTS)
def test_what_breaks_it_exists(name: str) -> None:
    for entry in entries(name, "Broken by"):
        path, _, what = entry.partition("::")
        known = (
            {one.rule for one in SABOTAGES}
            if path == "rules/sabotage.py"
            else names_in(f"tests/{path}")
        )
        assert what in known, entry


def test_every_test_that_the_page_names_exists() -> None:
    for path, name in re.findall(r"`([a-z_/]+\.py)::(test_[a-z0-9_]+)`", TEXT):
        assert name in names_in(f"tests/{path}"), name


# --- the tables leave nothing out


def test_every_write_and_every_read_is_settled_under_both_boots() -> None:
    rows = [line.split(" | ") for line in settling().splitlines()[2:]]
    told = {
        (row[0].strip("| `"), name, boot)
        for row in rows
        for name in row[1].split("; ")
        for boot in (("the intent's", "another") if row[2] == "any" else (row[2],))
    }
    assert told == {
        (verb.value, name, boot) for verb in Verb for name in READS for boot in ("the intent's", "another")
    }  # fmt: skip


def test_every_read_is_answered_in_every_phase() -> None:
    rows = [line.strip("| ").split(" | ") for line in steps().splitlines()[2:]]
    for phase in {row[0] for row in rows}:
        for boot in ("the same", "another"):
            names = [
                name
                for row in rows
                if row[0] == phase and row[2] in ("any", boot)
                for name in row[1].split("; ")
            ]
            assert sorted(names) == sorted(READS), phase


def test_every_outcome_is_in_the_life_of_an_intent() -> None:
    assert not [one for one in Outcome if one.value not in intent_life()]


def test_every_error_that_says_something_of_a_write_is_in_the_table() -> None:
    of_records_and_plans = {"StoreError", "CorruptRecord", "NewerSchema", "Refused"}
    kinds = {kind.__name__ for kind in DispatchError.__subclasses__()}
    assert {kind.__name__ for kind in ERRORS} == kinds - of_records_and_plans


def test_every_number_is_explained() -> None:
    assert set(DECLARED_BY) == set(Declarations.__struct_encode_fields__)


def test_the_main_line_is_one_line() -> None:
    assert len({phase for phase, _ in MAIN_LINE}) == len(MAIN_LINE) - 1


@pytest.mark.parametrize("declared", [DECLARED, Declarations(), slurm_declarations()])
def test_nobody_may_try_again_before_landing_bound_and_another_call_bound(
    declared: Declarations,
) -> None:
    first, last = earliest_settlement(declared)
    open_ = intent(Verb.OPEN)
    bound = landing_bound(open_, declared) - open_.deadline + declared.call_window
    assert first == bound.total_seconds()
    assert last == (bound + declared.call_bound).total_seconds()


def test_the_seconds_in_the_text_are_those_of_slurm() -> None:
    _, last = earliest_settlement(slurm_declarations())
    assert f"B, {last:.0f} s later: two reads" in TEXT


def test_what_the_text_says_of_the_arrows_holds() -> None:
    arrows = {(move, before, after) for move, row in MOVES.items() for before, after in row.items()}
    into_opening = {(move, before) for move, before, after in arrows if after is Phase.OPENING}
    assert into_opening - {(Move.SEEN_GATED, Phase.OPENING), (Move.SEEN_LIVE, Phase.OPENING)} == {
        (Move.OPEN_INTENDED, Phase.GATED)
    }
    judged = {Phase.JUDGED, Phase.CEASED}
    assert {after for _, before, after in arrows if before in judged} == judged
    can_be_judged = {before for move, before, _ in arrows if move is Move.JUDGED}
    assert not can_be_judged & judged
