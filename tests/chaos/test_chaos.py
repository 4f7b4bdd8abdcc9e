"""Chaos on a real Slurm: nothing runs twice, nothing is lost; and without a protection the same tests see that it does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from chaos.run import Run, save
from chaos.site import OPTIONS
from chaos.stories import STORIES, tell
from slurm.conftest import FAILURES, bring_up

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(900)]

JOBS = 60
WANTED_KILLS = 20


def test_sixty_jobs_under_kills_of_everything_run_once_and_end_as_is_their_fate(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = bring_up(**OPTIONS)
    try:
        run = Run(lab, tmp_path, jobs=JOBS, seed=seed)
        report = run.go()
        lab.save_logs(tmp_path / "slurm")
    finally:
        lab.down()
    save(report, FAILURES)
    with capsys.disabled():
        sys.stdout.write(f"\n{report.as_text()}\n")
    assert report.findings == (), report.as_text()
    assert report.killed_inside >= WANTED_KILLS, report.inside


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("protected", [True, False], ids=["protected", "without"])
def test_what_a_protection_prevents_happens_without_it(
    tmp_path: Path, name: str, *, protected: bool
) -> None:
    lab = bring_up(nodes=2, message_timeout=3)
    try:
        report, _ = tell(lab, tmp_path, name, protected=protected)
    finally:
        lab.down()
    if protected:
        assert report.findings == (), report.as_text()
    else:
        assert report.overlaps >= 1, report.as_text()
