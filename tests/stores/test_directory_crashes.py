"""The directory store dies between any two calls to the disk, and the power fails there: nothing acknowledged is lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dispatch.spi.store import Query
from dispatch.stores.directory import DirectoryStore
from stores.directory_disks import Crash, CrashingDisk, QuickDisk, VolatileDisk, nothing
from stores.samples import NOW, SECOND, end, header, hold, job_id, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.stores.directory.disk import Disk

FAR = NOW + timedelta(days=365)
A, B, C = job_id(1), job_id(2), job_id(3)
HEADERS = {job: header(job, nonce=f"header of {job}") for job in (A, B, C)}
ENDS = {job: replace(end(version), nonce=f"end of {job}") for job, version in ((A, 6), (B, 2))}

Act = Callable[[DirectoryStore], object]
State = dict[str, object]


def create(job: str, **fields: Any) -> Act:
    return lambda store: store.create(HEADERS[job], summary(job, **fields))


def add(job: str, expected: int, count: int, **fields: Any) -> Act:
    """Append so many entries; again, it is the same append."""
    entries = [
        hold(version, nonce=f"{job} {expected}")
        for version in range(expected + 1, expected + count + 1)
    ]
    after = summary(job, expected + count, **fields)
    return lambda store: store.append(job, expected, entries, after)


def finish(job: str, expected: int, **fields: Any) -> Act:
    after = summary(job, expected + 1, finished=True, due=None, **fields)
    return lambda store: store.append(job, expected, [ENDS[job]], after)


SCRIPT: tuple[Act, ...] = (
    lambda _: None,  # opening made it
    create(A),
    add(A, 1, 3, due=NOW + SECOND * 60),
    create(B, key="nightly"),
    add(A, 4, 1, due=NOW),
    finish(B, 1, key="nightly"),
    finish(A, 5),
    add(B, 2, 2, key="nightly", finished=True, due=None, why="looked at again"),
    create(C, key="done at once", finished=True, due=None),
)


def state_of(store: DirectoryStore) -> State:
    """All that the store knows, but for due times."""
    return {
        one.id: (replace(one, due=None), [entry.nonce for entry in store.load(one.id)])
        for one in store.list(Query())
    }


def run(root: Path, disk: Disk) -> Iterator[int]:
    """Play the script, and say after each step that it was acknowledged."""
    store = DirectoryStore.open(root, now=NOW, disk=disk)
    for number, act in enumerate(SCRIPT):
        assert act(store) is not False
        yield number


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[State]:
    """What the store knows after each step; first, when it is made."""
    root = tmp_path_factory.mktemp("reference") / "records.d"
    reader = DirectoryStore.open(root, now=NOW)
    return [{}, *(state_of(reader) for _ in run(root, CrashingDisk(10**9)))]


def acknowledged(root: Path, disk: CrashingDisk) -> int | None:
    """Play the script until the crash: how many steps were acknowledged; nothing where there was no crash."""
    count = 0
    try:
        for _ in run(root, disk):
            count += 1
    except Crash:
        return count
    return None


def again(root: Path) -> closing[DirectoryStore]:
    """Open it as the next process would; this one's disk needs no syncs."""
    return closing(DirectoryStore.open(root, now=NOW, disk=QuickDisk()))


def check(root: Path, count: int, states: list[State]) -> None:
    """After a crash with so many steps acknowledged: all that, the next step whole or not at all, and it can be repeated."""
    with closing(DirectoryStore.open(root, now=NOW, read_only=True)) as reader:
        seen = state_of(reader)
        assert seen in states[count : count + 2] or (count == 0 and seen == {})
    with again(root) as store:
        due = {one.id for one in store.due(FAR, 99)}
        seen = state_of(store)
        assert seen in states[count : count + 2] or (count == 0 and seen == {})
        unfinished = {one.id: one for one in store.list(Query(finished=False))}
        assert due == set(unfinished)
        assert store.verify() == ()
        for act in SCRIPT[count:]:
            assert act(store) is not False
        assert state_of(store) == states[-1]
        assert store.due(FAR, 99) == ()
        assert store.verify() == ()


def how_many_calls(place: Path) -> int:
    disk = CrashingDisk(10**9)
    assert acknowledged(place / "records.d", disk) is None
    return 10**9 - disk.lives


@pytest.mark.parametrize("torn", [False, True])
def test_a_process_may_die_before_any_call_to_the_disk(
    tmp_path: Path, states: list[State], *, torn: bool
) -> None:
    calls = how_many_calls(tmp_path)
    assert calls > 150
    for lives in range(calls):
        root = tmp_path / str(lives) / "records.d"
        count = acknowledged(root, CrashingDisk(lives, torn=torn))
        assert count is not None
        check(root, count, states)


def cuts(disk: VolatileDisk, place: Path) -> Iterator[Path]:
    """What a boot may find: of the directories that were not synced no names are there, all are, one's are."""
    unsynced = disk.unsynced()
    choices = [[], unsynced, *([one] for one in unsynced if len(unsynced) > 1)]
    for number, kept in enumerate(choices if unsynced else choices[:1]):
        disk.cut(place / f"cut{number}.d", kept)
        yield place / f"cut{number}.d"


