"""Many appends at once: what they cost, and what of them is left wherever the process dies, the power fails, a call is refused."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from dispatch.model.errors import StoreError
from dispatch.spi.store import Added, Addition
from dispatch.stores.directory import DirectoryStore
from dispatch.stores.sqlite import SqliteStore
from stores.directory_disks import Crash, CrashingDisk, FailingDisk, QuickDisk, VolatileDisk
from stores.samples import NOW, SECOND, end, header, hold, job_id, summary
from stores.test_directory_crashes import cuts

JOBS = [job_id(number) for number in (1, 2, 3)]
FAR = NOW + SECOND * 10**6


def accepted(root: Path) -> None:
    """Make the records, with three jobs."""
    with closing(DirectoryStore.open(root, now=NOW, disk=QuickDisk())) as store:
        for job in JOBS:
            store.create(header(job, nonce=f"header of {job}"), summary(job, due=NOW + SECOND))


def additions() -> list[Addition]:
    """Two events for the first, one that makes it due for the second, the end of the third; each time the very same."""
    first, second, third = JOBS
    held = (hold(2, nonce="a"), hold(3, nonce="b"))
    ended = Addition(
        job=third,
        expected=1,
        entries=(end(2, nonce="d"),),
        summary=summary(third, 2, finished=True, due=None),
    )
    return [
        Addition(job=first, expected=1, entries=held, summary=summary(first, 3, due=FAR)),
        Addition(
            job=second,
            expected=1,
            entries=(hold(2, nonce="c"),),
            summary=summary(second, 2, due=NOW),
        ),
        ended,
    ]


def there(store: DirectoryStore) -> list[bool]:
    """Of each addition, whether it is there: whole, with its summary and its place in the lists."""
    found: list[bool] = []
    due = {one.id for one in store.due(NOW, 9)}
    for one in additions():
        entries = store.load(one.job, after=1)
        assert [entry.nonce for entry in entries] in ([], [entry.nonce for entry in one.entries])
        assert store.summary(one.job).version == 1 + len(entries)
        assert not entries or one.summary.due != NOW or one.job in due
        found.append(bool(entries))
    assert store.verify() == ()
    return found


def deaths(
    tmp_path: Path, disk: Callable[[Path, int], CrashingDisk]
) -> Iterator[tuple[Path, CrashingDisk, bool]]:
    """Die before each call of the disk in turn: the place, its disk, and at last that it was acknowledged."""
    for lives in itertools.count():
        root = tmp_path / str(lives) / "records.d"
        accepted(root)
        dying = disk(root, lives)
        acknowledged = False
        with suppress(Crash):
            store = DirectoryStore.open(root, now=NOW, disk=dying)
            assert store.append_all(additions()) == (True, True, True)
            acknowledged = True
        yield root, dying, acknowledged
        if acknowledged:
            assert lives > 20
            return


@pytest.mark.parametrize("torn", [False, True])
def test_a_process_may_die_before_any_call_to_the_disk(tmp_path: Path, *, torn: bool) -> None:
    for root, _, acknowledged in deaths(tmp_path, lambda _, lives: CrashingDisk(lives, torn=torn)):
        with closing(DirectoryStore.open(root, now=NOW, disk=QuickDisk())) as store:
            assert all(there(store)) or not acknowledged
            assert store.append_all(additions()) == (True, True, True)
            assert there(store) == [True] * 3


def test_the_power_may_fail_before_any_call_to_the_disk(tmp_path: Path) -> None:
    for root, disk, acknowledged in deaths(tmp_path, VolatileDisk):
        assert isinstance(disk, VolatileDisk)
        for found in cuts(disk, root.parent):
            with closing(DirectoryStore.open(found, now=NOW, disk=QuickDisk())) as store:
                assert all(there(store)) or not acknowledged
                assert store.append_all(additions()) == (True, True, True)
                assert there(store) == [True] * 3


@pytest.mark.parametrize("after", [False, True])
def test_whichever_call_is_refused_the_others_are_made_and_it_can_be_repeated(
    tmp_path: Path, *, after: bool
) -> None:
    for number in itertools.count():
        root = tmp_path / str(number) / "records.d"
        accepted(root)
        disk = FailingDisk(number, errno.EIO, after=after, armed=False)
        with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as store:
            disk.armed = True
            answers: tuple[Added, ...] = store.append_all(additions())
            disk.armed = False
            told = [one is True for one in answers]
            assert all(one is True or isinstance(one, StoreError) for one in answers)
            assert told.count(False) <= 1
            assert all(found or not said for found, said in zip(there(store), told, strict=True))
            assert store.append_all(additions()) == (True, True, True)
            assert there(store) == [True] * 3
        if not disk.refused:
            assert number > 20
            return


def test_nothing_stays_open_or_half_written_behind_many_appends(tmp_path: Path) -> None:
    root = tmp_path / "records.d"
    accepted(root)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with closing(DirectoryStore.open(root, now=NOW, disk=FailingDisk(9, errno.ENOSPC))) as store:
        store.append_all(additions())
        assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert not [path for path in root.rglob("*") if path.name.startswith(".")]


def test_in_a_directory_every_file_is_written_before_the_first_is_synced(tmp_path: Path) -> None:
    """So that one sync of the file system may serve them all; and each is synced before it has its name."""
    root = tmp_path / "records.d"
    accepted(root)
    disk = CrashingDisk(10**9)
    first, _, third = additions()
    with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as store:
        disk.calls.clear()
        store.append_all([first, third])
    names = [name for name, _ in disk.calls if name in {"write", "sync", "link", "sync_directory"}]
    steps = ["write", "write", "sync", "sync", "link", "link", "sync_directory", "sync_directory"]
    assert names[: len(steps)] == steps


def test_in_sqlite_fifty_appends_are_one_transaction(tmp_path: Path) -> None:
    with closing(SqliteStore.open(tmp_path / "records.db", now=NOW)) as store:
        jobs = [job_id(number) for number in range(1, 51)]
        for job in jobs:
            store.create(header(job), summary(job))
        statements: list[str] = []
        store._db.raw.set_trace_callback(statements.append)
        many = [
            Addition(job=job, expected=1, entries=(hold(2),), summary=summary(job, 2))
            for job in jobs
        ]
        assert store.append_all(many) == (True,) * 50
        assert statements.count("COMMIT") == 1
        assert "PRAGMA synchronous = FULL" in statements
