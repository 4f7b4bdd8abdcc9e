"""The records' own rules: versions without a gap, nonces used once, newer events left alone."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dispatch.model.errors import Conflict, CorruptRecord, DispatchError, NewerSchema
from dispatch.model.journal import SCHEMA
from dispatch.stores.shared import check, not_found
from dispatch.stores.sqlite import faults, queries
from dispatch.stores.sqlite.rows import INSERT_JOB, UPDATE_JOB, event_row, summary_of, summary_row

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from dispatch.model.journal import Entry
    from dispatch.spi.store import Added, Addition, Creation, Summary


def head(raw: sqlite3.Connection, job: str) -> tuple[int, int]:
    """The version and the schema of a job. Raises ``NotFound``, and ``NewerSchema`` for this job alone (12, T4)."""
    row: tuple[int, int] | None = raw.execute(
        "SELECT version, schema FROM jobs WHERE id = ?", (job,)
    ).fetchone()
    if row is None:
        raise not_found(job)
    if row[1] > SCHEMA:
        raise NewerSchema(
            f"Job {job} has events of schema {row[1]}, written by a newer dispatch; this one knows {SCHEMA}. It was left alone.",
            todo="Upgrade dispatch here; other jobs are not affected.",
        )
    return row


def create(raw: sqlite3.Connection, entry: Entry, summary: Summary) -> Summary:
    """Write the header of a new job within a transaction. See ``Store.create``."""
    taken = (
        raw.execute(queries.BY_KEY, (summary.key,)).fetchone() if summary.key is not None else None
    )
    known = taken or raw.execute(queries.BY_ID, (summary.id,)).fetchone()
    if known is not None:
        if taken is None and not landed(raw, summary.id, (entry,)):
            raise Conflict(
                f"There is a job {summary.id} already.", todo="Submit again, for a new id."
            )
        return summary_of(known)
    raw.execute(INSERT_JOB, summary_row(summary, entry.schema))
    insert(raw, summary.id, (entry,))
    return summary


def make(raw: sqlite3.Connection, one: Creation) -> Summary | DispatchError:
    """One creation among many of a transaction, as ``add`` is one append."""
    try:
        check(one.summary.id, 0, (one.entry,), one.summary)
        with _undone_where_it_fails(raw):
            return create(raw, one.entry, one.summary)
    except DispatchError as error:
        return error
    except UnicodeEncodeError as error:
        return faults.of_text(error, f"create job {one.summary.id}")


def append(
    raw: sqlite3.Connection, job: str, expected: int, entries: Sequence[Entry], summary: Summary
) -> bool:
    """Append within a transaction; ``False`` where another writer has been there first. See ``Store.append``."""
    version, schema = head(raw, job)
    if version != expected:
        return landed(raw, job, entries)
    insert(raw, job, entries)
    newest = max(schema, *(entry.schema for entry in entries))
    raw.execute(UPDATE_JOB, summary_row(summary, newest))
    if summary.finished:
        raw.execute("DELETE FROM claims WHERE job = ?", (job,))
    return True


def add(raw: sqlite3.Connection, one: Addition) -> Added:
    """One append among many of a transaction: refused, it leaves nothing behind and the others alone."""
    try:
        check(one.job, one.expected, one.entries, one.summary)
        with _undone_where_it_fails(raw):
            return append(raw, one.job, one.expected, one.entries, one.summary)
    except DispatchError as error:
        return error
    except UnicodeEncodeError as error:
        return faults.of_text(error, f"append to job {one.job}")


@contextmanager
def _undone_where_it_fails(raw: sqlite3.Connection) -> Generator[None]:
    raw.execute("SAVEPOINT one")
    try:
        yield
    except (DispatchError, UnicodeEncodeError):
        # Of any other error the whole transaction is rolled back.
        raw.execute("ROLLBACK TO one")
        raise
    finally:
        if raw.in_transaction:
            raw.execute("RELEASE one")


def insert(raw: sqlite3.Connection, job: str, entries: Sequence[Entry]) -> None:
    """Insert the entries and their nonces. Raises ``Conflict`` for a nonce of an earlier append."""
    raw.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
        [event_row(job, entry) for entry in entries],
    )
    firsts = {entry.nonce: entry.version for entry in reversed(entries)}
    try:
        raw.executemany(
            "INSERT INTO nonces VALUES (?, ?, ?)",
            [(nonce, job, at) for nonce, at in firsts.items()],
        )
    except sqlite3.IntegrityError as error:
        raise Conflict(
            f"Job {job}: a nonce of {sorted(firsts)} was used by an earlier append; nothing was written.",
            todo="Fold the record again; every append needs a nonce of its own.",
        ) from error


def landed(raw: sqlite3.Connection, job: str, entries: Sequence[Entry]) -> bool:
    """Whether exactly these entries are there already, by their nonces."""
    first, last = entries[0].version, entries[-1].version
    rows = raw.execute(
        "SELECT version, nonce FROM events WHERE job = ? AND version BETWEEN ? AND ? ORDER BY version",
        (job, first, last),
    )
    return rows.fetchall() == [(entry.version, entry.nonce) for entry in entries]


def check_contiguous(job: str, versions: Sequence[int], after: int, last: int) -> None:
    """Raise ``CorruptRecord`` where a version between ``after`` and ``last`` is missing, or one is beyond it."""
    wanted = range(after + 1, last + 1)
    if list(versions) != list(wanted):
        strange = sorted(set(versions) ^ set(wanted))
        raise CorruptRecord(
            f"Job {job} should have events up to version {last}, and version {strange[0]} is "
            + ("missing." if strange[0] in wanted else "beyond that."),
            todo="Nothing acts on this job any more; the others go on. Restore the records from a backup.",
        )
