"""Copying the records while they are in use, and checking them as a whole."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from dispatch.model.errors import StoreError
from dispatch.stores.sqlite import faults, files

if TYPE_CHECKING:
    from pathlib import Path

    from dispatch.stores.sqlite.database import Database

_GAPS = """
    SELECT jobs.id, jobs.version, count(events.version), coalesce(min(events.version), 0), coalesce(max(events.version), 0)
    FROM jobs LEFT JOIN events ON events.job = jobs.id GROUP BY jobs.id
    HAVING count(events.version) <> jobs.version OR min(events.version) <> 1 OR max(events.version) <> jobs.version
    ORDER BY jobs.id
"""


def verify(raw: sqlite3.Connection) -> tuple[str, ...]:
    """List what is wrong with the file: structures, references, records with a gap. It reads everything."""
    wrong = [f"SQLite: {row[0]}" for row in raw.execute("PRAGMA integrity_check") if row[0] != "ok"]
    wrong += [
        f"A row of {row[0]} refers to a job that is not there."
        for row in raw.execute("PRAGMA foreign_key_check")
    ]
    wrong += [
        f"Job {job} is at version {version} and has {count} events, from {first} to {last}."
        for job, version, count, first, last in raw.execute(_GAPS)
    ]
    return tuple(wrong)


def backup(database: Database, target: Path) -> None:
    """Copy to a file that does not exist yet; it appears under its name whole, or not at all."""
    partial = target.with_name(target.name + ".partial")
    try:
        if os.path.lexists(target):
            raise StoreError(
                f"{target} exists; a backup overwrites nothing.",
                todo="Name another file, or remove it.",
            )
        partial.unlink(missing_ok=True)
        files.create(partial)
        try:
            _copy(database.raw, partial)
            partial.rename(target)
            files.sync_directory(target.parent)
        finally:
            partial.unlink(missing_ok=True)
    except sqlite3.Error as error:
        raise faults.of_sqlite(error, f"write a backup to {target}", database.path) from error
    except OSError as error:
        raise faults.of_system(error, f"write a backup to {target}", database.path) from error


def _copy(raw: sqlite3.Connection, partial: Path) -> None:
    copy = sqlite3.connect(f"{partial.as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        raw.backup(copy)
        # In one file: a backup is moved about without its log.
        copy.execute("PRAGMA journal_mode = DELETE")
    finally:
        copy.close()
    descriptor = os.open(partial, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
