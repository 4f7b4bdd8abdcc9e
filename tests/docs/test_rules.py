"""The page of the rules tells the truth: every rule is there, every citation and every test that it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from docs.blocks import ROOT
from rules.sabotage import SABOTAGES

PAGE = ROOT / "docs" / "explanation" / "rules.md"
COUNTS = {"R": 4, "O": 7, "E": 7, "T": 5, "B": 7, "P": 5}
"""The rules of each chapter."""
UNBUILT = {"B3", "B5"}
"""Rules that nothing here can keep or break; the page says why."""
NOT_BROKEN = {"P1"}
"""Rules that do not hold yet; their tests show what holds in their place."""

RULES = {
    title.split(".")[0]: body
    for title, body in re.findall(
        r"^### (.+)\n((?:(?!^#).*\n)*)", PAGE.read_text(), flags=re.MULTILINE
    )
}


def entries(rule: str, label: str) -> list[str]:
    """What stands in backticks on the line of that label."""
    lines = [line for line in RULES[rule].splitlines() if line.startswith(f"- {label}: ")]
    return re.findall(r"`([^`]+)`", " ".join(lines))


@cache
def names_in(path: str) -> frozenset[str]:
    """The functions, classes and constants of a file, without running it."""
    found: set[str] = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def cites(text: str, rule: str) -> bool:
    """Whether a text cites the rule, alone or beside another."""
    return re.search(rf"\(12, (?:[A-Z]\d and )?{rule}\b", text) is not None


def test_every_rule_is_there_in_order() -> None:
    expected = [f"{chapter}{n}" for chapter, most in COUNTS.items() for n in range(1, most + 1)]
    assert list(RULES) == expected


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_what_it_is_and_what_shows_it(rule: str) -> None:
    assert re.search(r"^- Says: .+", RULES[rule], flags=re.MULTILINE)
    if rule in UNBUILT:
        assert re.search(r"^- No test: .+", RULES[rule], flags=re.MULTILINE)
        assert not entries(rule, "Tests")
    else:
        assert entries(rule, "Code")
        assert entries(rule, "Tests")
        assert "- No test" not in RULES[rule]


@pytest.mark.parametrize("rule", RULES)
def test_the_code_that_is_named_keeps_the_rule_by_name_or_cites_it(rule: str) -> None:
    for entry in entries(rule, "Code"):
        path, mark, name = entry.partition("::")
        text = (ROOT / "src" / "dispatch" / path).read_text()
        if not mark:
            assert cites(text, rule), f"{path} does not cite {rule}"
        elif path.endswith(".py"):
            assert name in names_in(f"src/dispatch/{path}"), entry
        else:
            assert name in text, entry


@pytest.mark.parametrize("rule", RULES)
def test_every_test_that_is_named_exists(rule: str) -> None:
    for entry in entries(rule, "Tests"):
        path, _, name = entry.partition("::")
        assert name in names_in(f"tests/{path}"), entry


def test_every_citation_in_the_code_is_of_a_rule_of_the_page() -> None:
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("src/**/*.sh")]:
        for cited in re.findall(r"\(12, ([A-Z]\d)(?: and ([A-Z]\d))?", path.read_text()):
            assert {one for one in cited if one} <= set(RULES), f"{path}: {cited}"


def test_every_rule_that_is_built_is_broken_by_a_sabotage() -> None:
    assert {one.rule for one in SABOTAGES} == set(RULES) - UNBUILT - NOT_BROKEN


@pytest.mark.parametrize("number", range(len(SABOTAGES)))
def test_what_a_sabotage_breaks_stands_once_and_its_tests_exist(number: int) -> None:
    sabotage = SABOTAGES[number]
    assert (ROOT / sabotage.file).read_text().count(sabotage.old) == 1, sabotage
    assert sabotage.old != sabotage.new
    for test in sabotage.tests:
        path, _, name = test.partition("::")
        assert not name or name in names_in(path), test


def test_the_page_has_the_figures_of_the_list() -> None:
    rules = {one.rule for one in SABOTAGES}
    assert f"{len(SABOTAGES)} sabotages of {len(rules)} rules" in PAGE.read_text()


def test_a_citation_that_is_missing_is_seen() -> None:
    assert cites("as always (12, O1 and E1)", "E1")
    assert cites("(12, R1).", "R1")
    assert not cites("(12, R10)", "R1")
    assert not cites("R1", "R1")
