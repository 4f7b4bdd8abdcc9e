"""What goes wrong with the directory store's disk: an error that says so, nothing half written, nothing lost."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import subprocess
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatch.model.errors import CorruptRecord, DispatchError, Invalid, NewerSchema, StoreError
from dispatch.model.journal import SCHEMA, HoldAsked
from dispatch.spi.store import Query
from dispatch.stores.directory import DirectoryStore, layout
from dispatch.stores.directory.disk import Disk
from stores.directory_disks import FailingDisk, LosingReplies, QuickDisk, WatchedDisk
from stores.samples import NOW, SECOND, end, entry, grow, header, hold, job_id, make, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

LOUD = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.ESTALE]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "dispatch" / "records.d"


@pytest.fixture
def store(root: Path) -> Generator[DirectoryStore]:
    opened = DirectoryStore.open(root, now=NOW, disk=QuickDisk())
    yield opened
    opened.close()


def record(root: Path, job: str) -> Path:
    return layout.job_directory(root, job)


def fresh_files(root: Path) -> list[Path]:
    return list(root.rglob(f"{layout.FRESH}*"))


def refusal_of(act: Callable[[], object]) -> StoreError | None:
    """How it was refused; nothing where it was done."""
    try:
        assert act()
    except StoreError as error:
        return error
    return None


# ------------------------------------------------------------------ errors of the disk


@pytest.mark.parametrize("code", LOUD)
@pytest.mark.parametrize("after", [False, True])
def test_whichever_call_is_refused_the_append_is_whole_or_absent_and_can_be_repeated(
    root: Path, store: DirectoryStore, code: int, *, after: bool
) -> None:
    for number in itertools.count():
        job, entries = make(store, number), [hold(2), hold(3)]
        disk = FailingDisk(number, code, after=after)
        with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as failing:
            refusal = refusal_of(partial(grow, failing, job, 1, entries, due=NOW - SECOND))
        assert refusal is None or (refusal.todo and job in refusal.what)
        there = len(store.load(job))
        assert there in ({1, 3} if refusal else {3})
        assert grow(store, job, 1, entries, due=NOW - SECOND)
        assert len(store.load(job)) == 3
        assert job in {one.id for one in store.due(NOW, 999)}
        if not disk.refused:
            break
    assert store.verify() == ()
    assert number > 5


@pytest.mark.parametrize("code", LOUD)
def test_whichever_call_is_refused_a_job_with_a_key_is_whole_or_absent_and_can_be_repeated(
    root: Path, store: DirectoryStore, code: int
) -> None:
    for number in itertools.count():
        job, other, key = job_id(number), job_id(1000 + number), f"key {number}"
        disk = FailingDisk(number, code)
        with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as failing:
            refusal = refusal_of(partial(failing.create, header(job), summary(job, key=key)))
        assert refusal is None or refusal.todo
        given = store.create(header(other), summary(other, key=key)).id
        assert given in {job, other}
        assert refusal or given == job
        assert [one.id for one in store.resolve(key)] == [given]
        if not disk.refused:
            break
    assert store.verify() == ()
    assert number > 8
    assert len(store.due(NOW, 999)) == len(store.list(Query())) == number + 1


def test_a_refused_submission_leaves_nothing_behind(root: Path, store: DirectoryStore) -> None:
    before = sorted(root.rglob("*"))
    disk = FailingDisk(1, errno.ENOSPC, kind="write")
    with (
        closing(DirectoryStore.open(root, now=NOW, disk=disk)) as failing,
        pytest.raises(StoreError, match="is full"),
    ):
        failing.create(header(job_id(1)), summary(job_id(1)))
    assert [path for path in sorted(root.rglob("*")) if path.parent.name != "jobs"] == before


def test_an_acknowledged_append_stays_so_when_the_lists_cannot_follow(
    root: Path, store: DirectoryStore
) -> None:
    """Lists follow from records; a disk that is full right after the append loses none."""
    job = make(store, 1)
    disk = WatchedDisk()

    def refuse(name: str, arguments: tuple[object, ...]) -> None:
        if name == "create" and layout.DONE in Path(str(arguments[0])).parts:
            raise OSError(errno.ENOSPC, "No space left on device")

    disk.before = refuse
    with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as failing:
        assert grow(failing, job, 1, [end(2)], finished=True, due=None)
    assert [one.id for one in store.list(Query(finished=True))] == [job]
    assert store.due(NOW, 9) == ()
    assert store.verify() == ()


@pytest.mark.parametrize("code", [errno.EIO, errno.EEXIST, errno.ETIMEDOUT])
def test_a_link_whose_reply_was_lost_is_settled_by_looking(root: Path, code: int) -> None:
    with closing(DirectoryStore.open(root, now=NOW, disk=LosingReplies(code))) as losing:
        job = make(losing, 1, key="nightly")
        assert grow(losing, job, 1, [hold(2)])
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        assert len(store.load(job)) == 2
        assert not grow(store, job, 1, [hold(2)])
        assert store.verify() == ()


def test_a_lost_reply_is_settled_by_the_content_where_the_inode_tells_nothing(root: Path) -> None:
    class Forgetful(LosingReplies):
        """A client whose cached attributes are old: no file seems to be another's second name."""

        numbers = itertools.count(1)

        def stat(self, path: Path) -> os.stat_result:
            found = list(super().stat(path))
            found[1] = next(self.numbers)
            return os.stat_result(found)

    disk = Forgetful(losing=False)
    with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as store:
        job = make(store, 1)
        disk.losing = True
        assert grow(store, job, 1, [hold(2)])
        disk.losing = False
        assert not grow(store, job, 1, [hold(2)])


