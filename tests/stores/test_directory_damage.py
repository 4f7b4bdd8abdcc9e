"""Damage, newer writers and strays in a directory store: named where they matter, passed over where they do not."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatch.model.errors import CorruptRecord, DispatchError, Invalid, NewerSchema, StoreError
from dispatch.model.journal import SCHEMA, HoldAsked
from dispatch.spi.store import Query
from dispatch.stores.directory import DirectoryStore, documents, layout
from stores.directory_disks import QuickDisk
from stores.samples import NOW, SECOND, end, entry, grow, header, hold, job_id, make, summary

if TYPE_CHECKING:
    from collections.abc import Generator


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


def test_an_append_carries_the_highest_schema_of_the_job_on() -> None:
    """So the last file alone tells that an earlier event is a newer writer's."""
    job = job_id(1)
    data = documents.compose(job, [hold(3)], summary(job, 3), SCHEMA + 1)
    assert documents.parse(job, 3, data).schema == SCHEMA + 1


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
        os.utime(path, (time.time() - age, time.time() - age))
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
