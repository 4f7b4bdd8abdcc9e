"""A directory of programs that play Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.slurm.reading.played import Slurm


@pytest.fixture
def slurm(tmp_path: Path) -> Slurm:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    return Slurm(bin_)
