"""How a broken store is written down: the embedded store with one thing wrong, and a sentence that says what."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from dispatch.conformance.store import OpenStore
from dispatch.conformance.store.samples import NOW
from dispatch.spi.store import Added, Addition, Store, append_all
from dispatch.stores.sqlite import SqliteStore

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where records that need to outlive nothing cost no wait for a disk."""

BROKEN_STORES: dict[str, type[SqliteStore]] = {}


def store(kind: type[SqliteStore]) -> type[SqliteStore]:
    """Enter a broken store under the sentence of its docstring."""
    sentence = (kind.__doc__ or "").strip()
    assert sentence, kind
    assert sentence not in BROKEN_STORES, sentence
    BROKEN_STORES[sentence] = kind
    return kind


def opener(kind: type[SqliteStore], place: Path) -> Callable[[], OpenStore]:
    """What gives each check records of its own below that place."""
    places = iter(range(1_000_000))

    def new() -> OpenStore:
        records = place / str(next(places)) / "records.db"
        return lambda: cast("Store", kind.open(records, now=NOW))

    return new


def one_by_one(within: Store, additions: Sequence[Addition]) -> list[Added]:
    """Append to many jobs by one append each, as a store without ``append_all`` of its own."""
    return [answer for one in additions for answer in append_all(within, [one])]
