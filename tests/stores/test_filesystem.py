"""Which file system a path is on, from the text of the mount table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dispatch.model.errors import StoreError
from dispatch.stores.filesystem import (
    LOCAL_TYPES,
    SHARED_TYPES,
    FileSystem,
    Reach,
    file_system_of,
    mount_of,
    parse_mounts,
    reach_of,
    refuse_shared,
)

LOGIN_NODE = r"""
24 30 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
30 1 253:0 / / rw,relatime shared:1 - xfs /dev/mapper/rhel-root rw,attr2,inode64
40 30 253:1 / /var/tmp rw,relatime shared:20 - ext4 /dev/sdb1 rw
41 30 0:41 / /home rw,relatime shared:21 - autofs auto.home rw,fd=6,pgrp=1
42 41 0:42 / /home/ada rw,relatime shared:22 - nfs4 filer:/export/home/ada rw,vers=4.2
43 30 0:43 / /scratch rw,relatime - lustre 10.0.0.1@o2ib:/scratch rw,flock
44 30 0:44 / /gpfs/projects rw,relatime - gpfs work rw
45 30 0:45 / /mnt/my\040disk rw - ext4 /dev/disk\040one rw
46 30 0:46 / /mnt/back\134slash rw - cifs //srv/share rw
47 42 0:47 / /home/ada/.local/state rw,relatime - tmpfs none rw
"""


def type_at(path: str, text: str = LOGIN_NODE) -> str:
    mount = mount_of(path, parse_mounts(text))
    return mount.type if mount else ""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "xfs"),
        ("/etc/dispatch/records.db", "xfs"),
        ("/var/tmp", "ext4"),
        ("/var/tmp/ada/records.db", "ext4"),
        ("/var/tmpfiles", "xfs"),
        ("/home/ada/records.db", "nfs4"),
        ("/home/bob/records.db", "autofs"),
        ("/home/ada/.local/state/dispatch", "tmpfs"),
        ("/home/ada/.local/stately", "nfs4"),
        ("/scratch/ada", "lustre"),
        ("/gpfs", "xfs"),
        ("/gpfs/projects/x", "gpfs"),
        ("/mnt/my disk/x", "ext4"),
        ("/mnt/back\\slash", "cifs"),
    ],
)
def test_a_path_is_on_the_mount_that_is_nearest_to_it(path: str, expected: str) -> None:
    assert type_at(path) == expected


def test_a_mount_that_a_later_one_hides_is_not_seen() -> None:
    text = """
30 1 253:0 / / rw - ext4 /dev/sda1 rw
31 30 253:1 / /data/local rw - xfs /dev/sdb1 rw
32 30 0:50 / /data rw - nfs filer:/data rw
"""
    assert type_at("/data/local/records.db", text) == "nfs"


def test_of_mounts_stacked_on_one_point_the_upper_is_seen() -> None:
    text = """
30 1 253:0 / / rw - ext4 /dev/sda1 rw
31 30 253:1 / /data rw - xfs /dev/sdb1 rw
32 31 0:50 / /data rw - nfs filer:/data rw
"""
    assert type_at("/data/x", text) == "nfs"


def test_the_order_of_the_table_does_not_matter_since_a_moved_root_comes_late() -> None:
    lines = LOGIN_NODE.strip().splitlines()
    assert type_at("/proc/self", "\n".join(lines)) == "proc"
    assert type_at("/home/ada/x", "\n".join(reversed(lines))) == "nfs4"


def test_a_bind_mount_has_the_type_of_what_it_binds() -> None:
    text = """
500 400 0:200 / / rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
501 500 0:42 /export/x /projects rw - nfs4 filer:/export/home rw
502 500 253:1 /var/lib/volumes/1 /records rw master:3 - ext4 /dev/sda1 rw
"""
    assert [type_at(path, text) for path in ("/x", "/projects/a", "/records/b")] == [
        "overlay",
        "nfs4",
        "ext4",
    ]


def test_below_a_changed_root_only_what_is_mounted_there_is_known() -> None:
    text = "501 77 0:42 / /projects rw - nfs4 filer:/export rw"
    assert type_at("/projects/a", text) == "nfs4"
    assert type_at("/elsewhere", text) == ""


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "1 2 3",
        "a b 0:1 / / rw - ext4 x rw",
        "1 0 0:1 / / rw ext4 x rw",
        "1 0 0:1 / / rw - ",
    ],
)
def test_a_line_of_another_shape_is_passed_over(line: str) -> None:
    assert type_at("/x", f"{line}\n9 1 0:1 / / rw - xfs x rw") == "xfs"


@given(st.text(), st.text(alphabet="/ab", min_size=1))
def test_no_text_makes_it_fail(text: str, path: str) -> None:
    mount_of(path, parse_mounts(text))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(["/", "/a", "/a/b"])))
)
def test_no_table_keeps_it_going_round(rows: list[tuple[int, int, str]]) -> None:
    text = "\n".join(
        f"{number} {parent} 0:1 / {point} rw - ext4 x rw" for number, parent, point in rows
    )
    mount_of("/a/b/c", parse_mounts(text))


@pytest.mark.parametrize(
    "fs_type",
    ["nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "fuse.ceph-fuse", "glusterfs", "fuse.glusterfs", "9p",
     "afs", "pvfs2", "orangefs", "wekafs", "panfs", "fuse.sshfs", "fuse", "fuse.juicefs", "virtiofs", "autofs"],
)  # fmt: skip
def test_file_systems_that_hosts_share_are_refused(fs_type: str) -> None:
    assert reach_of(fs_type) is Reach.SHARED
    with pytest.raises(StoreError) as caught:
        refuse_shared(
            FileSystem(
                path="/home/ada/records.db", point="/home", type=fs_type, source="filer:/home"
            )
        )
    for word in (
        "/home/ada/records.db",
        fs_type,
        "filer:/home",
        "--records PATH",
        'records = "PATH"',
    ):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "fs_type",
    [
        "ext2",
        "ext3",
        "ext4",
        "xfs",
        "btrfs",
        "zfs",
        "tmpfs",
        "overlay",
        "f2fs",
        "apfs",
        "fuseblk",
        "fuse.fuse-overlayfs",
    ],
)
def test_file_systems_of_one_host_are_taken(fs_type: str) -> None:
    assert reach_of(fs_type) is Reach.LOCAL
    assert not refuse_shared(FileSystem(path="/x", point="/", type=fs_type))


def test_no_type_is_both() -> None:
    assert not LOCAL_TYPES & SHARED_TYPES


def test_an_unknown_type_is_refused_and_named() -> None:
    with pytest.raises(StoreError, match="unknown type 'marvelfs'"):
        refuse_shared(FileSystem(path="/x", point="/", type="marvelfs"))


def test_where_there_is_no_mount_table_one_is_warned() -> None:
    assert "/x" in refuse_shared(FileSystem(path="/x"))


def test_a_path_that_is_not_there_is_judged_by_its_nearest_parent_through_symlinks(
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target" / "deeper")
    assert file_system_of(tmp_path / "link" / "a" / "b").type == file_system_of(tmp_path).type


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="no /proc is mounted")
def test_the_running_kernels_table_is_understood() -> None:
    assert file_system_of(Path("/proc/self/status")).type == "proc"
    assert file_system_of(Path("/")).reach is not Reach.UNKNOWN
