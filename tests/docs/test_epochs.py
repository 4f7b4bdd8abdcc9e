"""The Python of the how-to on epochs does what the page says: a late writer harms nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "use-epochs-in-training-code.md"
Execution = Callable[[int], dict[str, Any]]


@pytest.fixture
def execution(monkeypatch: pytest.MonkeyPatch) -> Execution:
    (block,) = [block for block in blocks_of(PAGE) if block.mark == "run: checkpoints"]

    def begin(epoch: int) -> dict[str, Any]:
        monkeypatch.setenv("DISPATCH_EPOCH", str(epoch))
        names: dict[str, Any] = {}
        exec(compile(block.text, str(block), "exec"), names)  # noqa: S102 - the page's own code
        return names

    return begin


def test_the_next_execution_goes_on_from_the_last_checkpoint(
    execution: Execution, tmp_path: Path
) -> None:
    first = execution(1_000_000)
    assert first["newest"](tmp_path) is None
    for step in (9, 10, 100):
        first["save"](tmp_path, step, str(step).encode())
    assert execution(2_000_000)["newest"](tmp_path).read_bytes() == b"100"


def test_a_late_writer_overwrites_nothing_and_learns_that_it_is_late(
    execution: Execution, tmp_path: Path
) -> None:
    late, now = execution(1_000_000), execution(2_000_000)
    late["save"](tmp_path, 50, b"old")
    assert not late["superseded"](tmp_path)
    now["save"](tmp_path, 51, b"new")
    late["save"](tmp_path, 60, b"late")
    assert now["newest"](tmp_path).read_bytes() == b"new"
    assert late["superseded"](tmp_path)
    assert not now["superseded"](tmp_path)
    assert execution(10_000_000)["newest"](tmp_path).read_bytes() == b"new"


def test_a_checkpoint_that_was_not_written_to_its_end_is_not_seen(
    execution: Execution, tmp_path: Path
) -> None:
    (tmp_path / "0000001000000-000000001.partial").write_bytes(b"half")
    assert execution(1_000_000)["newest"](tmp_path) is None
