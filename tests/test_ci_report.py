"""The check that the real-Slurm tests ran cannot itself be fooled."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).resolve().parents[1] / ".ci" / "slurm_ran.py"
MARK = '<properties><property name="slurm" value="yes"/></properties>'
RAN = f'<testcase classname="tests.any.test_a" name="test_a">{MARK}</testcase>'
SKIPPED = RAN.replace("</testcase>", '<skipped message="no root here"/></testcase>')
WHOLE_FILE = (
    '<testcase classname="" name="tests.slurm.test_b"><skipped message="why not"/></testcase>'
)
OTHER = '<testcase classname="tests.core.test_c" name="test_c"/>'
OTHER_SKIPPED = OTHER.replace("/>", '><skipped message="for fun"/></testcase>')
FAILED = OTHER.replace("/>", '><failure message="1 != 2"/></testcase>')


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("slurm_ran", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(*texts: str) -> list[ET.Element]:
    return list(ET.fromstring(f"<testsuite>{''.join(texts)}</testsuite>").iter("testcase"))


def test_tests_that_ran_raise_no_objection(script: ModuleType) -> None:
    assert script.objections(cases(RAN, OTHER, OTHER_SKIPPED), []) == []


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((), "no real-Slurm test ran"),
        ((OTHER,), "no real-Slurm test ran"),
        ((RAN, SKIPPED), "tests.any.test_a::test_a was skipped: no root here"),
        ((RAN, WHOLE_FILE), "::tests.slurm.test_b was skipped: why not"),
    ],
)
def test_a_gap_is_an_objection(script: ModuleType, texts: tuple[str, ...], expected: str) -> None:
    assert expected in script.objections(cases(*texts), ["another reason"])


def test_a_reason_on_the_list_is_allowed_but_is_no_run(script: ModuleType) -> None:
    assert script.objections(cases(RAN, SKIPPED), ["no root"]) == []
    assert script.objections(cases(SKIPPED), ["no root"]) == ["no real-Slurm test ran"]


def test_comments_and_empty_lines_allow_nothing(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "allowed.txt"
    path.write_text("# why\n\n  no root \n")
    assert script.reasons_in(path) == ["no root"]
    assert script.reasons_in(tmp_path / "absent") == []


def test_the_totals_count_every_case_once(script: ModuleType) -> None:
    assert script.totals(cases(RAN, SKIPPED, OTHER, FAILED)) == "2 passed, 1 failed, 1 skipped"
