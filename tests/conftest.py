"""What holds for every test: its own home, no network, chosen seeds, bounded time."""

from __future__ import annotations

import ipaddress
import itertools
import os
import sys
from typing import TYPE_CHECKING, Any, cast

import hypothesis
import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Slurm's tests build a whole cluster first, in minutes; every other test is a matter of moments.
SLURM_TIMEOUT = 1800

# What of dispatch's environment speaks to the tests themselves, and stays.
OF_THE_TESTS = ("DISPATCH_REQUIRE_", "DISPATCH_FAILURES", "DISPATCH_LAB_")

numbers = itertools.count()

hypothesis.settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, print_blob=True
)
# Developers look for new examples; a run with the same --seed finds the same.
hypothesis.settings.register_profile("dev", deadline=None, print_blob=True)


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
