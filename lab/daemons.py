"""Start the daemons of an instance, each returning once it answers."""

import contextlib
import os
import signal

from lab.config import Options, Ports
from lab.host import LabError
from lab.namespace import Namespace, Process, await_that, listening

_MARIADBD = """
setsid mariadbd --no-defaults --user=mysql --datadir=/var/lib/mysql --skip-networking --skip-log-bin \
    --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid --innodb-lock-wait-timeout=900 \
    --innodb-buffer-pool-size=64M --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite \
    --loose-innodb-snapshot-isolation=OFF --innodb-fast-shutdown=1 --performance-schema=OFF \
    </dev/null >/var/log/mariadb.log 2>&1 &
"""
_MUNGED = """
exec setpriv --reuid=munge --regid=munge --clear-groups munged
"""


def start_munged(inside: Namespace) -> None:
    """Start munged, which returns when its socket is there."""
    inside.run(_MUNGED)


def start_mariadbd(inside: Namespace) -> None:
    """Start MariaDB over whatever database is in /var/lib/mysql."""
    inside.run(_MARIADBD)
    sock = inside.path("/run/mysqld/mysqld.sock")
    await_that(sock.exists, "MariaDB's socket")


def start_slurmdbd(inside: Namespace, ports: Ports) -> None:
    """Start slurmdbd."""
    inside.run("exec slurmdbd")
    await_that(lambda: listening(ports.slurmdbd), "slurmdbd")


def start_slurmctld(inside: Namespace, ports: Ports, *arguments: str) -> None:
    """Start slurmctld; raise LabError when it ends at once, as over a state that it cannot read."""
    inside.run('exec slurmctld "$@"', *arguments)
    await_that(lambda: listening(ports.slurmctld) or find(inside, "slurmctld") is None, "slurmctld")
    try:
        inside.run("exec scontrol ping")
    except LabError:
        log = inside.path("/var/log/slurm/slurmctld.log").read_text().splitlines()
        raise LabError("slurmctld ended at once: " + "\n".join(log[-5:])) from None


def start_slurmd(inside: Namespace, options: Options, *nodes: str) -> None:
    """Start the slurmd of each node. With cgroups each first joins the instance's group."""
    join = "echo $$ >/sys/fs/cgroup/memory/cgroup.procs; " if options.cgroup else ""
    inside.run(
        join + 'for node; do mkdir -p "/var/lib/slurm/d-$node"; slurmd -N "$node" & done; wait',
        *nodes,
    )


def start_sshd(inside: Namespace, ports: Ports) -> None:
    """Start sshd with a fresh host key and one key that opens the door to every user."""
    inside.run("""cd /etc/slurm
        ssh-keygen -q -t ed25519 -N '' -f ssh_host_ed25519_key; ssh-keygen -q -t ed25519 -N '' -f /root/id_ed25519
        for user in alice bob; do
            install -d -m 700 -o $user -g $user /home/$user/.ssh
            install -m 600 -o $user -g $user /root/id_ed25519.pub /home/$user/.ssh/authorized_keys
        done
        exec /usr/sbin/sshd -f /etc/slurm/sshd_config""")
    await_that(lambda: listening(ports.ssh), "sshd")


def find(inside: Namespace, daemon: str) -> Process | None:
    """Find a daemon's main process by its name: slurmctld, slurmdbd, mariadbd, munged, sshd, slurmd:<node>."""
    name, _, node = daemon.partition(":")
    if (name == "slurmd") != bool(node):
        raise LabError(
            f"{daemon!r} is no daemon: say slurmctld, slurmdbd, mariadbd, munged, sshd or slurmd:<node>"
        )
    for process in inside.processes():
        ours = process.argv[0].rpartition("/")[2] == name
        if ours and (not node or process.argv[1:3] == ("-N", node)):
            return process
    return None


def kill_node(inside: Namespace, node: str) -> None:
    """Kill at one stroke all that runs on a node: slurmd, the steps' daemons and their tasks."""
    processes = {process.pid: process for process in inside.processes()}
    doomed: set[int] = set()
    for process in processes.values():
        if f"SLURMD_NODENAME={node}" in process.environment():
            doomed.add(process.pid)
            parent = processes.get(process.parent)
            # A step's daemon does not say whose node it serves; its tasks do.
            if parent is not None and parent.argv[0].startswith("slurmstepd:"):
                doomed.add(parent.pid)
    send(inside, f"slurmd:{node}", signal.SIGKILL)
    for pid in sorted(doomed):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def send(inside: Namespace, daemon: str, number: signal.Signals) -> None:
    """Send a signal to a daemon's main process; when the signal ends it, return once it is gone."""
    process = find(inside, daemon)
    if process is None:
        raise LabError(f"{daemon} does not run")
    os.kill(process.pid, number)
    if number in (signal.SIGKILL, signal.SIGTERM):
        await_that(lambda: find(inside, daemon) is None, f"the end of {daemon}", seconds=60)
