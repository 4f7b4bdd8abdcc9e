"""The store suite on the directory store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dispatch.conformance.pytest import store_suite
from dispatch.stores.directory import DirectoryStore
from stores.samples import NOW

if TYPE_CHECKING:
    from pathlib import Path

    from dispatch.conformance import OpenStore

test_the_directory_store_passes = store_suite()


@pytest.fixture
def open_store(tmp_path: Path) -> OpenStore:
    return lambda: DirectoryStore.open(tmp_path / "made" / "here" / "records.d", now=NOW)
