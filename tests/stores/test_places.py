"""The file and its directory: private, and no surprise behind the name."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatch.model.errors import StoreError
from dispatch.stores.sqlite import SqliteStore
from dispatch.stores.sqlite.files import SIDECARS, sidecar
from stores.conftest import NOBODY
from stores.samples import NOW, make

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def refusal(path: Path, *, read_only: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        SqliteStore.open(path, now=NOW, read_only=read_only, patience=0.1)
    assert caught.value.todo
    return str(caught.value)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_all_that_is_made_is_private_under_any_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "state" / "dispatch" / "records.db"
    if umask == 0o277:  # a directory that its owner may not enter is the umask's own wish
        path = tmp_path / "records.db"
    before = os.umask(umask)
    try:
        store = SqliteStore.open(path, now=NOW)
        make(store, 1)
        for file in (path, sidecar(path, "-wal"), sidecar(path, "-shm")):
            assert mode(file) == 0o600, file
        store.close()
    finally:
        os.umask(before)
    for directory in path.relative_to(tmp_path).parents[:-1]:
        assert mode(tmp_path / directory) == 0o700


def test_a_symlink_is_refused_under_every_name_of_the_store(path: Path, store: SqliteStore) -> None:
    make(store, 1)
    store.close()
    other = path.with_name("other.db")
    path.rename(other)
    path.symlink_to(other)
    assert "is a symlink" in refusal(path)
    assert "is a symlink" in refusal(path, read_only=True)
    path.unlink()
    other.rename(path)
    for suffix in SIDECARS:
        precious = path.with_name("precious")
        precious.write_text("keep")
        sidecar(path, suffix).symlink_to(precious)
        assert "is a symlink" in refusal(path)
        assert precious.read_text() == "keep"
        sidecar(path, suffix).unlink()


def test_a_symlink_to_nothing_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    path.symlink_to(tmp_path / "elsewhere.db")
    assert "is a symlink" in refusal(path)
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_symlink_to_the_directory_is_taken(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "state").symlink_to(tmp_path / "disk")
    SqliteStore.open(tmp_path / "state" / "records.db", now=NOW).close()
    assert (tmp_path / "disk" / "records.db").exists()


def test_a_pipe_and_a_directory_are_no_records(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "directory").mkdir()
    for name in ("pipe", "directory"):
        assert "no plain file" in refusal(tmp_path / name)
        assert "no plain file" in refusal(tmp_path / name, read_only=True)


def test_a_second_name_of_the_file_is_refused(path: Path, store: SqliteStore) -> None:
    store.close()
    path.with_name("again.db").hardlink_to(path)
    assert "2 names" in refusal(path)


@pytest.mark.parametrize("lax", [0o620, 0o602])
def test_a_file_that_others_may_write_is_refused(path: Path, store: SqliteStore, lax: int) -> None:
    store.close()
    path.chmod(lax)
    assert f"{lax:04o}" in refusal(path)
    assert f"chmod 600 {path}" in refusal(path, read_only=True)


@pytest.mark.parametrize("lax", [0o777, 0o1777])
def test_a_directory_that_everybody_may_write_is_refused(tmp_path: Path, lax: int) -> None:
    tmp_path.joinpath("tmp").mkdir()
    tmp_path.joinpath("tmp").chmod(lax)
    assert "Everybody may write" in refusal(tmp_path / "tmp" / "records.db")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_belongs_to_another_account_is_refused(
    path: Path, store: SqliteStore, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    store.close()
    os.chown(path, NOBODY, NOBODY)
    assert f"uid {NOBODY}" in refusal(path)
    assert f"uid {NOBODY}" in refusal(path, read_only=True)
    os.chown(path, 0, 0)
    os.chown(path.parent, NOBODY, NOBODY)
    assert f"uid {NOBODY}" in refusal(path)


def test_where_one_may_not_look_or_make_anything_the_permission_is_named(
    path: Path, store: SqliteStore, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    with as_nobody():
        assert "no permission" in refusal(path)
        assert "no permission" in refusal(path, read_only=True)
        assert "no permission" in refusal(path.parent / "deeper" / "records.db")


def test_a_file_where_a_directory_should_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "ot a directory" in refusal(tmp_path / "file" / "records.db")


def test_new_names_are_on_the_disk_before_anything_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No test cuts the power; that each directory is synced after a name was made in it can be seen."""
    synced: list[Path] = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    SqliteStore.open(tmp_path / "state" / "dispatch" / "records.db", now=NOW).close()
    assert synced == [tmp_path, tmp_path / "state", tmp_path / "state" / "dispatch"]
