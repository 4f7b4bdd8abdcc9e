"""The page's figures hold: its first answer and its picture, and its comparisons with published runs, with fewer seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from whatif.example import PICTURE, block, first, policies, said

UNPLANNED, PLANNED = 419, 47
"""Interruptions in 54 days on 2048 nodes ("The Llama 3 Herd of Models", 2024); more than 90 % of the time was effective."""
RESTARTS, DAYS = 90, 56
"""Of OPT-175B on 124 nodes, 11 November 2021 to 6 January 2022 ("Chronicles of OPT development", facebookresearch/metaseq)."""
LARGEST = 60_000


def test_the_first_answer_and_its_picture_are_what_the_command_gives(tmp_path: Path) -> None:
    answer = first(tmp_path)
    lines = answer.out.splitlines()
    assert [line for line in block("first answer").splitlines() if line not in lines] == []
    drawn = (tmp_path / "sft.svg").read_text()
    assert drawn == PICTURE.read_text(), "run `PYTHONPATH=tests python -m whatif.example`"
    assert len(drawn) < LARGEST


def test_a_published_run_is_met_in_its_interruptions_and_its_effective_time(tmp_path: Path) -> None:
    answer = said(tmp_path, "command", "--seeds", "3", "--json", llama=block("llama.yaml"))
    [told] = policies(answer)
    times = {row["cause"]: row["executions"] for row in told["causes"]}
    assert times["NodeLost"] == pytest.approx(UNPLANNED, rel=0.08)
    assert times["Preempted"] == pytest.approx(PLANNED, rel=0.25)
    assert 0.90 < told["effectiveTrainingTimeRatio"]["mean"] < 0.93


def test_a_run_that_people_kept_alive_is_met_in_its_restarts_and_its_days(tmp_path: Path) -> None:
    by_hand = block("by-hand.yaml")
    by_itself = by_hand.replace("do: hold", "do: resubmit")
    answer = said(
        tmp_path, "opt command", "--seeds", "20", "--json", by_hand=by_hand, by_itself=by_itself
    )
    hand, itself = policies(answer)
    for told in (hand, itself):
        assert told["executions"]["mean"] == pytest.approx(RESTARTS, rel=0.2)
        assert [row["outcome"] for row in told["endings"]] == ["finished"]
    assert hand["endings"][0]["day"]["mean"] == pytest.approx(DAYS, rel=0.1)
    assert itself["endings"][0]["day"]["mean"] == pytest.approx(39, abs=1)
    lost = hand["endings"][0]["day"]["mean"] - 34
    assert hand["hours"]["held"] / 24 / lost > 0.7
