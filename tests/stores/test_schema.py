"""The tables: made once, brought up to date, left alone when newer, and fast where it matters."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dispatch.model.errors import NewerSchema, StoreError
from dispatch.model.status import State
from dispatch.spi.store import Query
from dispatch.stores.sqlite import SqliteStore, queries
from dispatch.stores.sqlite.database import Database
from dispatch.stores.sqlite.journal import insert
from dispatch.stores.sqlite.rows import INSERT_JOB, summary_row
from dispatch.stores.sqlite.schema import MIGRATIONS, migrate, version_of
from stores.samples import NOW, SECOND, grow, header, hold, job_id, make, summary
from stores.suite import CHECKS, Check

RELEASED = Path(__file__).parent / "schemas"
NEWER = (*MIGRATIONS, ("CREATE TABLE later (id INTEGER)", "INSERT INTO later VALUES (7)"))
BROKEN = (*MIGRATIONS, ("CREATE TABLE half (id INTEGER)", "INSERT INTO nowhere VALUES (1)"))


def migrated(path: Path, migrations: tuple[tuple[str, ...], ...]) -> None:
    Database.open(path, patience=1, migrations=migrations).close()


def test_a_new_store_has_the_newest_schema(path: Path, store: SqliteStore) -> None:
    assert version_of(store._db.raw) == len(MIGRATIONS)


def test_each_schema_but_the_first_has_a_dump_of_what_was_released_before() -> None:
    released = sorted(int(dump.stem) for dump in RELEASED.glob("*.sql"))
    assert released == list(range(1, len(MIGRATIONS) + 1))


@pytest.mark.parametrize("dump", sorted(RELEASED.glob("*.sql")), ids=lambda dump: dump.stem)
def test_the_records_of_every_released_schema_are_read_and_go_on(path: Path, dump: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(dump.read_text())
    path.chmod(0o600)
    with closing(SqliteStore.open(path, now=NOW)) as store:
        assert store.id == "01KJVKTDCKCZYCWBYTW4GGHX6C"
        (ended, running) = store.list(Query())
        assert (ended.state, ended.finished, ended.labels) == (
            State.SUCCEEDED,
            True,
            {"team": "vision"},
        )
        assert (running.state, running.key, running.due) == (State.PENDING, "nightly", NOW)
        assert [len(store.load(found.id)) for found in (ended, running)] == [3, 2]
        assert store.resolve("nightly") == (running,)
        assert store.due(NOW, 9) == (running,)
        assert grow(store, running.id, 2, [hold(3)])
        assert store.verify() == ()


def test_an_older_schema_is_brought_up_to_date_with_its_records(
    path: Path, store: SqliteStore
) -> None:
    job = make(store, 1)
    store.close()
    migrated(path, NEWER)
    with closing(sqlite3.connect(path)) as raw:
        assert version_of(raw) == len(NEWER)
        assert raw.execute("SELECT id FROM later").fetchall() == [(7,)]
        assert raw.execute("SELECT id FROM jobs").fetchall() == [(job,)]
    migrated(path, NEWER)


def test_a_migration_that_fails_changes_nothing(path: Path, store: SqliteStore) -> None:
    job = make(store, 1)
    with pytest.raises(StoreError, match="nowhere"):
        migrated(path, BROKEN)
    assert grow(store, job, 1, [hold(2)])
    assert version_of(store._db.raw) == len(MIGRATIONS)
    assert store._db.raw.execute(
        "SELECT count(*) FROM sqlite_master WHERE name = 'half'"
    ).fetchone() == (0,)


def test_a_newer_schema_is_refused_with_both_versions_and_the_way_out(path: Path) -> None:
    migrated(path, NEWER)
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(NewerSchema) as caught:
            SqliteStore.open(path, now=NOW, read_only=read_only)
        assert f"schema {len(NEWER)}" in str(caught.value)
        assert f"knows {len(MIGRATIONS)}" in str(caught.value)
        assert "Upgrade" in caught.value.todo
    assert path.read_bytes() == before


def test_a_store_that_is_migrated_under_an_older_writer_takes_no_more_of_its_writes(
    path: Path, store: SqliteStore
) -> None:
    job = make(store, 1)
    migrated(path, NEWER)
    for write in (lambda: grow(store, job, 1, [hold(2)]), lambda: store.reschedule(job, None)):
        with pytest.raises(NewerSchema):
            write()
    assert len(store.load(job)) == 1


def test_a_reader_of_an_older_schema_is_told_who_brings_it_up_to_date(
    path: Path, store: SqliteStore
) -> None:
    store.close()
    with pytest.raises(StoreError, match=f"schema {len(MIGRATIONS)}") as caught:
        Database.open_read_only(path, patience=1, migrations=NEWER)
    assert "supervise" in caught.value.todo
    with closing(SqliteStore.open(path, now=NOW)) as again:
        assert version_of(again._db.raw) == len(MIGRATIONS)


def test_a_store_that_is_just_being_made_reads_as_empty(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
    path.chmod(0o600)
    assert path.stat().st_size > 0
    with closing(SqliteStore.open(path, now=NOW, read_only=True)) as reader:
        assert not reader.present


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_suite_passes_without_strict_tables_too(check: Check, path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(path)) as raw:
        migrate(raw, MIGRATIONS, strict=False)
        raw.commit()
    path.chmod(0o600)
    check(lambda: SqliteStore.open(path, now=NOW))


def plan(store: SqliteStore, statement: str, bound: object) -> str:
    rows = store._db.raw.execute(f"EXPLAIN QUERY PLAN {statement}", bound).fetchall()  # type: ignore[arg-type]
    return "\n".join(row[3] for row in rows)


def test_what_is_due_is_found_by_an_index_that_finished_jobs_are_not_in(store: SqliteStore) -> None:
    make(store, 1)
    found = plan(store, queries.DUE, (0, 10))
    # One step, along the index and in its order: no scan, no sorting.
    assert re.fullmatch(r"SEARCH jobs USING INDEX jobs_due \(.*due<\?\)", found)
    definition = store._db.raw.execute(
        "SELECT sql FROM sqlite_master WHERE name = 'jobs_due'"
    ).fetchone()[0]
    assert "WHERE finished = 0" in definition


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query(finished=False), "SCAN jobs USING INDEX jobs_unfinished"),
        (
            Query(finished=False, user="ada", since=NOW - SECOND),
            "SEARCH jobs USING INDEX jobs_unfinished (accepted_at>?)",
        ),
        (Query(), "SCAN jobs USING INDEX jobs_newest"),
        (Query(name="train"), "SEARCH jobs USING INDEX jobs_name (name=?)"),
    ],
)
def test_a_list_sorts_nothing(store: SqliteStore, query: Query, expected: str) -> None:
    assert plan(store, *queries.listing(query)) == expected


def test_a_job_is_found_by_an_index_whatever_it_is_called(store: SqliteStore) -> None:
    for statement, bound in (
        (queries.BY_ID, ("x",)),
        (queries.BY_KEY, ("x",)),
        (queries.BY_NAME_OR_PREFIX, {"text": "x", "low": "a", "high": "b"}),
        ("SELECT version FROM events WHERE job = ? AND version > ? ORDER BY version", ("x", 1)),
        ("SELECT 1 FROM nonces WHERE nonce = ?", ("x",)),
    ):
        found = plan(store, statement, bound)
        assert "SEARCH" in found
        assert "SCAN" not in found


def test_no_write_costs_more_for_the_jobs_that_are_there(store: SqliteStore) -> None:
    """SQLite's own steps are counted: what the query plans do not show (references, triggers) is in them."""

    def steps(job: str, version: int) -> list[int]:
        count = 0

        def one() -> None:
            nonlocal count
            count += 1

        counted: list[int] = []
        for write in (
            lambda: grow(store, job, version, [hold(version + 1)]),
            lambda: store.reschedule(job, NOW),
            lambda: store.claim([job], "me", NOW, NOW),
            lambda: store.due(NOW - SECOND, 10),
            lambda: grow(store, job, version + 1, [hold(version + 2)], finished=True, due=None),
            lambda: make(store, 5000 + version),
        ):
            count = 0
            store._db.raw.set_progress_handler(one, 1)
            write()
            store._db.raw.set_progress_handler(None, 1)
            counted.append(count)
        return counted

    job = make(store, 1, due=NOW)
    few = steps(job, 1)
    with store._db.write("fill", durable=False) as raw:
        for number in range(10, 1000):
            raw.execute(
                INSERT_JOB, summary_row(summary(job_id(number), finished=True, due=None), 1)
            )
            insert(raw, job_id(number), [header(job_id(number))])
    store.append(job, 3, [hold(4)], summary(job, 4))
    many = steps(job, 4)
    assert all(after <= before + 20 for before, after in zip(few, many, strict=True)), (few, many)
