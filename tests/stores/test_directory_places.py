"""Which store is opened where, and that it is private; and what a question costs, counted in files."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from dispatch.model.errors import NotFound, StoreError
from dispatch.spi.store import Heartbeat, Query
from dispatch.stores.directory import DirectoryStore
from dispatch.stores.directory.disk import Disk
from dispatch.stores.filesystem import FileSystem
from dispatch.stores.opening import AnyStore, open_store
from dispatch.stores.sqlite import SqliteStore
from stores.conftest import NOBODY
from stores.directory_disks import QuickDisk, WatchedDisk
from stores.samples import NOW, SECOND, end, grow, hold, job_id, make

if TYPE_CHECKING:
    from pathlib import Path


def on(fs_type: str, path: Path, *, read_only: bool = False) -> AnyStore:
    """Open the records of a place as if it were on such a file system."""

    def file_system(asked: Path) -> FileSystem:
        return FileSystem(path=str(asked), point="/home", type=fs_type, source="filer:/home")

    return open_store(path, now=NOW, read_only=read_only, file_system=file_system)


# ------------------------------------------------------------------ which store


@pytest.mark.parametrize("fs_type", ["nfs4", "lustre", "gpfs", "beegfs", "fuse.sshfs", "unheard"])
def test_on_a_shared_file_system_new_records_are_a_directory_beside_the_name(
    tmp_path: Path, fs_type: str
) -> None:
    place = tmp_path / "records.db"
    with closing(on(fs_type, place)) as store:
        assert store.place == str(tmp_path / "records.d")
        job = make(store, 1)
        (note,) = store.warnings
        assert store.place in note
    assert not place.exists()
    for read_only in (False, True):
        with closing(on(fs_type, place, read_only=read_only)) as again:
            assert len(again.load(job)) == 1
            assert again.warnings == ()


@pytest.mark.parametrize("fs_type", ["ext4", "xfs", "tmpfs", ""])
def test_on_a_local_disk_new_records_are_a_file_of_sqlite(tmp_path: Path, fs_type: str) -> None:
    with closing(on(fs_type, tmp_path / "records.db")) as store:
        assert isinstance(store, SqliteStore)
    assert (tmp_path / "records.db").exists()


@pytest.mark.parametrize("fs_type", ["ext4", "nfs4"])
def test_a_directory_that_is_there_is_used_on_any_file_system(tmp_path: Path, fs_type: str) -> None:
    """The host that exports a home sees it as a local disk."""
    with closing(on("nfs4", tmp_path / "records.db")) as store:
        job = make(store, 1)
    for place in (tmp_path / "records.db", tmp_path / "records.d", tmp_path / "records"):
        with closing(on(fs_type, place)) as again:
            assert isinstance(again, DirectoryStore)
            assert len(again.load(job)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["records.d"]


@pytest.mark.parametrize("name", ["jobs.d", "jobs/"])
def test_a_name_may_ask_for_a_directory(tmp_path: Path, name: str) -> None:
    with closing(open_store(f"{tmp_path}/{name}", now=NOW)) as store:
        assert isinstance(store, DirectoryStore)
        assert store.place == f"{tmp_path}/{name.rstrip('/')}"
    (tmp_path / "empty").mkdir(mode=0o700)
    with closing(on("ext4", tmp_path / "empty")) as store:
        assert isinstance(store, DirectoryStore)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_of_sqlite_on_a_shared_file_system_is_refused_and_nothing_begun_beside_it(
    tmp_path: Path, *, read_only: bool
) -> None:
    place = tmp_path / "records.db"
    SqliteStore.open(place, now=NOW).close()
    with pytest.raises(StoreError, match="file of SQLite on nfs4") as caught:
        on("nfs4", place, read_only=read_only)
    assert str(place) in caught.value.what
    assert "local disk" in caught.value.todo
    assert [path.name for path in tmp_path.iterdir()] == ["records.db"]


@pytest.mark.parametrize("fs_type", ["ext4", "nfs4"])
@pytest.mark.parametrize("read_only", [False, True])
def test_two_stores_are_refused_both(tmp_path: Path, fs_type: str, *, read_only: bool) -> None:
    place = tmp_path / "records.db"
    with closing(on("nfs4", place)) as store:
        job = make(store, 1)
    SqliteStore.open(place, now=NOW).close()
    with pytest.raises(StoreError, match="two records") as caught:
        on(fs_type, place, read_only=read_only)
    assert str(tmp_path / "records.d") in caught.value.todo
    with closing(on(fs_type, tmp_path / "records.d")) as named:
        assert len(named.load(job)) == 1


def test_a_file_that_ends_like_a_directory_stays_what_it_is(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path / "records.d", now=NOW).close()
    with closing(on("ext4", tmp_path / "records.d")) as store:
        assert isinstance(store, SqliteStore)
    with pytest.raises(StoreError, match="SQLite"):
        on("nfs4", tmp_path / "records.d")


# ------------------------------------------------------------------ the directory


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_all_that_is_made_is_private_under_any_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with closing(DirectoryStore.open(tmp_path / "a" / "records.d", now=NOW)) as store:
            job = make(store, 1, key="nightly")
            store.claim([job], "me", NOW, NOW)
            store.beat(Heartbeat(id="s", host="h", pid=1, version="1", seen=NOW))
            grow(store, job, 1, [end(2)], key="nightly", finished=True, due=None)
    finally:
        os.umask(before)
    made = list((tmp_path / "a").rglob("*"))
    assert len(made) > 15
    for path in [tmp_path / "a", *made]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.lstat().st_mode) == wanted, path


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "thesis"
    root.mkdir(mode=0o700)
    (root / "chapter1").write_text("precious")
    with pytest.raises(StoreError, match="chapter1"):
        DirectoryStore.open(root, now=NOW)
    assert [path.name for path in root.iterdir()] == ["chapter1"]
    with closing(DirectoryStore.open(root, now=NOW, read_only=True)) as reader:
        assert not reader.present


@pytest.mark.parametrize("lax", [0o720, 0o702, 0o777])
def test_a_directory_that_others_may_write_is_refused(tmp_path: Path, lax: int) -> None:
    root = tmp_path / "records.d"
    DirectoryStore.open(root, now=NOW).close()
    root.chmod(lax)
    for read_only in (False, True):
        with pytest.raises(StoreError, match=f"{lax:04o}") as caught:
            DirectoryStore.open(root, now=NOW, read_only=read_only)
        assert f"chmod 700 {root}" in caught.value.todo


def test_a_place_that_another_may_take_is_refused_and_a_sticky_one_is_not(tmp_path: Path) -> None:
    for mode, name in ((0o777, "open"), (0o1777, "sticky")):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    with pytest.raises(StoreError, match="Everybody may write"):
        DirectoryStore.open(tmp_path / "open" / "records.d", now=NOW)
    DirectoryStore.open(tmp_path / "sticky" / "records.d", now=NOW).close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_records_of_another_account_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "records.d"
    DirectoryStore.open(root, now=NOW).close()
    os.chown(root, NOBODY, NOBODY)
    for read_only in (False, True):
        with pytest.raises(StoreError, match=f"uid {NOBODY}"):
            DirectoryStore.open(root, now=NOW, read_only=read_only)


def test_what_is_no_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="no directory"):
        DirectoryStore.open(tmp_path / "file", now=NOW)
    with pytest.raises(StoreError, match="ot a directory"):
        DirectoryStore.open(tmp_path / "file" / "records.d", now=NOW)


def test_records_that_are_not_there_read_as_empty_and_nothing_is_made(tmp_path: Path) -> None:
    with closing(DirectoryStore.open(tmp_path / "a" / "r.d", now=NOW, read_only=True)) as reader:
        assert not reader.present
        assert reader.id == ""
        assert reader.list(Query()) == reader.due(NOW, 9) == reader.resolve(job_id(1)) == ()
        assert reader.resolve("train") == ()
        assert reader.heartbeats(NOW) == ()
        assert reader.warnings == ()
        assert reader.verify() == ()
        for ask in (reader.load, reader.summary):
            with pytest.raises(NotFound):
                ask(job_id(1))
    assert list(tmp_path.iterdir()) == []


def test_reading_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "records.d"
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        job = make(store, 1, key="nightly")
        disk = WatchedDisk()
        with closing(DirectoryStore.open(root, now=NOW, read_only=True, disk=disk)) as reader:
            assert reader.load(job) == store.load(job)
            assert reader.due(NOW, 9) == reader.list(Query()) == reader.resolve("nightly")
            assert reader.verify() == ()
            assert reader.id == store.id
        assert {name for name, _ in disk.calls} <= {"names", "read", "stat"}


# ------------------------------------------------------------------ what it costs


def test_finished_jobs_cost_the_unfinished_ones_nothing(tmp_path: Path) -> None:
    """Counted in calls to the disk, and in the names that its listings bring: no time is measured."""

    class Counting(WatchedDisk):
        brought = 0

        def names(self, directory: Path) -> list[str]:
            found = super().names(directory)
            self.brought += len(found)
            return found

    root = tmp_path / "records.d"

    def cost() -> list[tuple[int, int]]:
        counted: list[tuple[int, int]] = []
        disk = Counting()
        with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as store:
            version = store.summary(job).version
            for ask in (
                lambda: store.due(NOW, 10),
                lambda: store.list(Query(finished=False)),
                lambda: store.load(job),
                lambda: store.summary(job),
                lambda: store.reschedule(job, NOW),
                lambda: store.claim([job], "me", NOW, NOW),
                lambda: store.resolve(job),
                lambda: grow(store, job, version, [hold(version + 1)]),
            ):
                disk.calls.clear()
                disk.brought = 0
                ask()
                counted.append((len(disk.calls), disk.brought))
        return counted

    with closing(DirectoryStore.open(root, now=NOW, disk=QuickDisk())) as store:
        job = make(store, 1)
        grow(store, job, 1, [hold(2)])
        cost()
        few = cost()
        for number in range(10, 210):
            make(store, number, finished=True, due=None)
        many = cost()
    assert all(
        # The job itself has one append more.
        calls <= calls_before + 1 and names <= names_before + 1
        for (calls_before, names_before), (calls, names) in zip(few, many, strict=True)
    ), (few, many)


def test_the_newest_of_many_finished_jobs_are_found_by_their_names(tmp_path: Path) -> None:
    root = tmp_path / "records.d"
    with closing(DirectoryStore.open(root, now=NOW, disk=QuickDisk())) as store:
        for number in range(1, 101):
            make(store, number, finished=True, due=None, accepted_at=NOW + SECOND * 3600 * number)
    disk = WatchedDisk()
    with closing(DirectoryStore.open(root, now=NOW, read_only=True, disk=disk)) as reader:
        disk.calls.clear()
        found = reader.list(Query(limit=3))
        assert [one.id for one in found] == [job_id(number) for number in (100, 99, 98)]
        assert disk.count("read") == 3
        assert disk.count("names") == 3  # the queue, the days, the last day


def test_an_append_makes_its_bytes_and_its_name_durable_in_this_order(tmp_path: Path) -> None:
    disk = WatchedDisk()
    with closing(DirectoryStore.open(tmp_path / "r.d", now=NOW, disk=disk)) as store:
        job = make(store, 1)
        disk.calls.clear()
        grow(store, job, 1, [hold(2)])
    told = [name for name, _ in disk.calls if name not in {"stat", "names", "read"}]
    assert told[:7] == ["create", "write", "sync", "close", "link", "unlink", "sync_directory"]


def test_a_directory_is_synced_as_far_as_its_file_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(code: int) -> None:
        def fsync(descriptor: int) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "fsync", fsync)

    refuse(22)
    Disk().sync_directory(tmp_path)
    refuse(5)
    with pytest.raises(OSError, match="Input"):
        Disk().sync_directory(tmp_path)
