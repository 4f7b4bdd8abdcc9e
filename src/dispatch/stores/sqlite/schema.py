"""The tables, and the way from each released schema to the next.

``PRAGMA user_version`` counts the migrations that a file has been through. A released migration is never edited: the next
one is appended, with a dump of what the previous release wrote beside the tests.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

APPLICATION_ID = 0x64737031
"""``dsp1``: tells our files from those of other programs (``PRAGMA application_id``)."""

Migration = tuple[str, ...]

_FIRST: Migration = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) {strict}",
    # The summary of each job. Instants are microseconds since 1970, so that they sort.
    """CREATE TABLE jobs (
        id TEXT PRIMARY KEY NOT NULL,
        version INTEGER NOT NULL CHECK (version >= 1),
        schema INTEGER NOT NULL,
        name TEXT NOT NULL,
        cluster TEXT NOT NULL,
        user TEXT NOT NULL,
        state TEXT NOT NULL,
        cause TEXT,
        accepted_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        key TEXT,
        spec_hash TEXT NOT NULL,
        submission INTEGER NOT NULL,
        labels TEXT NOT NULL,
        finished INTEGER NOT NULL CHECK (finished IN (0, 1)),
        due INTEGER,
        why TEXT NOT NULL
    ) {strict}""",
    "CREATE UNIQUE INDEX jobs_key ON jobs (key) WHERE key IS NOT NULL",
    "CREATE INDEX jobs_name ON jobs (name, accepted_at, id)",
    "CREATE INDEX jobs_newest ON jobs (accepted_at, id)",
    "CREATE INDEX jobs_unfinished ON jobs (accepted_at, id) WHERE finished = 0",
    "CREATE INDEX jobs_due ON jobs (due, id) WHERE finished = 0 AND due IS NOT NULL",
    # Clustered by job, so that a record is read in one sweep. The primary key is the compare-and-set.
    """CREATE TABLE events (
        job TEXT NOT NULL REFERENCES jobs (id),
        version INTEGER NOT NULL CHECK (version >= 1),
        at TEXT NOT NULL,
        actor TEXT NOT NULL,
        nonce TEXT NOT NULL,
        schema INTEGER NOT NULL,
        event TEXT NOT NULL,
        PRIMARY KEY (job, version)
    ) {without_rowid}""",
    """CREATE TRIGGER an_event_is_never_rewritten BEFORE UPDATE ON events
        BEGIN SELECT RAISE (ABORT, 'an event is never rewritten'); END""",
    # One row an append and nonce: entries of one append may share a nonce, two appends never do. No reference to jobs: it
    # would need an index of its own, or every change of a job would scan this table.
    """CREATE TABLE nonces (
        nonce TEXT PRIMARY KEY NOT NULL,
        job TEXT NOT NULL,
        version INTEGER NOT NULL
    ) {without_rowid}""",
    """CREATE TABLE claims (
        job TEXT PRIMARY KEY NOT NULL REFERENCES jobs (id),
        owner TEXT NOT NULL,
        until INTEGER NOT NULL
    ) {without_rowid}""",
    "CREATE INDEX claims_owner ON claims (owner)",
    """CREATE TABLE heartbeats (
        id TEXT PRIMARY KEY NOT NULL,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        version TEXT NOT NULL,
        seen INTEGER NOT NULL,
        clusters TEXT NOT NULL
    ) {without_rowid}""",
)

MIGRATIONS: tuple[Migration, ...] = (_FIRST,)

HAS_STRICT = sqlite3.sqlite_version_info >= (3, 37)


def version_of(db: sqlite3.Connection) -> int:
    """How many migrations the file has been through; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def is_ours(db: sqlite3.Connection) -> bool:
    """Whether the file is a store of dispatch, or empty and may become one."""
    if db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
        return True
    return (
        version_of(db) == 0 and db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    )


def migrate(
    db: sqlite3.Connection, migrations: Sequence[Migration], *, strict: bool = HAS_STRICT
) -> None:
    """Apply the migrations that are still to come, inside the caller's transaction: all or none."""
    words = {
        "strict": "STRICT" if strict else "",
        "without_rowid": "STRICT, WITHOUT ROWID" if strict else "WITHOUT ROWID",
    }
    for migration in migrations[version_of(db) :]:
        for statement in migration:
            db.execute(statement.format_map(words))
    db.execute(f"PRAGMA user_version = {len(migrations)}")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