def test_the_power_may_fail_before_any_call_to_the_disk(
    tmp_path: Path, states: list[State]
) -> None:
    calls = how_many_calls(tmp_path)
    for lives in range(calls + 1):
        root = tmp_path / str(lives) / "records.d"
        root.mkdir(mode=0o700, parents=True)
        disk = VolatileDisk(root, lives)
        count = acknowledged(root, disk)
        for found in cuts(disk, root.parent):
            check(found, len(SCRIPT) if count is None else count, states)


def test_a_due_time_is_never_later_than_the_record_says(tmp_path: Path) -> None:
    """A request brings the due time forward; whatever dies, nobody waits for the old one."""
    for lives in itertools.count():
        root = tmp_path / str(lives) / "records.d"
        with again(root) as store:
            create(A, due=NOW)(store)
            store.reschedule(A, NOW + SECOND * 3600)
        disk = VolatileDisk(root, lives)
        crashed = True
        with suppress(Crash):
            add(A, 1, 1, due=NOW)(DirectoryStore.open(root, now=NOW, disk=disk))
            crashed = False
        for found in [root, *cuts(disk, root.parent)]:
            with again(found) as store:
                landed = store.summary(A).version == 2
                assert landed or crashed
                assert not landed or [one.id for one in store.due(NOW, 9)] == [A]
        if not crashed:
            return


def test_a_second_submission_with_the_key_of_a_dead_one_gives_one_job(tmp_path: Path) -> None:
    for lives in itertools.count():
        root = tmp_path / str(lives) / "records.d"
        DirectoryStore.open(root, now=NOW).close()
        crashed = True
        with suppress(Crash):
            create(A, key="nightly")(DirectoryStore.open(root, now=NOW, disk=CrashingDisk(lives)))
            crashed = False
        with again(root) as store:
            given = store.create(HEADERS[B], summary(B, key="nightly")).id
            assert given in {A, B}
            assert crashed or given == A
            assert [one.id for one in store.list(Query())] == [given]
            assert [one.id for one in store.due(NOW, 9)] == [given]
            assert [one.id for one in store.resolve("nightly")] == [given]
            assert store.load(given) == (HEADERS[given],)
            assert store.verify() == ()
        if not crashed:
            return


def test_a_job_that_got_its_key_and_died_is_finished_by_a_supervisor(tmp_path: Path) -> None:
    """Between the key and the header: nobody needs to submit again."""
    root = tmp_path / "records.d"
    DirectoryStore.open(root, now=NOW).close()
    disk = CrashingDisk(10**9)
    dying = DirectoryStore.open(root, now=NOW, disk=disk)

    def die_after_the_key(name: str, arguments: tuple[Path, Path]) -> None:
        if name == "link" and arguments[1].parent.parent.name == "keys":
            disk.lives = -1

    disk.after = die_after_the_key
    with pytest.raises(Crash):
        create(A, key="nightly")(dying)
    with closing(DirectoryStore.open(root, now=NOW, read_only=True)) as reader:
        assert reader.list(Query()) == reader.due(NOW, 9) == reader.resolve("nightly") == ()
    with again(root) as store:
        assert [one.id for one in store.due(NOW, 9)] == [A]
        assert store.load(A) == (HEADERS[A],)
        assert store.verify() == ()


def test_a_store_that_a_dead_process_has_made_keeps_its_identity_through_a_cut_of_the_power(
    tmp_path: Path,
) -> None:
    """Its name was there and not on the platter; who opened it next acknowledged a job of that identity."""
    root = tmp_path / "records.d"
    root.mkdir(mode=0o700)
    disk = VolatileDisk(root, 10**9)

    def die_after_the_format(name: str, arguments: tuple[Path, Path]) -> None:
        if name == "link" and arguments[1].name == "format":
            raise Crash

    disk.after = die_after_the_format
    with pytest.raises(Crash):
        DirectoryStore.open(root, now=NOW, disk=disk)
    disk.after = nothing
    identity = DirectoryStore.open(root, now=NOW, disk=disk).id
    for found in cuts(disk, tmp_path):
        with again(found) as store:
            assert store.id == identity


def test_an_append_that_is_settled_by_repeating_it_is_on_the_platter(tmp_path: Path) -> None:
    """Its writer died between the link and the sync of the directory; the next one says that it is there."""
    root = tmp_path / "records.d"
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        create(A)(store)
    disk = VolatileDisk(root, 10**9)
    dying = DirectoryStore.open(root, now=NOW, disk=disk)

    def die_after_the_link(name: str, arguments: tuple[Path, Path]) -> None:
        if name == "link":
            raise Crash

    disk.after = die_after_the_link
    with pytest.raises(Crash):
        add(A, 1, 2)(dying)
    disk.after = nothing
    assert add(A, 1, 2)(DirectoryStore.open(root, now=NOW, disk=disk)) is True
    for found in cuts(disk, tmp_path):
        with again(found) as store:
            assert len(store.load(A)) == 3
