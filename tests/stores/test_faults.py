"""What goes wrong with disks, files and locks: an error that says so, and nothing half written."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from dispatch.model.errors import CorruptRecord, Invalid, StoreError
from dispatch.model.journal import SCHEMA, HoldAsked
from dispatch.spi.store import Query
from dispatch.stores.sqlite import SqliteStore
from dispatch.stores.sqlite.faults import of_sqlite, of_system
from dispatch.stores.sqlite.files import sidecar
from stores.samples import NOW, entry, grow, hold, job_id, make

if TYPE_CHECKING:
    from pathlib import Path


def fill(store: SqliteStore, job: str) -> tuple[int, StoreError]:
    """Append until it fails; the last version that was acknowledged, and the error."""
    version = store.summary(job).version
    while version < 5000:
        big = [entry(version + n, HoldAsked(instance=1, by="ada", why="x" * 3000)) for n in (1, 2)]
        try:
            assert grow(store, job, version, big)
        except StoreError as error:
            return version, error
        version += 2
    raise AssertionError("it never failed")


def test_a_full_database_loses_the_append_whole_and_keeps_the_rest(
    path: Path, store: SqliteStore
) -> None:
    job = make(store, 1)
    store._db.raw.execute("PRAGMA max_page_count = 80")
    version, error = fill(store, job)
    assert "is full" in str(error)
    assert str(path) in str(error)
    assert job in str(error)
    assert error.todo
    with closing(SqliteStore.open(path, now=NOW)) as again:
        assert [found.version for found in again.load(job)] == list(range(1, version + 1))
        assert again.summary(job).version == version
    store._db.raw.execute("PRAGMA max_page_count = 1000000")
    assert grow(store, job, version, [hold(version + 1)])


def test_a_full_disk_loses_the_append_whole_and_keeps_the_rest(small_disk: Path) -> None:
    path = small_disk / "records.db"
    with closing(SqliteStore.open(path, now=NOW)) as store:
        job = make(store, 1)
        version, error = fill(store, job)
        assert version > 1
        assert "is full" in str(error)
        assert store.load(job)[-1].version == version
    with closing(SqliteStore.open(path, now=NOW)) as again:
        assert again.load(job)[-1].version == again.summary(job).version == version
        assert again.verify() == ()


def test_a_disk_that_is_full_from_the_beginning_is_told(small_disk: Path) -> None:
    with pytest.raises(OSError, match="space"):
        (small_disk / "ballast").write_bytes(b"x" * 1_000_000)
    with pytest.raises(StoreError, match="is full"):
        SqliteStore.open(small_disk / "records.db", now=NOW)


def test_a_read_only_disk_is_read_and_refuses_writes(small_disk: Path) -> None:
    path = small_disk / "records.db"
    with closing(SqliteStore.open(path, now=NOW)) as store:
        job = make(store, 1)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    before = sorted(small_disk.iterdir())
    with closing(SqliteStore.open(path, now=NOW, read_only=True)) as store:
        assert len(store.load(job)) == 1
    assert sorted(small_disk.iterdir()) == before
    with pytest.raises(StoreError, match="read-only"):
        SqliteStore.open(path, now=NOW)
    with pytest.raises(StoreError, match="read-only"):
        SqliteStore.open(small_disk / "new" / "records.db", now=NOW)


@pytest.mark.parametrize("content", [b"x", b"name: a job\n" * 1000])
def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "records.db"
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(StoreError, match="no database") as caught:
            SqliteStore.open(path, now=NOW, read_only=read_only)
        assert str(path) in caught.value.what
        assert "--records PATH" in caught.value.todo
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE moz_places (id)")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="another program"):
            SqliteStore.open(path, now=NOW, read_only=read_only)
    assert path.read_bytes() == before


def test_a_database_that_somebody_keeps_locked_is_told_after_a_bounded_wait(
    path: Path, store: SqliteStore
) -> None:
    job = make(store, 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked by|kept it locked") as caught:
            grow(store, job, 1, [hold(2)])
        assert f"fuser -v {path}" in caught.value.todo
        assert len(store.load(job)) == 1
        other.execute("ROLLBACK")
    assert grow(store, job, 1, [hold(2)])


def test_no_writer_commits_while_another_holds_the_writers_lock(
    path: Path, store: SqliteStore
) -> None:
    job = make(store, 1)
    directory = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    for write in (lambda: grow(store, job, 1, [hold(2)]), lambda: store.reschedule(job, NOW)):
        with pytest.raises(StoreError, match=r"locked by|kept it locked"):
            write()
    with pytest.raises(StoreError, match=r"locked by|kept it locked"):
        SqliteStore.open(path, now=NOW, patience=0.05)
    assert len(store.load(job)) == 1
    os.close(directory)
    assert grow(store, job, 1, [hold(2)])


def test_a_write_holds_sqlites_own_lock_from_its_first_read_on(
    path: Path, store: SqliteStore
) -> None:
    with (
        closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other,
        store._db.write("look"),
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")


def test_the_tables_themselves_refuse_a_second_job_of_a_key(store: SqliteStore) -> None:
    make(store, 1, key="nightly")
    make(store, 2)
    with pytest.raises(sqlite3.IntegrityError, match="key"):
        store._db.raw.execute("UPDATE jobs SET key = 'nightly'")


def test_a_job_of_a_newer_writer_says_so_in_a_list(store: SqliteStore) -> None:
    job = make(store, 1)
    grow(store, job, 1, [hold(2, schema=SCHEMA + 1)])
    assert "newer dispatch" in store.list(Query())[0].why


def test_events_are_synced_and_hints_are_not(store: SqliteStore) -> None:
    def synchronous() -> int:
        return int(store._db.raw.execute("PRAGMA synchronous").fetchone()[0])

    full, normal = 2, 1
    job = make(store, 1)
    assert synchronous() == full
    store.reschedule(job, NOW)
    assert synchronous() == normal
    grow(store, job, 1, [hold(2)])
    assert synchronous() == full
    assert store._db.raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert store._db.raw.execute("PRAGMA foreign_keys").fetchone()[0] == 1


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced", "directory", "log"])
def test_records_that_vanish_while_they_are_open_acknowledge_nothing_more(
    path: Path, store: SqliteStore, what: str
) -> None:
    job = make(store, 1)
    match what:
        case "deleted":
            path.unlink()
        case "moved":
            path.rename(path.with_name("old.db"))
        case "replaced":
            shutil.copy(path, path.with_name("copy.db"))
            path.with_name("copy.db").rename(path)
        case "directory":
            shutil.rmtree(path.parent)
        case _:
            sidecar(path, "-wal").unlink()
    for use in (
        lambda: grow(store, job, 1, [hold(2)]),
        lambda: store.load(job),
        lambda: store.due(NOW, 9),
    ):
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            use()


def damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DROP TRIGGER an_event_is_never_rewritten")
        raw.execute(statement)
        raw.commit()


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE events SET event = \'{"event":"nonsense"}\' WHERE version = 2',
        "UPDATE events SET event = substr(event, 2) WHERE version = 2",
        'UPDATE events SET event = \'{"event":"stopAsked","by":"a","more":1}\' WHERE version = 2',
        "UPDATE events SET event = '' WHERE version = 2",
        "UPDATE events SET at = 'yesterday' WHERE version = 2",
        "UPDATE events SET actor = '{}' WHERE version = 2",
        "DELETE FROM events WHERE version = 2",
        "UPDATE events SET version = 4 WHERE version = 2",
    ],
)
def test_a_damaged_event_names_its_job_and_version_and_stops_no_other(
    path: Path, store: SqliteStore, statement: str
) -> None:
    job = make(store, 1)
    grow(store, job, 1, [hold(2), hold(3)])
    sound = make(store, 2)
    damage(path, statement)
    with pytest.raises(CorruptRecord) as caught:
        store.load(job)
    assert job in str(caught.value)
    assert "ersion 2" in str(caught.value) or "Event 2" in str(caught.value)
    assert len(store.load(sound)) == 1
    assert len(store.list(Query())) == 2


def test_words_of_the_future_in_a_summary_are_shown_as_unknown(
    path: Path, store: SqliteStore
) -> None:
    job, sound = make(store, 1), make(store, 2)
    damage(
        path,
        "UPDATE jobs SET state = 'Frozen', cause = 'Cosmic', labels = '[]' WHERE id LIKE '%1'",
    )
    found = store.summary(job)
    assert (found.state, found.cause, found.labels) == ("Unknown", "Unknown", {})
    assert {summary.id for summary in store.due(NOW, 9)} == {job, sound}


def test_an_event_is_never_rewritten(store: SqliteStore) -> None:
    make(store, 1)
    with pytest.raises(sqlite3.IntegrityError, match="never rewritten"):
        store._db.raw.execute("UPDATE events SET event = '{}'")


def test_what_cannot_be_stored_is_refused_and_nothing_written(store: SqliteStore) -> None:
    job = make(store, 1)
    for bad in ("\udcff", "x" * 5_000_000):
        with pytest.raises(Invalid, match=job):
            grow(store, job, 1, [hold(2), entry(3, HoldAsked(instance=1, by=bad))])
    with pytest.raises(Invalid, match=job):
        grow(store, job, 1, [hold(2)], why="\udcff")
    assert store.summary(job).version == 1
    assert len(store.load(job)) == 1


def test_a_closed_store_says_so(store: SqliteStore) -> None:
    job = make(store, 1)
    store.close()
    for use in (lambda: store.load(job), lambda: grow(store, job, 1, [hold(2)])):
        with pytest.raises(StoreError, match="are closed"):
            use()


def test_an_error_of_any_kind_says_what_where_and_what_to_do(tmp_path: Path) -> None:
    codes = [getattr(sqlite3, name) for name in dir(sqlite3) if name.startswith("SQLITE_IOERR")]
    for code in [
        *codes,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_READONLY_DBMOVED,
    ]:
        error = sqlite3.OperationalError("said SQLite")
        error.sqlite_errorcode, error.sqlite_errorname = code, "SQLITE_X"
        said = of_sqlite(error, f"append to job {job_id(1)}", tmp_path)
        for word in (job_id(1), str(tmp_path), "SQLITE_X", "said SQLite"):
            assert word in said.what
        assert said.todo
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.ELOOP):
        said = of_system(OSError(number, os.strerror(number)), "open", tmp_path)
        assert os.strerror(number) in said.what
        assert said.todo
