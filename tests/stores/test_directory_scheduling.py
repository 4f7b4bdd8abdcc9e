"""A due time that is put off while another host appends: whatever comes when, a request is not slept over."""

from __future__ import annotations

import itertools
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from dispatch.spi.store import Turn
from dispatch.stores.directory import DirectoryStore
from stores.directory_disks import Crash, CrashingDisk, QuickDisk, WatchedDisk
from stores.samples import NOW, SECOND, grow, hold, job_id, make

LATER = NOW + SECOND * 3600


class Interrupted(WatchedDisk):
    """Lets something happen before the call of that number, and dies when it has made so many more."""

    def __init__(self, number: int, happening: Any, left: int = 10_000) -> None:
        super().__init__()
        self.left = left
        self.number = number
        self.happening = happening
        self.happened = False
        self.armed = False
        self.before = self._interrupt

    def _interrupt(self, *_: Any) -> None:
        if not self.armed:
            return
        if self.happened:
            self.left -= 1
            if self.left < 0:
                raise Crash
            return
        self.number -= 1
        if self.number < 0:
            self.happened = True
            self.happening()


def append_and_perhaps_die(root: Path, lives: int) -> None:
    """Another host opens the records and appends a request, and dies after so many calls that write."""
    with (
        suppress(Crash),
        closing(DirectoryStore.open(root, now=NOW, disk=CrashingDisk(lives))) as store,
    ):
        assert grow(store, job_id(1), 1, [hold(2)], due=NOW)


def test_a_due_time_put_off_between_any_two_calls_of_an_append_hides_no_request(
    tmp_path: Path,
) -> None:
    landings = 0
    for due, lives in itertools.product((NOW, LATER), (*range(14), 10_000)):
        for number in itertools.count():
            root = tmp_path / f"{due:%H}-{lives}-{number}" / "records.d"
            disk = Interrupted(
                number, lambda root=root, lives=lives: append_and_perhaps_die(root, lives)
            )
            with closing(DirectoryStore.open(root, now=NOW, disk=disk)) as store:
                make(store, 1, due=due)
                disk.armed = True
                store.reschedule_all([Turn(job=job_id(1), due=LATER + SECOND, version=1)])
            with closing(DirectoryStore.open(root, now=NOW, disk=QuickDisk())) as after:
                landed = after.versions([job_id(1)]) == {job_id(1): 2}
                landings += landed and disk.happened
                assert not (landed and disk.happened) or after.due(NOW, 1), (due, lives, number)
            if not disk.happened:
                break
    assert landings > 50


def test_whoever_puts_a_due_time_off_may_die_after_any_call_too(tmp_path: Path) -> None:
    died = 0
    for left, number in itertools.product(range(12), range(12)):
        root = tmp_path / f"{left}-{number}" / "records.d"
        disk = Interrupted(number, lambda root=root: append_and_perhaps_die(root, 10_000), left)
        with suppress(Crash), closing(DirectoryStore.open(root, now=NOW, disk=disk)) as store:
            make(store, 1, due=LATER)
            disk.armed = True
            store.reschedule_all([Turn(job=job_id(1), due=LATER + SECOND, version=1)])
        died += disk.left < 0
        with closing(DirectoryStore.open(root, now=NOW, disk=QuickDisk())) as after:
            assert not disk.happened or after.due(NOW, 1), (left, number)
    assert died > 10


def test_a_due_time_is_put_off_where_somebody_has_removed_the_marker(tmp_path: Path) -> None:
    with closing(DirectoryStore.open(tmp_path / "records.d", now=NOW, disk=QuickDisk())) as store:
        job = make(store, 1)
        for marker in (tmp_path / "records.d" / "queue").iterdir():
            marker.unlink()
        store.reschedule_all([Turn(job=job, due=LATER, version=1)])
        assert [found.due for found in store.due(LATER, 9)] == [LATER]
