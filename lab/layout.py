"""Lay out an instance's own directories and write its configuration, before its first process starts."""

import os
import stat
from pathlib import Path

from lab.build import USERS
from lab.config import Options, Ports, cgroup_conf, gres_conf, slurm_conf, slurmdbd_conf, sshd_conf
from lab.namespace import MOUNTED

_ROOT_ONLY = 0o600
_STICKY = 0o1777


def account(root: Path, name: str) -> tuple[int, int]:
    """Look up an account's user and group number in the root's passwd file."""
    for line in (root / "etc/passwd").read_text().splitlines():
        fields = line.split(":")
        if fields[0] == name:
            return int(fields[2]), int(fields[3])
    raise KeyError(name)


def lay_out(root: Path, instance: Path, options: Options, ports: Ports) -> None:
    """Make all directories and files of a fresh instance."""
    (instance / "root").mkdir(parents=True)
    for name in MOUNTED:
        (instance / "fs" / name).mkdir(parents=True)
    fs = instance / "fs"
    owned = {"var/lib/slurm": "slurm", "var/lib/slurm/ctld": "slurm", "var/log/slurm": "slurm"}
    owned |= {
        "var/log/munge": "munge",
        "var/lib/munge": "munge",
        "run/munge": "munge",
        "etc/munge": "munge",
    }
    owned |= {"var/lib/mysql": "mysql", "run/mysqld": "mysql", "run/sshd": "root", "root": "root"}
    for name, owner in owned.items():
        (fs / name).mkdir(exist_ok=True)
        os.chown(fs / name, *account(root, owner))
    for name, number in USERS.items():
        _home(fs / "home" / name, number)
    for name in ("tmp", "var/tmp", "srv/shared", "run/lock"):
        (fs / name).mkdir(exist_ok=True)
        (fs / name).chmod(_STICKY)
    for number in range(8):
        os.mknod(fs / f"srv/gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    key = fs / "etc/munge/munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(_ROOT_ONLY)
    os.chown(key, *account(root, "munge"))
    configure(root, instance, options, ports)
    for name, content in options.files.items():
        target = fs / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)


def configure(root: Path, instance: Path, options: Options, ports: Ports) -> None:
    """Write the configuration files of Slurm and sshd."""
    etc = instance / "fs/etc/slurm"
    (etc / "slurm.conf").write_text(slurm_conf(options, ports))
    (etc / "cgroup.conf").write_text(cgroup_conf(options))
    (etc / "gres.conf").write_text(gres_conf(options))
    (etc / "sshd_config").write_text(sshd_conf(ports))
    dbd = etc / "slurmdbd.conf"
    dbd.write_text(slurmdbd_conf(ports))
    dbd.chmod(_ROOT_ONLY)
    os.chown(dbd, *account(root, "slurm"))


def _home(home: Path, number: int) -> None:
    home.mkdir(mode=0o700)
    os.chown(home, number, number)
