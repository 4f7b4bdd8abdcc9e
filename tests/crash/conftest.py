"""Fast records for the tests of crash points, and the numbers that they print."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.site import Records

counted: pytest.StashKey[list[str]] = pytest.StashKey()
MEMORY = Path("/dev/shm")


@pytest.fixture
def records() -> Iterator[Records]:
    """Empty records, on a disk of memory where the host has one: nothing here is about the disk."""
    where = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="dispatch-crash-", dir=where) as place:
        yield Records(Path(place))


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> list[str]:
    """Lines for the summary at the end of the run."""
    return request.config.stash.setdefault(counted, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print how many points there are, and how many tellings were tried."""
    if told := config.stash.setdefault(counted, []):
        terminalreporter.section("crash points")
        for line in told:
            terminalreporter.write_line(line)
