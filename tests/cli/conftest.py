"""The bench is each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.bench import Bench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A cluster in memory, and the command line."""
    return Bench(tmp_path, monkeypatch)
