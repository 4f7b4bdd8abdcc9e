"""Stand-ins for Slurm's commands, found first by whatever a test runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.slurm.writing.fake_slurm import FakeSlurm


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm(tmp_path)
    monkeypatch.setenv("HOME", str(fake.home))
    monkeypatch.setenv("PATH", f"{fake.bin}:/usr/local/bin:/usr/bin:/bin")
    return fake
