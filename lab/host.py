"""What the lab needs of the machine it runs on, and where it keeps its files."""

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

SUITES = {"forky": "26.05", "trixie": "24.11", "bookworm": "22.05"}
"""Debian suite: the Slurm version that it carries."""

# Both are read once, at import: tests change their environment.
LAB_DIR = Path(os.environ.get("DISPATCH_LAB_DIR") or "/var/tmp/dispatch-lab").absolute()  # noqa: S108 - root's own directory in it
"""Holds the roots, the templates and the instances."""

MIRROR = os.environ.get("DISPATCH_LAB_MIRROR")
"""The Debian mirror to build from, if it is not to be that of the host's own apt."""

_TOOLS = ("unshare", "nsenter", "setpriv", "mount", "pivot_root")


class LabError(Exception):
    """Something went wrong in the lab. The message says what, and the logs' last lines."""


class LabUnavailable(LabError):
    """This machine cannot run the lab. The message says what is missing."""


def root_dir(suite: str) -> Path:
    """Name the directory of a suite's root file system."""
    if suite not in SUITES:
        raise LabError(f"no suite {suite!r}; there are {', '.join(SUITES)}")
    return LAB_DIR / suite


def require_host() -> None:
    """Raise LabUnavailable unless this machine can run instances: root, util-linux, and namespaces."""
    if os.geteuid() != 0:
        raise LabUnavailable("the lab needs root")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise LabUnavailable(f"the lab needs {', '.join(missing)} (util-linux)")
    probe = [
        "unshare",
        "--mount",
        "--pid",
        "--uts",
        "--ipc",
        "--cgroup",
        "--fork",
        "mount",
        "-t",
        "proc",
        "proc",
        "/proc",
    ]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabUnavailable(
            f"the lab needs namespaces and mounts, which are refused here: {done.stderr.strip()}"
        )


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold an exclusive lock on a file, made if absent. Waits; is lifted by the kernel if this process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def start_time(pid: int) -> int | None:
    """Tell when a process started, in clock ticks since boot; None when there is none, or only its zombie.

    A pid with its start time names a process for ever; the pid alone is soon somebody else's.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])