def test_a_link_that_was_refused_and_not_made_is_no_success(root: Path) -> None:
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        job = make(store, 1)
        disk = FailingDisk(0, errno.EIO, kind="link")
        with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as failing:
            with pytest.raises(StoreError):
                grow(failing, job, 1, [hold(2)])
            assert len(store.load(job)) == 1
        assert fresh_files(root) == []


def test_a_file_system_without_hard_links_is_refused_by_name(root: Path) -> None:
    for code in (errno.EPERM, errno.EOPNOTSUPP):
        disk = FailingDisk(0, code, kind="link")
        with pytest.raises(StoreError, match="no hard links") as caught:
            DirectoryStore.open(root, now=NOW, disk=disk)
        assert "--records" in caught.value.todo


def test_a_file_system_whose_links_replace_is_refused(root: Path) -> None:
    class Replacing(Disk):
        def link(self, source: Path, target: Path) -> None:
            source.rename(target)

    with pytest.raises(StoreError, match="both would win"):
        DirectoryStore.open(root, now=NOW, disk=Replacing())


def test_a_full_disk_loses_the_append_whole_and_keeps_the_rest(small_disk: Path) -> None:
    root = small_disk / "records.d"
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        job, version, refusal = make(store, 1), -1, None
        while refusal is None:
            version += 2
            big = [
                entry(version + n, HoldAsked(instance=1, by="ada", why="x" * 3000)) for n in (1, 2)
            ]
            refusal = refusal_of(partial(grow, store, job, version, big))
        assert "is full" in refusal.what
        assert version > 1
        assert store.load(job)[-1].version == version
    with closing(DirectoryStore.open(root, now=NOW)) as again:
        assert again.load(job)[-1].version == again.summary(job).version == version
        assert again.verify() == ()
        assert fresh_files(root) == []
        assert [one.id for one in again.due(NOW, 9)] == [job]


def test_a_read_only_disk_is_read_and_refuses_writes(small_disk: Path) -> None:
    root = small_disk / "records.d"
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        job = make(store, 1)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with closing(DirectoryStore.open(root, now=NOW, read_only=True)) as store:
        assert len(store.load(job)) == len(store.due(NOW, 9)) == 1
    with (
        closing(DirectoryStore.open(root, now=NOW)) as store,
        pytest.raises(StoreError, match="read-only"),
    ):
        grow(store, job, 1, [hold(2)])
    with pytest.raises(StoreError, match="read-only"):
        DirectoryStore.open(small_disk / "new.d", now=NOW)


