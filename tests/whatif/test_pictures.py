"""Pictures and pages: whole documents, alone in their file, for all eyes; nothing of a job file gets to be markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from xml.etree import ElementTree as ET

import pytest

from dispatch.model.policy import Limits
from dispatch.model.status import Cause
from dispatch.whatif.conditions import Program
from dispatch.whatif.page import page
from dispatch.whatif.picture import picture, text
from dispatch.whatif.reporting import Report, report
from whatif.makers import conditions, job, once_in, policy, rule, span

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script>\"&'\x1b[2J\x00\ud800\ufffe🙂"


@cache
def one(name: str = "mine", limit: int = 100, horizon: str = "5d") -> Report:
    found = policy(
        rule(Cause.PREEMPTED, limit=limit), rule(Cause.NODE_LOST), limits=Limits(total=500)
    )
    program = Program(
        checkpoint_every=span("1h"), checkpoint_cost=span("1m"), restart_cost=span("5m")
    )
    made = conditions(
        once_in("5h"), once_in("10d", Cause.NODE_LOST, per_node=True), program=program, horizon=span(horizon)
    )  # fmt: skip
    return report(name, job(found), made, range(1, 6))


def drawn(*reports: Report) -> ET.Element:
    return ET.fromstring(picture(reports))


def boxes(root: ET.Element) -> list[ET.Element]:
    return [box for box in root.iter(f"{SVG}rect") if box.find(f"{SVG}title") is not None]


def test_a_picture_is_one_whole_document_with_a_title_and_a_description() -> None:
    root = drawn(one())
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "t d"
    named = {element.get("id"): element.text or "" for element in root}
    assert named["t"] == "Simulation of mine"
    assert "effective training time ratio" in named["d"]


def test_three_runs_are_drawn_with_each_execution_and_its_end() -> None:
    found = one()
    words = [box.findtext(f"{SVG}title") or "" for box in boxes(drawn(found))]
    told = [line for line in words if line.startswith("execution ")]
    lengths = {run.seed: run.executions for run in found.tallies}
    assert any(
        len(told) == a + b + c
        for a in lengths.values()
        for b in lengths.values()
        for c in lengths.values()
    )
    assert any("Preempted" in line for line in told)


def test_nothing_is_drawn_outside_of_the_picture() -> None:
    root = drawn(one(), one("other", 2))
    wide, high = int(root.get("width", "0")), int(root.get("height", "0"))
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", "0")) + float(box.get("width", "0")) <= wide
        assert float(box.get("y", "0")) + float(box.get("height", "0")) <= high
    for label in root.iter(f"{SVG}text"):
        assert float(label.get("y", "0")) < high


@pytest.mark.parametrize("reports", [(one(),), (one(), one("other", 2))], ids=["one", "two"])
def test_a_picture_and_a_page_fetch_nothing(reports: Sequence[Report]) -> None:
    svg = picture(reports)
    for whole in (svg, page(reports, svg)):
        rest = whole.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//|url\(|@import|<script|<link|<img|<iframe|href|src=", rest)
        assert "prefers-color-scheme:dark" in whole


def test_a_hostile_name_stays_a_name() -> None:
    hostile = one(HOSTILE)
    svg = picture([hostile])
    root = ET.fromstring(svg)
    assert root.findtext(f"{SVG}title") == f"Simulation of {HOSTILE.translate(ESCAPED)}"
    whole = page([hostile], svg)
    assert "<script" not in whole
    assert "\x1b" not in whole


ESCAPED = {0x1B: "\\x1b", 0x0: "\\x00", 0xD800: "\\ud800", 0xFFFE: "\\ufffe"}


def test_words_lose_their_power_and_keep_their_letters() -> None:
    assert text("<a & 'b'>\n") == "&lt;a &amp; &#x27;b&#x27;&gt;\\n"


def test_a_page_has_every_table_and_the_conditions() -> None:
    reports = [one(), one("other", 2)]
    whole = page(reports, picture(reports))
    assert whole.startswith("<!doctype html>")
    assert '<html lang="en">' in whole
    assert "default-src 'none'" in whole
    for words in (
        "What came of it",
        "What each rule did: other",
        "Budgets: mine",
        "Conditions",
        "given up in",
        "rule 1 (Preempted) has used up its limit of 2 in 5 of 5 seeds",
    ):
        assert words in whole


def test_the_same_reports_are_the_same_bytes() -> None:
    again = report("mine", one().job, one().conditions, range(1, 6))
    assert picture([again]) == picture([one()])
    assert page([again], "") == page([one()], "")


@pytest.mark.parametrize("days", ["1d", "20d", "200d"])
def test_the_axis_has_a_dozen_days_at_the_most(days: str) -> None:
    labels = [label.text or "" for label in drawn(one("mine", 5000, days)).iter(f"{SVG}text")]
    shown = [label for label in labels if re.fullmatch(r"day \d+", label)]
    assert 2 <= len(shown) <= 13
