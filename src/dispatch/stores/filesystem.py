"""Which file system a path is on, and whether records may live there.

SQLite in WAL mode shares memory between its processes and trusts file locks. On a file system that several hosts mount,
the memory is not shared and the locks are often only pretended: two writers then overwrite one another in silence.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dispatch.model.base import Value
from dispatch.model.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

MOUNT_TABLE = Path("/proc/self/mountinfo")


class Reach(StrEnum):
    """Which hosts can have a file of the file system open."""

    LOCAL = "local"
    """This host alone, so that its kernel's locks and shared memory are the truth."""
    SHARED = "shared"
    UNKNOWN = "unknown"


# fmt: off
LOCAL_TYPES = frozenset({
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "jfs2", "reiserfs", "reiser4", "nilfs2",
    "tmpfs", "ramfs", "rootfs", "overlay", "aufs", "ecryptfs", "squashfs", "erofs", "iso9660", "apfs", "hfs", "hfsplus",
    "ufs", "ntfs3", "vfat", "exfat", "fuseblk", "fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuse.encfs", "fuse.gocryptfs",
})
SHARED_TYPES = frozenset({
    "nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "openafs", "coda", "9p", "virtiofs",
    "vboxsf", "prl_fs", "vmhgfs", "drvfs", "lustre", "lustre_lite", "gpfs", "mmfs", "beegfs", "fhgfs", "ceph", "gfs",
    "gfs2", "ocfs2", "glusterfs", "orangefs", "pvfs2", "wekafs", "panfs", "quobyte", "moosefs", "lizardfs", "daos",
    "dvs", "gridfs", "vxfs", "stornext", "cvfs", "acfs", "autofs",
})
# fmt: on
"""``autofs`` stands here since what it would mount is not mounted, and is a network's in all but a few cases; ``virtiofs``,
``9p`` and their like since a hypervisor's other guests may have the same files."""

_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(Value):
    """One line of the mount table."""

    id: int
    parent: int
    point: str
    type: str
    source: str


class FileSystem(Value):
    """The file system that a path is on, or would be made on. ``type`` is empty where it cannot be told."""

    path: str
    point: str = ""
    type: str = ""
    source: str = ""

    @property
    def reach(self) -> Reach:
        """Which hosts can have its files open."""
        return reach_of(self.type)


def reach_of(fs_type: str) -> Reach:
    """Judge a type as the mount table spells it, such as ``nfs4`` or ``fuse.sshfs``.

    Every FUSE type that is not in the table counts as shared: sshfs, gluster, object stores and the like are the rule, and
    a local one can be told by nothing.
    """
    if fs_type in LOCAL_TYPES:
        return Reach.LOCAL
    if fs_type in SHARED_TYPES or fs_type.startswith("fuse"):
        return Reach.SHARED
    return Reach.UNKNOWN


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """Parse the text of ``/proc/self/mountinfo`` (proc_pid_mountinfo(5)); lines of another shape are passed over."""
    return tuple(mount for line in text.split("\n") if (mount := _parse_line(line)) is not None)


def _parse_line(line: str) -> Mount | None:
    left, separator, right = line.partition(" - ")
    fields, tail = left.split(" "), right.split(" ")
    # int() also takes signs and spaces; the kernel writes neither.
    if (
        not separator
        or len(fields) < 6
        or len(tail) < 2
        or not (fields[0].isdecimal() and fields[1].isdecimal())
    ):
        return None
    return Mount(
        id=int(fields[0]),
        parent=int(fields[1]),
        point=_unescape(fields[4]),
        type=tail[0],
        source=_unescape(tail[1]),
    )


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found.group(1), 8)), text)


def mount_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """Find the mount that a path without symlinks is seen through, walking it as the kernel does.

    From the root, the next mount is the one nearest to it on the way, among those mounted *on* the current one. The longest
    matching prefix alone would find mounts that a later one hides, and the order of the table tells nothing once a mount
    has been moved (as an initramfs moves the root).
    """
    table = {mount.id: mount for mount in mounts}
    on_the_way = [
        mount for mount in table.values() if PurePosixPath(path).is_relative_to(mount.point)
    ]
    nearer = [
        mount for mount in on_the_way if mount.parent not in table or mount.parent == mount.id
    ]
    current: Mount | None = None
    while nearer:
        # The last one of several: a mount beside another on the same point covers it.
        current = min(reversed(nearer), key=lambda mount: len(PurePosixPath(mount.point).parts))
        here = current.id
        nearer = [mount for mount in on_the_way if mount.parent == here and mount.id != here]
        on_the_way = [mount for mount in on_the_way if mount.id != here]
    return current


def file_system_of(path: Path) -> FileSystem:
    """Tell which file system the path is on; of one that does not exist yet, that of its nearest existing parent."""
    real = Path(os.path.realpath(path))
    while not os.path.lexists(real) and real != real.parent:
        real = real.parent
    with suppress(OSError):
        os.stat(f"{real}/.")  # noqa: PTH116  a step into it makes autofs mount it; pathlib would drop the dot
    try:
        text = os.fsdecode(MOUNT_TABLE.read_bytes())
    except OSError:
        return FileSystem(path=str(path))
    mount = mount_of(str(real), parse_mounts(text))
    if mount is None:
        return FileSystem(path=str(path), type="?")
    return FileSystem(path=str(path), point=mount.point, type=mount.type, source=mount.source)


def refuse_shared(found: FileSystem) -> str:
    """Raise ``StoreError`` where an SQLite store must not be; return a warning, or nothing.

    An unknown type is refused: to allow a shared one by mistake loses records in silence, to refuse a local one by mistake
    costs a message. Where there is no mount table at all (no Linux), nothing speaks against the place, and one is warned.
    """
    todo = (
        'Keep them on a local disk of one host that you always use, with `--records PATH` or `records = "PATH"` in the'
        " configuration, such as /var/tmp/$USER/dispatch/records.db there."
    )
    if not found.type:
        return f"It cannot be told which file system {found.path} is on; it must be a local one."
    if found.reach is Reach.LOCAL:
        return ""
    if found.reach is Reach.SHARED:
        why = f"is on {found.type} ({found.source} on {found.point}), which several hosts may have mounted"
    else:
        why = f"is on a file system of the unknown type {found.type!r} (on {found.point or '?'})"
    raise StoreError(
        f"The records {found.path} cannot be kept there: it {why}, where SQLite's locks and shared memory cannot be relied on.",
        todo=todo,
    )
