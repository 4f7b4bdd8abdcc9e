"""Whose records these are: the identity of the store, and the machine that it was made on."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.model.epoch import ulid
from dispatch.stores.shared import micros

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

_MACHINE_ID = Path("/etc/machine-id")


def this_host() -> str:
    """Name this machine without telling its id, as machine-id(5) asks; empty where it has none."""
    try:
        machine = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return (
        hashlib.sha256(f"dispatch records {machine}".encode()).hexdigest()[:32] if machine else ""
    )


def ensure(raw: sqlite3.Connection, now: datetime) -> None:
    """Give a new store its identity, once and for ever."""
    raw.executemany(
        "INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)",
        [("store_id", ulid(micros(now) // 1000, os.urandom(10))), ("host_id", this_host())],
    )


def read(raw: sqlite3.Connection) -> tuple[str, str]:
    """The store's id and the id of its host; empty where the store is not there yet."""
    found = dict(
        raw.execute("SELECT name, value FROM meta WHERE name IN ('store_id', 'host_id')").fetchall()
    )
    return found.get("store_id", ""), found.get("host_id", "")
