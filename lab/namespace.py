"""An instance's namespaces: start their first process, run commands inside, see and end what runs there."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.build import HOSTNAME, USERS
from lab.config import FILES
from lab.host import LabError, start_time

MOUNTED = [
    "etc/slurm",
    "etc/munge",
    "var/lib/munge",
    "var/lib/slurm",
    "var/lib/mysql",
    "var/log",
    "run",
    "home",
    "tmp",
    "var/tmp",
    "srv",
    "root",
]
"""The directories that are the instance's own; all else is the suite's root, read-only."""

_PORTS = range(21000, 31000, 64)
_ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Process:
    """A process of an instance, with its pid as the host sees it."""

    pid: int
    parent: int
    argv: tuple[str, ...]

    def environment(self) -> list[str]:
        """Give the environment that it started with, NAME=VALUE each; empty when it has ended."""
        try:
            return Path(f"/proc/{self.pid}/environ").read_text(errors="replace").split("\0")
        except OSError:
            return []


@dataclass(frozen=True)
class Namespace:
    """The namespaces held by a first process, which is named by its pid and start time."""

    pid: int
    start: int

    def alive(self) -> bool:
        """Tell whether the first process, and so the instance, is there and not about to end."""
        return start_time(self.pid) == self.start and _namespace(self.pid, "mnt") is not None

    def path(self, inside: str) -> Path:
        """Name from outside a path inside. Short, as the addresses of sockets must be."""
        return Path(f"/proc/{self.pid}/root") / inside.lstrip("/")

    def command(self, user: str, argv: Sequence[str]) -> list[str]:
        """Give the command line which runs argv inside as a user. It ends its command when it is itself killed."""
        # The root too: where the lab itself was started in a chroot, it is not the mounts' own.
        which = ("--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root")
        home = environment(user)["HOME"].lstrip("/")
        become = ["/usr/bin/setpriv"]
        if user != "root":
            number = USERS.get(user, user)
            become += [f"--reuid={number}", f"--regid={number}", "--init-groups"]
        wd = f"--wd=/proc/{self.pid}/root/{home}"
        return [
            "nsenter",
            f"--target={self.pid}",
            *which,
            wd,
            "--",
            *become,
            "--pdeathsig=KILL",
            *argv,
        ]

    def run(self, script: str, *args: str, user: str = "root") -> str:
        """Run a shell script inside and give its output; raise LabError when it fails."""
        done = subprocess.run(
            self.command(user, ["/bin/sh", "-euc", script, "sh", *args]),
            env=environment(user),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise LabError(
                f"{script.strip()!r} failed ({done.returncode}): {done.stderr.strip() or done.stdout.strip()}"
            )
        return done.stdout

    def processes(self) -> list[Process]:
        """List the instance's processes, except the first one and zombies."""
        own = _namespace(self.pid, "pid")
        found: list[Process] = []
        for place in Path("/proc").glob("[0-9]*"):
            pid = int(place.name)
            if own is None or pid == self.pid or _namespace(pid, "pid") != own:
                continue
            with contextlib.suppress(OSError):
                line = (place / "cmdline").read_text(errors="replace").removesuffix("\0")
                state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    found.append(Process(pid, int(parent), tuple(line.split("\0"))))
        return found

    def end(self, launcher: "subprocess.Popen[bytes] | None" = None) -> None:
        """Kill the first process, and with it everything inside; return when nothing runs.

        Does not wait for the host's own first process to reap what was orphaned: some never do.
        """
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        await_that(lambda: not self.alive() and not self.processes(), "the instance's end")
        if launcher is not None:
            launcher.kill()
            launcher.wait()


def environment(user: str) -> dict[str, str]:
    """Give the clean environment of a login."""
    if user == "root":
        return {
            "HOME": "/root",
            "USER": "root",
            "LOGNAME": "root",
            "PATH": _ROOT_PATH,
            "LANG": "C.UTF-8",
        }
    path = "/usr/local/bin:/usr/bin:/bin"
    home = f"/home/{user}" if user in USERS else "/"
    return {
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/bash",
        "PATH": path,
        "LANG": "C.UTF-8",
    }


def launch(
    root: Path,
    instance: Path,
    *,
    sys: str,
    cgroup: Path | None,
    owner: int | None,
    held: socket.socket,
) -> tuple[Namespace, "subprocess.Popen[bytes]"]:
    """Start an instance's first process, and return when its root is laid out.

    owner: the pid of the process with which the instance ends. held: the claim on the ports, held until it ends.
    """
    (instance / "fs/run/lab-init.py").write_bytes((FILES / "init.py").read_bytes())
    ready_r, ready_w = os.pipe()
    owner_fd = -1 if owner is None else os.pidfd_open(owner)
    unshare = [
        "unshare",
        "--mount",
        "--pid",
        "--uts",
        "--ipc",
        "--cgroup",
        "--fork",
        "--kill-child",
    ]
    init = ["/bin/sh", str(FILES / "init.sh"), str(root), str(instance), HOSTNAME]
    rest = [sys, "yes" if cgroup else "", str(owner_fd), str(ready_w), *MOUNTED]
    # The group must be entered before the cgroup namespace is made: it becomes the top of what is seen inside.
    enter = 'test -z "$0" || echo $$ > "$0/cgroup.procs"; exec "$@"'
    log = instance / "fs/var/log/init.log"
    try:
        with log.open("wb") as out:
            launcher = subprocess.Popen(
                ["/bin/sh", "-c", enter, str(cgroup or ""), *unshare, *init, *rest],
                env=environment("root"),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                pass_fds=[fd for fd in (owner_fd, ready_w, held.fileno()) if fd >= 0],
            )
    finally:
        os.close(ready_w)
        if owner_fd >= 0:
            os.close(owner_fd)
    with os.fdopen(ready_r, "rb") as ready:
        if not ready.read(1):
            launcher.wait()
            raise LabError(f"the first process failed: {log.read_text().strip()}")
    pid = int(Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()[0])
    start = start_time(pid)
    if start is None:
        raise LabError("the first process ended at once")
    return Namespace(pid, start), launcher


def claim_ports() -> tuple[int, socket.socket]:
    """Claim a block of 64 free ports on the loopback; the claim holds while the socket is open anywhere.

    The claim is an abstract socket's name, which belongs to the network namespace just as the ports do: two labs
    started at once never get the same block, and nothing is left over when a holder dies.
    """
    for base in _PORTS:
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0dispatch-lab-ports-{base}")
            if all(_free(port) for port in range(base, base + 64)):
                return base, claim
        except OSError:
            pass
        claim.close()
    raise LabError("no free block of ports is left")


def await_that(
    condition: Callable[[], bool], what: str, *, seconds: float = 30, pause: float = 0.01
) -> None:
    """Wait until the condition holds; raise LabError after so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(pause)


def listening(port: int) -> bool:
    """Tell whether something accepts connections on a loopback port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _namespace(pid: int, kind: str) -> Path | None:
    try:
        return Path(f"/proc/{pid}/ns/{kind}").readlink()
    except OSError:
        return None
