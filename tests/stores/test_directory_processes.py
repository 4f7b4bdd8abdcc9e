"""Many processes on one directory store: races, and death in the midst of writing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from dispatch.spi.store import Query
from dispatch.stores.directory import DirectoryStore
from stores.directory_disks import QuickDisk
from stores.samples import NOW, SECOND, grow, header, hold, job_id, make, summary
from stores.test_processes import run

if TYPE_CHECKING:
    from pathlib import Path


def test_a_hundred_creates_of_one_key_at_once_make_the_store_once_and_one_job(
    tmp_path: Path,
) -> None:
    root = tmp_path / "new" / "records.d"
    answers = run(root, *[("create", first, 25) for first in (1, 26, 51, 76)])
    assert len({mine for mine, _ in answers}) == 100
    (winner,) = {given for _, given in answers}
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        assert [found.id for found in store.resolve("the key")] == [winner]
        assert [found.id for found in store.list(Query())] == [winner]
        assert [found.id for found in store.due(NOW, 999)] == [winner]
        assert len(store.load(winner)) == 1
        assert store.verify() == ()


def test_a_store_that_another_makes_while_one_looks_is_opened(tmp_path: Path) -> None:
    root = tmp_path / "records.d"

    class Late(QuickDisk):
        """Lists the directory only once another process has made the store in it."""

        def names(self, directory: Path) -> list[str]:
            if directory == root:
                DirectoryStore.open(root, now=NOW).close()
            return super().names(directory)

    late = DirectoryStore.open(root, now=NOW, disk=Late())
    assert late.id == DirectoryStore.open(root, now=NOW, read_only=True).id


def test_a_key_that_was_taken_meanwhile_goes_before_a_nonce_that_was_used(tmp_path: Path) -> None:
    """The same submission, sent twice at once under two ids: the second one gets the first one's job."""
    root = tmp_path / "records.d"
    first = header(job_id(1), nonce="the same")

    class Slow(QuickDisk):
        """Looks for the key, and finds it only once another has made a job with it."""

        looked = False

        def read(self, path: Path, most: int) -> bytes:
            if path.parent.parent.name == "keys" and not self.looked:
                self.looked = True
                with closing(DirectoryStore.open(root, now=NOW)) as other:
                    other.create(first, summary(job_id(1), key="nightly"))
                raise FileNotFoundError(path)
            return super().read(path, most)

    with closing(DirectoryStore.open(root, now=NOW, disk=Slow())) as store:
        second = header(job_id(2), nonce="the same")
        assert store.create(second, summary(job_id(2), key="nightly")).id == job_id(1)
        assert [found.id for found in store.list(Query())] == [job_id(1)]


def test_of_many_processes_exactly_one_wins_each_version(tmp_path: Path) -> None:
    root = tmp_path / "records.d"
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        make(store, 1)
        won = run(root, *[("race", writer, 101) for writer in range(4)])
        assert sorted(int(version) for version, _ in won) == list(range(2, 102))
        kept = {
            entry.version: entry.nonce.split("-")[0] for entry in store.load(job_id(1), after=1)
        }
        assert kept == {int(version): writer for version, writer in won}
        assert store.verify() == ()


def test_what_was_acknowledged_survives_the_death_of_its_writer_and_nothing_is_half_there(
    tmp_path: Path, seed: int
) -> None:
    root = tmp_path / "records.d"
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        make(store, 1)
    printed = run(root, ("die", 60, seed))
    acknowledged = {words[0] for words in printed if len(words) == 1}
    assert len(acknowledged) >= 60
    with closing(DirectoryStore.open(root, now=NOW)) as store:
        kept = [entry.nonce for entry in store.load(job_id(1), after=1)]
        assert acknowledged <= set(kept)
        assert all(kept[n : n + 3] == [kept[n]] * 3 for n in range(0, len(kept), 3))
        assert [found.id for found in store.due(NOW, 9)] == [job_id(1)]
        assert store.verify() == ()


def test_two_writers_who_claim_the_same_job_at_once_do_not_both_keep_it(tmp_path: Path) -> None:
    """The second one claims between the first one's look and its write."""

    class Meeting(QuickDisk):
        """Lets somebody do something right before the first rename."""

        other: DirectoryStore | None = None
        found: frozenset[str] = frozenset()

        def rename(self, source: Path, target: Path) -> None:
            if self.other is not None and target.parent.name == "claims":
                other, self.other = self.other, None
                self.found = other.claim([job_id(1)], self.name, NOW + SECOND, NOW)
            super().rename(source, target)

        name = ""

    for name, wins in (("a", "a"), ("z", "m")):
        root, disk = tmp_path / name / "records.d", Meeting()
        with (
            closing(DirectoryStore.open(root, now=NOW, disk=disk)) as first,
            closing(DirectoryStore.open(root, now=NOW)) as second,
        ):
            job = make(first, 1)
            disk.other, disk.name = second, name
            mine = first.claim([job], "m", NOW + SECOND, NOW)
            assert disk.found == {job}
            # The later name gives way where it sees the other; "z" had looked before "m" was there.
            assert (mine == {job}) == (wins == "m")


def test_due_times_that_two_processes_set_at_once_leave_one_marker(tmp_path: Path) -> None:
    root = tmp_path / "records.d"
    with (
        closing(DirectoryStore.open(root, now=NOW)) as one,
        closing(DirectoryStore.open(root, now=NOW)) as other,
    ):
        job = make(one, 1)
        for number in range(1, 20):
            (one if number % 3 else other).reschedule(job, NOW + SECOND * number)
            assert len(list((root / "queue").iterdir())) == 1
            assert other.summary(job).due == one.summary(job).due == NOW + SECOND * number
        assert grow(other, job, 1, [hold(2)], due=NOW)
        assert [found.due for found in one.due(NOW, 9)] == [NOW]
