"""Opening for reading only, backups, checks, and the machine that the records belong to."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dispatch.model.errors import NotFound, ReadOnly, StoreError
from dispatch.spi.store import Heartbeat, Query, Turn
from dispatch.stores.sqlite import SqliteStore, identity
from dispatch.stores.sqlite.files import SIDECARS, sidecar
from stores.samples import NOW, grow, header, hold, job_id, make, summary


def read(path: Path) -> closing[SqliteStore]:
    return closing(SqliteStore.open(path, now=NOW, read_only=True))


@pytest.mark.parametrize("made", [False, True])
def test_records_that_are_not_there_read_as_empty_and_nothing_is_made(
    path: Path, *, made: bool
) -> None:
    if made:  # as by a process that died in the midst of making them
        path.parent.mkdir()
        path.touch(mode=0o600)
    with read(path) as reader:
        assert not reader.present
        assert reader.id == ""
        assert reader.list(Query()) == reader.due(NOW, 9) == reader.resolve(job_id(1)) == ()
        assert reader.heartbeats(NOW) == ()
        assert reader.warnings == ()
        assert reader.verify() == ()
        with pytest.raises(NotFound):
            reader.load(job_id(1))
    assert list(path.parent.parent.rglob("*")) == ([path.parent, path] if made else [])


def test_a_reader_sees_what_is_committed_while_another_writes(
    path: Path, store: SqliteStore
) -> None:
    job = make(store, 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE jobs SET why = 'half done'")
        with read(path) as reader:
            assert reader.present
            assert reader.id == store.id
            assert len(reader.load(job)) == 1
            assert reader.summary(job).why == ""
        writer.execute("ROLLBACK")
    with read(path) as reader:
        grow(store, job, 1, [hold(2)])
        assert len(reader.load(job)) == 2


def test_a_reader_leaves_no_file_behind(path: Path, store: SqliteStore) -> None:
    make(store, 1)
    store.close()
    with read(path) as reader:
        assert len(reader.list(Query())) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_reader_sees_what_a_dead_writer_left_in_its_log(
    path: Path, store: SqliteStore, tmp_path: Path
) -> None:
    job = make(store, 1)
    grow(store, job, 1, [hold(2)])
    left = tmp_path / "left"
    shutil.copytree(path.parent, left)
    sidecar(left / path.name, "-shm").unlink()
    with read(left / path.name) as reader:
        assert len(reader.load(job)) == 2


def test_a_reader_writes_nothing_at_all(path: Path, store: SqliteStore) -> None:
    job = make(store, 1)
    beat = Heartbeat(id="s", host="h", pid=1, version="1", seen=NOW)
    with read(path) as reader:
        for write in (
            lambda: reader.create(header(job_id(2)), summary(job_id(2))),
            lambda: grow(reader, job, 1, [hold(2)]),
            lambda: reader.reschedule(job, None),
            lambda: reader.reschedule_all([Turn(job=job, due=None)]),
            lambda: reader.claim([job], "me", NOW, NOW),
            lambda: reader.unclaim("me"),
            lambda: reader.beat(beat),
            lambda: reader.unbeat("s"),
            reader.settle_here,
        ):
            with pytest.raises(ReadOnly, match="reading only"):
                write()
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._db.raw.execute("DELETE FROM events")


def test_a_backup_of_a_store_in_use_is_whole_and_private(
    path: Path, store: SqliteStore, tmp_path: Path
) -> None:
    job = make(store, 1)
    grow(store, job, 1, [hold(2)])
    target = tmp_path / "backups.db"
    store.backup(target)
    grow(store, job, 2, [hold(3)])
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.glob("backups*")] == ["backups.db"]
    with closing(SqliteStore.open(target, now=NOW)) as copy:
        assert copy.id == store.id
        assert len(copy.load(job)) == 2
        assert copy.verify() == ()


def test_a_backup_overwrites_nothing_and_leaves_nothing_half(
    store: SqliteStore, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.write_text("keep")
    with pytest.raises(StoreError, match="overwrites nothing"):
        store.backup(target)
    assert target.read_text() == "keep"
    with pytest.raises(StoreError, match="write a backup"):
        store.backup(tmp_path / "missing" / "backup.db")


def test_a_backup_that_fails_leaves_nothing(small_disk: Path, store: SqliteStore) -> None:
    job = make(store, 1)
    grow(store, job, 1, [hold(n) for n in range(2, 3000)])
    with pytest.raises(StoreError, match="is full"):
        store.backup(small_disk / "backup.db")
    assert list(small_disk.iterdir()) == []


def test_a_check_of_the_file_finds_gaps_and_strays(path: Path, store: SqliteStore) -> None:
    gap, sound = make(store, 1), make(store, 2)
    grow(store, gap, 1, [hold(2), hold(3)])
    assert store.verify() == ()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DELETE FROM events WHERE version = 2")
        raw.execute("INSERT INTO claims VALUES ('nobody', 'me', 1)")
        raw.commit()
    found = "\n".join(store.verify())
    assert f"Job {gap} is at version 3 and has 2 events" in found
    assert "claims" in found
    assert sound not in found


def test_records_of_another_machine_are_noticed_until_one_settles(
    path: Path, store: SqliteStore
) -> None:
    make(store, 1)
    assert store.warnings == ()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE meta SET value = 'another' WHERE name = 'host_id'")
        raw.commit()
    for read_only in (True, False):
        with closing(SqliteStore.open(path, now=NOW, read_only=read_only)) as moved:
            assert len(moved.list(Query())) == 1
            (warning,) = moved.warnings
            assert str(path) in warning
            assert "another machine" in warning
            if not read_only:
                moved.settle_here()
                assert moved.warnings == ()
    with read(path) as settled:
        assert settled.warnings == ()


@pytest.mark.skipif(not identity.this_host(), reason="this machine has no id")
def test_a_machines_id_is_kept_only_as_a_hash(path: Path, store: SqliteStore) -> None:
    store.close()
    content = path.read_bytes()
    assert identity.this_host().encode() in content
    assert Path("/etc/machine-id").read_bytes().strip() not in content


def test_supervisors_that_vanished_long_ago_are_forgotten(store: SqliteStore) -> None:
    def beat(name: str, days: int) -> None:
        seen = NOW + timedelta(days=days)
        store.beat(Heartbeat(id=name, host="h", pid=1, version="1", seen=seen))

    beat("old", 0)
    beat("new", 31)
    assert [found.id for found in store.heartbeats(NOW - timedelta(days=365))] == ["new"]


def test_an_ended_job_keeps_no_claim(store: SqliteStore) -> None:
    job = make(store, 1)
    store.claim([job], "me", NOW + timedelta(days=1), NOW)
    grow(store, job, 1, [hold(2)], finished=True, due=None)
    assert store._db.raw.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_every_file_of_a_closed_store_can_be_copied_as_one(path: Path, store: SqliteStore) -> None:
    make(store, 1)
    store.close()
    assert not [suffix for suffix in SIDECARS if sidecar(path, suffix).exists()]
