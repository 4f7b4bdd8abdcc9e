"""The how-to on virtual time: its programs run, and its deadlock reads as the page shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "test-in-virtual-time.md"

FORKS = """\
import asyncio
from dispatch.testing.loop import simulate

async def eat(first, second):
    async with first:
        await asyncio.sleep(1)
        async with second:
            pass

async def main():
    one, two = asyncio.Lock(), asyncio.Lock()

    async with asyncio.TaskGroup() as group:
        group.create_task(eat(one, two), name="left")
        group.create_task(eat(two, one), name="right")

simulate(main())
"""


def block(mark: str) -> str:
    (found,) = [each.text for each in blocks_of(PAGE) if each.mark == mark]
    return found


def run(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], check=False, cwd=place, capture_output=True, text=True
    )


def test_its_program_runs(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(block("runs"))
    ran = run(tmp_path, "program.py")
    assert ran.returncode == 0, ran.stderr


def test_its_tests_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "test_page.py").write_text(block("tests"))
    ran = run(tmp_path, "-m", "pytest", "-p", "dispatch.testing.pytest_plugin")
    assert "22 passed" in ran.stdout, ran.stdout


def test_its_deadlock_reads_so(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)
    assert block("deadlock") in run(tmp_path, "forks.py").stderr
