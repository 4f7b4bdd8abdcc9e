"""Each measurement runs at a tiny size, so that none rots. Nothing here is timed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.mark.parametrize(
    ("script", "arguments", "told"),
    [
        ("round", ["--size", "10"], "a round over 10 unfinished jobs, 1 changed"),
        ("fold", ["--size", "10"], "an append that survives a power cut"),
        ("simulator", ["--seeds", "2"], "standard seeds on two cores"),
        ("startup", ["--size", "12", "--times", "1"], "dispatch status, 12 of 12 jobs"),
    ],
)
def test_a_measurement_runs_and_tells_its_figures(
    script: str, arguments: list[str], told: str, tmp_path: Path
) -> None:
    place = [] if script in ("simulator", "startup") else ["--place", str(tmp_path)]
    command = [sys.executable, str(BENCHMARKS / f"{script}.py"), *arguments, *place]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert told in done.stdout
