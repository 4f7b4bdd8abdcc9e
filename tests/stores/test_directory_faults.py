"""What goes wrong with the directory store's disk: an error that says so, nothing half written, nothing lost."""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatch.model.errors import StoreError
from dispatch.model.journal import HoldAsked
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
    number = 0
    for number in itertools.count():
        job, entries = make(store, number), [hold(2), hold(3)]
        disk = FailingDisk(number, code, after=after, armed=False)
        with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as failing:
            disk.armed = True
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
    number = 0
    for number in itertools.count():
        job, other, key = job_id(number), job_id(1000 + number), f"key {number}"
        disk = FailingDisk(number, code, armed=False)
        with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as failing:
            disk.armed = True
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
