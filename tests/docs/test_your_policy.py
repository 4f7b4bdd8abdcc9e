"""The how-to on testing a policy: its tests pass, in a project of somebody's, and its script runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "test-your-policy.md"
CONFIG = """\
[[policies.spot.rules]]
when = ["Preempted"]
do = "resubmit"
"""


def block(mark: str) -> str:
    (found,) = [each.text for each in blocks_of(PAGE) if each.mark == f"policy: {mark}"]
    return found


def run(place: Path, *command: str) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    ran = subprocess.run(
        [sys.executable, *command],
        check=False,
        cwd=place,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -W error\n")
    (tmp_path / "train.yaml").write_text(block("job"))
    (tmp_path / "dispatch.toml").write_text(CONFIG)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "count"), [("tests", 5), ("markers", 9), ("coroutine", 1), ("property", 1)]
)
def test_its_tests_pass(project: Path, name: str, count: int) -> None:
    (project / f"test_{name}.py").write_text(block(name))
    said = run(project, "-m", "pytest", "-p", "dispatch.testing.pytest_plugin")
    assert f"{count} passed" in said, said


def test_its_script_runs(project: Path) -> None:
    (project / "script.py").write_text(block("script"))
    assert "NonZeroExit" in run(project, "script.py")
