"""Memory cgroups for instances: one group an instance under the host's hierarchy, removed with it."""

import contextlib
import os
import time
from pathlib import Path

from lab.host import LabUnavailable

_MEMORY = Path("/sys/fs/cgroup/memory")
_OURS = "dispatch-lab"


def why_no_cgroups() -> str | None:
    """Tell what keeps this host from limiting memory by cgroups in the lab; None when nothing does."""
    if not (_MEMORY / "memory.limit_in_bytes").exists():
        if (Path("/sys/fs/cgroup") / "cgroup.controllers").exists():
            return "the host has cgroups of version 2 only, and the lab knows version 1"
        return f"the host has no memory cgroups at {_MEMORY}"
    try:
        (_MEMORY / _OURS).mkdir(exist_ok=True)
    except OSError as error:
        return f"cannot make a memory cgroup: {error}"
    return None


def make_group(instance: str) -> Path:
    """Make an instance's group; raise LabUnavailable where the host cannot."""
    reason = why_no_cgroups()
    if reason is not None:
        raise LabUnavailable(reason)
    group = _MEMORY / _OURS / instance
    group.mkdir(exist_ok=True)
    return group


def remove_group(instance: str) -> None:
    """Remove an instance's group and all below it, once its processes have ended."""
    group = _MEMORY / _OURS / instance
    for directory, _, _ in os.walk(group, topdown=False):
        _remove(Path(directory))
    with contextlib.suppress(OSError):
        (_MEMORY / _OURS).rmdir()


def _remove(group: Path) -> None:
    # The kernel may call a group busy for a moment after its last process has gone.
    for _ in range(100):
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)
        else:
            return
