"""The node of the job script's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.slurm.jobscript.standin import Node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node with nothing on it."""
    return Node(tmp_path)
