"""What holds for every test: its own home, no network, chosen seeds, bounded time."""

from __future__ import annotations

import ipaddress
import itertools
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

# Slurm's tests build a whole cluster first, in minutes; every other test is a matter of moments.
SLURM_TIMEOUT = 1800

# What of dispatch's environment speaks to the tests themselves, and stays.
OF_THE_TESTS = ("DISPATCH_REQUIRE_", "DISPATCH_FAILURES", "DISPATCH_LAB_")

# What a failed test leaves in its directory and is worth a look later: records, logs and configurations.
WORTH_KEEPING = ("*.db*", "*.log", "*.toml", "*.json", "*.yaml")
MOST_KEPT_BYTES = 20_000_000

numbers = itertools.count()

# How long examples take to make says something of the machine's load, and nothing of the code.
SLOW_IS_NO_FAULT = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=SLOW_IS_NO_FAULT,
)
# Developers look for new examples; a run with the same --seed finds the same.
hypothesis.settings.register_profile(
    "dev", deadline=None, print_blob=True, suppress_health_check=SLOW_IS_NO_FAULT
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed",
        type=int,
        default=None,
        help="where random choices start, in `seed` and in hypothesis (default: 0, and its own)",
    )


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads its option
def pytest_configure(config: pytest.Config) -> None:
    seed = config.getoption("--seed")
    hypothesis.settings.load_profile("ci" if os.environ.get("CI") and seed is None else "dev")
    if seed is not None and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = seed
    sys.addaudithook(deny_the_network)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slurm"):
            item.user_properties.append(("slurm", "yes"))  # .ci/slurm_ran.py reads it
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(SLURM_TIMEOUT))


def deny_the_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse a connection or a look-up beyond this machine; sub-processes are not watched."""
    host: object = None
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple):
        host = cast("tuple[object, ...]", arguments[1])[0]  # a Unix socket's address is no tuple
    if host is not None and not is_local(host):
        raise AssertionError(f"a test reaches for {host!r}: tests stay on this machine")


def is_local(host: object) -> bool:
    """Tell whether an address is this machine's own loopback."""
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the records and logs of a failed test, and name its seed."""
    report = yield
    place = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and place is not None:
        kept = keep(place, Path(os.environ.get("DISPATCH_FAILURES") or "failures"), item.nodeid)
        report.sections.append(("kept", f"seed {item.config.getoption('--seed') or 0}; {kept}"))
    return report


def keep(place: Path, failures: Path, name: str) -> str:
    """Copy what is worth keeping of a test's directory, within a bound; say where it is."""
    target, size, count = failures.absolute() / re.sub(r"[^\w.-]+", "_", name)[:200], 0, 0
    for file in sorted({found for pattern in WORTH_KEEPING for found in place.rglob(pattern)}):
        if not file.is_file() or size + file.stat().st_size > MOST_KEPT_BYTES:
            continue
        copy = target / file.relative_to(place)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        size, count = size + copy.stat().st_size, count + 1
    return f"{count} files are in {target}" if count else "it left no records or logs"


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Where this run's random choices start: --seed, else 0."""
    chosen: int | None = request.config.getoption("--seed")
    return chosen or 0


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty home, so that it neither reads nor writes the developer's."""
    place = homes / str(next(numbers))
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    for name in [name for name in os.environ if name.startswith(("XDG_", "DISPATCH_"))]:
        if not name.startswith(OF_THE_TESTS):
            monkeypatch.delenv(name)
    return place
