"""Memory cgroups: one group an instance, at the top of the host's hierarchy, removed with it."""

import os
import time
from pathlib import Path

from lab.host import LabUnavailable

_MEMORY = Path("/sys/fs/cgroup/memory")


def why_no_cgroups() -> str | None:
    """Tell what keeps the lab from limiting memory by cgroups on this host; None: nothing does."""
    if (_MEMORY / "memory.limit_in_bytes").exists():
        return None if os.access(_MEMORY, os.W_OK) else f"{_MEMORY} cannot be written"
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        return "the host has cgroups of version 2 only, and the lab knows version 1"
    return f"the host has no memory cgroups at {_MEMORY}"


def make_group(instance: str, base: int) -> Path:
    """Make an instance's group; raise LabUnavailable where the host cannot."""
    reason = why_no_cgroups()
    if reason is not None:
        raise LabUnavailable(reason)
    group = _group(instance, base)
    group.mkdir(exist_ok=True)
    return group


def remove_group(instance: str, base: int) -> None:
    """Remove an instance's group and all below it, once its processes have ended."""
    for directory, _, _ in os.walk(_group(instance, base), topdown=False):
        _remove(Path(directory))


def _group(instance: str, base: int) -> Path:
    # Labs under other directories may use the same name, but never the same ports at once.
    return _MEMORY / f"dispatch-lab-{instance}-{base}"


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
