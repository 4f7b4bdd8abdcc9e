"""Real Slurm clusters for the tests, brought up by the lab when a test first asks for one."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from lab import Lab, LabUnavailable, Options, why_no_cgroups

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

REQUIRED = os.environ.get("DISPATCH_REQUIRE_SLURM") == "1"
FAILURES = Path(os.environ.get("DISPATCH_FAILURES") or "failures").absolute()

labs: pytest.StashKey[list[Lab]] = pytest.StashKey()


class NewLab(Protocol):
    """Brings up an instance of the test's own, with the fields of `lab.Options` as keywords."""

    def __call__(self, **options: Any) -> Lab: ...


def bring_up(**options: Any) -> Lab:
    """Bring up an instance that ends with this process; skip, or fail, where there can be none."""
    # Not counted: pytest imports this file a second time, beside the tests that import it by name.
    name = f"test-{os.getpid()}-{secrets.token_hex(3)}"
    try:
        return Lab.up(name, Options(**options), owner=os.getpid())
    except LabUnavailable as reason:
        if REQUIRED:
            raise
        pytest.skip(f"no Slurm lab here: {reason}")


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The cluster that tests share: with accounting, and memory cgroups where the host has them."""
    shared = bring_up(accounting=True, cgroup=why_no_cgroups() is None)
    yield shared
    shared.down()


@pytest.fixture(scope="session")
def lab_without_accounting() -> Iterator[Lab]:
    """The other cluster that tests share: it forgets a job MinJobAge after its end."""
    shared = bring_up(cgroup=why_no_cgroups() is None)
    yield shared
    shared.down()


@pytest.fixture
def new_lab(request: pytest.FixtureRequest) -> Iterator[NewLab]:
    """A maker of clusters that the test has for itself, to kill their daemons and change their settings."""
    own: list[Lab] = []
    request.node.stash[labs] = own

    def make(**options: Any) -> Lab:
        own.append(bring_up(**options))
        return own[-1]

    yield make
    for each in own:
        each.down()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the logs of a failed test's clusters, while they are there."""
    report = yield
    if report.failed:
        given: dict[str, object] = getattr(item, "funcargs", {})
        used = [value for value in given.values() if isinstance(value, Lab)]
        if labs in item.stash:
            own: list[Lab] = item.stash[labs]
            used += own
        for each in [lab for lab in used if lab.directory.exists()]:
            target = FAILURES / re.sub(r"[^\w.-]+", "_", item.nodeid) / each.name
            each.save_logs(target)
            report.sections.append(("slurm lab", f"the logs of {each!r} are in {target}"))
    return report
