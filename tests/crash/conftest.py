"""Fast records for the tests of crash points, and the numbers that they print."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.site import Records

counted: pytest.StashKey[dict[str, dict[str, int]]] = pytest.StashKey()
MEMORY = Path("/dev/shm")


@pytest.fixture
def records() -> Iterator[Records]:
    """Empty records, on a disk of memory where the host has one: nothing here is about the disk."""
    where = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="dispatch-crash-", dir=where) as place:
        opened = Records(Path(place))
        yield opened
        opened.close()


@pytest.fixture
def counts(request: pytest.FixtureRequest) -> dict[str, dict[str, int]]:
    """How many there are, by story and by kind, for the summary at the end of the run."""
    empty: dict[str, dict[str, int]] = defaultdict(dict)
    return request.config.stash.setdefault(counted, empty)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print how many points each story has, and how often it was told with which faults."""
    told = config.stash.get(counted, None)
    if not told:
        return
    kinds = list(dict.fromkeys(kind for count in told.values() for kind in count))
    terminalreporter.section("crash points")
    for name, count in told.items():
        numbers = ", ".join(f"{count.get(kind, 0):4} {kind}" for kind in kinds)
        terminalreporter.write_line(f"{numbers}: {name}")
    totals = {kind: sum(count.get(kind, 0) for count in told.values()) for kind in kinds}
    terminalreporter.write_line(", ".join(f"{total:4} {kind}" for kind, total in totals.items()))
