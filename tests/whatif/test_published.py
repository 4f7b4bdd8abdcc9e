"""The page's comparison with a published run holds: its own job file and its own command, with fewer seeds."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cli.bench import run
from docs.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "what-would-my-policy-do.md"
UNPLANNED, PLANNED = 419, 47
"""Interruptions in 54 days on 2048 nodes ("The Llama 3 Herd of Models", 2024); more than 90 % of the time was effective."""


def block(mark: str) -> str:
    [found] = [one for one in blocks_of(PAGE) if one.mark == mark]
    return found.text


def test_a_published_run_is_met_in_its_interruptions_and_its_effective_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llama.yaml").write_text(block("simulate: llama.yaml"))
    _, *words = shlex.split(block("simulate: command"))
    [document] = run(*words, "--seeds", "3", "--json").documents
    [told] = document["policies"]
    times = {row["cause"]: row["executions"] for row in told["causes"]}
    assert times["NodeLost"] == pytest.approx(UNPLANNED, rel=0.08)
    assert times["Preempted"] == pytest.approx(PLANNED, rel=0.25)
    assert 0.90 < told["effectiveTrainingTimeRatio"]["mean"] < 0.93
