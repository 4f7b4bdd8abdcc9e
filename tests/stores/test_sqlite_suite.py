"""The store suite on the embedded store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dispatch.stores.sqlite import SqliteStore
from stores.samples import NOW
from stores.suite import CHECKS, Check

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_embedded_store_passes_the_suite(check: Check, tmp_path: Path) -> None:
    check(lambda: SqliteStore.open(tmp_path / "made" / "here" / "records.db", now=NOW))
