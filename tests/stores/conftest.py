"""An embedded store, and who runs the tests."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from dispatch.stores.sqlite import SqliteStore
from stores.samples import NOW

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dispatch" / "records.db"


@pytest.fixture
def store(path: Path) -> Generator[SqliteStore]:
    opened = SqliteStore.open(path, now=NOW, patience=0.2)
    yield opened
    opened.close()


@pytest.fixture
def as_nobody() -> Callable[[], AbstractContextManager[None]]:
    """Act for a while as an account that may do nothing here."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as another account")

    @contextmanager
    def acting() -> Generator[None]:
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    return acting


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A disk of 400 kB that is nobody else's."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k,mode=700", "none", str(disk)],
        capture_output=True,
        check=False,
        text=True,
    )
    if mounted.returncode:
        pytest.skip(f"mount refuses: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)
