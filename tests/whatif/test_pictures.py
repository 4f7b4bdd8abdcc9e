"""Pictures and pages: whole documents, alone in their file, for all eyes; nothing of a job file gets to be markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from dispatch.model.policy import Limits
from dispatch.model.status import Cause
from dispatch.whatif.conditions import Program
from dispatch.whatif.drawing import BIG, SMALL, is_dark, shortened, text, ticks, width_of
from dispatch.whatif.page import page
from dispatch.whatif.picture import picture
from dispatch.whatif.reporting import Report, report
from dispatch.whatif.tally import POINTS
from dispatch.whatif.weather import Source
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
def test_each_axis_has_a_dozen_marks_at_the_most_and_tells_its_unit(days: str) -> None:
    labels = [label.text or "" for label in drawn(one("mine", 5000, days)).iter(f"{SVG}text")]
    assert any(re.fullmatch(r"day [\d.]+", label) for label in labels)
    assert "100 %" in labels
    assert 6 <= len([label for label in labels if re.fullmatch(r"[\d.]+", label)]) <= 45


@pytest.mark.parametrize("most", [0.001, 0.3, 1, 7, 10, 12, 30, 54, 365, 3650])
def test_marks_are_round_numbers_within_the_axis(most: float) -> None:
    marks = ticks(most)
    assert marks[0] == 0
    assert most / 3 < marks[-1] <= most * (1 + 1e-9)
    assert 2 <= len(marks) <= 13


NAMES = ("mine", "W" * 200, "数据训练" * 30, "policies/spot/a-rather-long-path-to-a.yaml")


def test_no_words_are_wider_than_their_place() -> None:
    root = drawn(*(one(name) for name in NAMES))
    wide = float(root.get("width", "0"))
    for element in root.iter(f"{SVG}text"):
        size = {"t": 17, "s": SMALL, "b": SMALL, "w": SMALL}.get(element.get("class", ""), BIG)
        x, long = float(element.get("x", "0")), width_of(element.text or "", size)
        begin = {"middle": x - long / 2, "end": x - long}.get(element.get("text-anchor", ""), x)
        # A mark at the end of an axis may hang over by a few letters.
        assert begin > 0
        assert begin + long < wide + 10, element.text


def test_names_that_begin_alike_are_told_apart() -> None:
    short = [shortened(f"policies/of/our/group/number-{n}.yaml", 140) for n in (1, 2)]
    assert short[0] != short[1]
    assert all(width_of(name) <= 140 for name in short)
    assert shortened("mine", 140) == "mine"


def test_the_work_grows_to_what_the_ratio_tells() -> None:
    for found in (one(), one("other", 2)):
        growth = found.summary.growth
        assert len(growth) == POINTS
        assert growth[-1].mean == pytest.approx(5 * found.summary.ettr.mean, rel=1e-6)
        assert all(a.p50 <= b.p50 for a, b in pairwise(growth))
        assert all(figure.p90 <= 5 * part / POINTS for part, figure in enumerate(growth, 1))


def test_thousands_of_executions_are_drawn_as_few_boxes() -> None:
    short = conditions(once_in("5m"), horizon=span("90d"))
    many = report("many", job(policy(rule(Cause.PREEMPTED))), short, [1])
    assert many.summary.executions.mean == 5000
    found = boxes(drawn(many))
    assert len(found) < 1500
    told = [box.findtext(f"{SVG}title") or "" for box in found]
    assert any(re.match(r"executions 1 to \d+, day 0.00, ran", line) for line in told)


@pytest.mark.parametrize(
    ("sources", "outcome"), [((), "still going on"), ((once_in("1h"),), "given up")]
)
def test_a_run_without_failures_and_one_that_is_all_failure_are_drawn(
    sources: Sequence[Source], outcome: str
) -> None:
    found = report("it", job(policy(rule(Cause.PREEMPTED, limit=1))), conditions(*sources, horizon=span("9d")), [1, 2])  # fmt: skip
    labels = [label.text or "" for label in drawn(found).iter(f"{SVG}text")]
    assert f"seed 1: {outcome}" in labels


def test_a_job_that_finished_is_drawn_to_its_own_end() -> None:
    made = conditions(once_in("5h"), work=span("4d"), horizon=span("80d"))
    found = report("it", job(), made, [1, 2, 3])
    labels = [label.text or "" for label in drawn(found).iter(f"{SVG}text")]
    assert "seed 1: finished" in labels
    assert found.summary.growth[-1].p10 == pytest.approx(4, rel=1e-6)
    days = [float(label.removeprefix("day ")) for label in labels if label.startswith("day ")]
    assert all(day < 8 for day in days)


def test_each_colour_that_is_drawn_is_named() -> None:
    root = drawn(one(), one("other", 2))
    drawn_colours = {box.get("fill") for box in boxes(root)}
    named = {box.get("fill") for box in root.iter(f"{SVG}rect") if box.get("rx")}
    assert drawn_colours <= named
    labels = [label.text or "" for label in root.iter(f"{SVG}text")]
    assert {"Preempted", "NodeLost", "goes on, or has finished", "useful work, kept"} <= set(labels)


def test_letters_on_a_box_are_seen() -> None:
    assert is_dark("#54278f")
    assert not is_dark("#ffe08a")