def test_where_one_may_not_look_the_permission_is_named(
    root: Path, store: DirectoryStore, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    with as_nobody():
        for read_only in (False, True):
            with pytest.raises(StoreError, match="no permission"):
                DirectoryStore.open(root, now=NOW, read_only=read_only)


# ------------------------------------------------------------------ damage


@pytest.mark.parametrize("content", [b"", b"{", b'{"job":"x"}', b"\xff\xfe", b"null"])
def test_a_damaged_append_names_its_job_and_version_and_stops_no_other(
    root: Path, store: DirectoryStore, content: bytes
) -> None:
    job, sound = make(store, 1), make(store, 2)
    grow(store, job, 1, [hold(2)])
    (record(root, job) / layout.version_name(2)).write_bytes(content)
    with closing(DirectoryStore.open(root, now=NOW)) as again:
        for ask in (again.load, again.summary):
            with pytest.raises(CorruptRecord, match=f"Event 2 of job {job}"):
                ask(job)
        with pytest.raises(CorruptRecord, match=job):
            grow(again, job, 2, [hold(3)])
        assert len(again.load(sound)) == 1
        assert {one.id for one in again.list(Query())} == {job, sound}
        assert {one.id for one in again.due(NOW, 9)} == {job, sound}
        assert any(job in line for line in again.verify())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"holdAsked"', b'"nonsense"'),
        (b'"by":"ada"', b'"by":"ada","more":1'),
        (b'"version":3', b'"version":4'),
        (b'"instance":3', b'"instance":"3"'),
    ],
)
def test_entries_are_decoded_strictly_and_the_version_at_fault_is_named(
    root: Path, store: DirectoryStore, old: bytes, new: bytes
) -> None:
    job = make(store, 1)
    grow(store, job, 1, [hold(2), hold(3)])
    path = record(root, job) / layout.version_name(2)
    begin, _, last = path.read_bytes().rpartition(old)
    path.write_bytes(begin + new + last)
    with pytest.raises(CorruptRecord, match=rf"Event [23] of job {job}"):
        store.load(job)


def test_a_missing_append_is_named(root: Path, store: DirectoryStore) -> None:
    job = make(store, 1)
    grow(store, job, 1, [hold(2), hold(3)])
    grow(store, job, 3, [hold(4)])
    (record(root, job) / layout.version_name(2)).unlink()
    with pytest.raises(CorruptRecord, match="version 2 is missing"):
        store.load(job)
    with pytest.raises(CorruptRecord, match="version 2 is missing"):
        store.load(job, after=2)


def test_a_file_too_large_to_be_ours_is_not_read(root: Path, store: DirectoryStore) -> None:
    job = make(store, 1)
    with (record(root, job) / layout.version_name(2)).open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(StoreError):
        store.load(job)


def test_what_cannot_be_stored_is_refused_and_nothing_written(
    root: Path, store: DirectoryStore
) -> None:
    job = make(store, 1)
    for bad in ("\udcff", "x" * 5_000_000):
        with pytest.raises(Invalid, match=job):
            grow(store, job, 1, [hold(2), entry(3, HoldAsked(instance=1, by=bad))])
    with pytest.raises(Invalid, match=job):
        grow(store, job, 1, [hold(2)], why="\udcff")
    with pytest.raises(Invalid):
        store.create(header(job), summary("../../etc"))
    assert len(store.load(job)) == 1


def test_words_of_a_newer_writer_in_a_summary_are_shown_as_unknown(
    root: Path, store: DirectoryStore
) -> None:
    job = make(store, 1)
    grow(store, job, 1, [hold(2, schema=SCHEMA + 1)])
    path = record(root, job) / layout.version_name(2)
    path.write_bytes(
        path.read_bytes().replace(b'"state":"Pending"', b'"state":"Frozen","wholly":"new"')
    )
    with closing(DirectoryStore.open(root, now=NOW)) as again:
        for (found,) in (again.list(Query()), again.due(NOW, 9)):
            assert found.state == "Unknown"
            assert "newer dispatch" in found.why
            assert found.name == "train"


def test_a_newer_format_is_left_alone(root: Path, store: DirectoryStore) -> None:
    make(store, 1)
    path = root / layout.FORMAT
    path.write_bytes(b'{"format":2,"id":"as you like","more":true}\n')
    before = sorted(root.rglob("*"))
    for read_only in (False, True):
        with pytest.raises(NewerSchema, match="format 2"):
            DirectoryStore.open(root, now=NOW, read_only=read_only)
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format":1,"id":"x"}', b"\x00"])
def test_a_format_that_is_not_ours_is_told(
    root: Path, store: DirectoryStore, content: bytes
) -> None:
    (root / layout.FORMAT).write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(StoreError, match="not one of dispatch"):
            DirectoryStore.open(root, now=NOW, read_only=read_only)


# ------------------------------------------------------------------ strays


