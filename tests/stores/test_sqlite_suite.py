"""The store suite on the embedded store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dispatch.conformance.pytest import store_suite
from dispatch.stores.sqlite import SqliteStore
from stores.samples import NOW

if TYPE_CHECKING:
    from pathlib import Path

    from dispatch.conformance import OpenStore

test_the_embedded_store_passes = store_suite()


@pytest.fixture
def open_store(tmp_path: Path) -> OpenStore:
    return lambda: SqliteStore.open(tmp_path / "made" / "here" / "records.db", now=NOW)
