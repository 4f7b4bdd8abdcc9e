"""The store suite on the directory store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dispatch.stores.directory import DirectoryStore
from stores.samples import NOW
from stores.suite import CHECKS, Check

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_directory_store_passes_the_suite(check: Check, tmp_path: Path) -> None:
    check(lambda: DirectoryStore.open(tmp_path / "made" / "here" / "records.d", now=NOW))