def test_strays_of_all_kinds_hurt_nobody(root: Path, store: DirectoryStore) -> None:
    job, ended = make(store, 1, key="nightly"), make(store, 2)
    grow(store, ended, 1, [end(2)], finished=True, due=None)
    names = [
        ".nfs000000000123", "0000000002~", "#0000000002#", ".0000000002.swp", "2", "00000000020",
        "0000000002.orig", ".DS_Store", "README", ".snapshot", job.lower(), f"{layout.FRESH}half",
    ]  # fmt: skip
    for directory in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        for name in names:
            (directory / name).write_bytes(b"stray")
    with closing(DirectoryStore.open(root, now=NOW)) as again:
        assert again.verify() == ()
        assert {one.id for one in again.list(Query())} == {job, ended}
        assert [one.id for one in again.due(NOW, 9)] == [job]
        assert grow(again, job, 1, [hold(2)], key="nightly")
        assert again.claim([job], "me", NOW + SECOND, NOW) == {job}
        assert again.heartbeats(NOW) == ()
        assert [one.id for one in again.resolve("nightly")] == [job]
        assert [one.id for one in again.resolve("train")] == [ended, job]
        assert len(again.load(job)) == 2


def test_what_a_dead_writer_left_half_written_is_removed_after_an_hour(
    root: Path, store: DirectoryStore
) -> None:
    job = make(store, 1)
    old, young = (record(root, job) / f"{layout.FRESH}{name}" for name in ("old", "young"))
    for path, age in ((old, 4000), (young, 3000)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    with closing(DirectoryStore.open(root, now=NOW)) as again:
        assert grow(again, job, 1, [hold(2)])
    assert not old.exists()
    assert young.exists()


def test_a_queue_that_was_lost_is_built_anew(root: Path, store: DirectoryStore) -> None:
    job, ended = make(store, 1, due=NOW), make(store, 2)
    grow(store, ended, 1, [end(2)], finished=True, due=None)
    shutil.rmtree(root / layout.QUEUE)
    with closing(DirectoryStore.open(root, now=NOW)) as again:
        assert [one.id for one in again.due(NOW, 9)] == [job]
        assert again.verify() == ()


def test_a_lost_list_of_the_finished_is_told_by_a_check(root: Path, store: DirectoryStore) -> None:
    job = make(store, 1, finished=True, due=None)
    shutil.rmtree(root / layout.DONE)
    assert any(job in line for line in store.verify())


def test_the_summary_of_a_finished_job_that_is_missing_or_old_is_read_from_the_record(
    root: Path, store: DirectoryStore
) -> None:
    job = make(store, 1, finished=True, due=None, why="the truth")
    [path] = (root / layout.DONE).rglob(f"*{job}*")
    for content in (b"", b"{"):
        path.write_bytes(content)
        assert [one.why for one in store.list(Query())] == ["the truth"]


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_records_that_vanish_while_they_are_open_acknowledge_nothing_more(
    root: Path, store: DirectoryStore, what: str
) -> None:
    job = make(store, 1)
    match what:
        case "deleted":
            shutil.rmtree(root)
        case "moved":
            root.rename(root.with_name("old.d"))
        case _:
            root.rename(root.with_name("old.d"))
            shutil.copytree(root.with_name("old.d"), root)
    for use in (
        lambda: grow(store, job, 1, [hold(2)]),
        lambda: store.load(job),
        lambda: store.due(NOW, 9),
    ):
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            use()


def test_a_record_that_was_restored_while_it_was_open_gets_no_gap(
    root: Path, store: DirectoryStore
) -> None:
    job = make(store, 1)
    assert grow(store, job, 1, [hold(2)])
    (record(root, job) / layout.version_name(2)).unlink()
    assert not grow(store, job, 2, [hold(3)])
    assert len(store.load(job)) == 1


def test_every_error_of_a_closed_or_reading_store_says_what_to_do(root: Path) -> None:
    store = DirectoryStore.open(root, now=NOW)
    store.close()
    with pytest.raises(StoreError, match="are closed"):
        store.list(Query())
    with closing(DirectoryStore.open(root, now=NOW, read_only=True)) as reader:
        for write in (lambda: make(reader, 1), lambda: reader.unclaim("me")):
            with pytest.raises(DispatchError, match="reading only"):
                write()


def test_a_key_of_another_text_is_never_taken_for_it(root: Path, store: DirectoryStore) -> None:
    make(store, 1, key="nightly")
    [path] = (root / layout.KEYS).glob("*/*")
    path.write_bytes(path.read_bytes().replace(b'"key":"nightly"', b'"key":"another"', 1))
    with pytest.raises(CorruptRecord, match="of a key"):
        store.create(header(job_id(2)), summary(job_id(2), key="nightly"))
