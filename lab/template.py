"""Make, once a suite, the accounting database that instances start from: a fresh one costs two seconds, a copy none."""

import shutil
import signal
import subprocess
from pathlib import Path

from lab import daemons
from lab.build import build_root
from lab.config import Options, Ports
from lab.host import LAB_DIR, locked
from lab.layout import lay_out
from lab.namespace import Namespace, claim_ports, launch

_CREATE = "create database slurm_acct; create user slurm@localhost identified by 'slurm'; \
grant all on slurm_acct.* to slurm@localhost"


def template_dir(suite: str) -> Path:
    """Name the directory of a suite's template."""
    return LAB_DIR / f"{suite}.accounting"


def build_template(suite: str) -> Path:
    """Make the suite's template unless it is there already, and name it."""
    template = template_dir(suite)
    root = build_root(suite)
    if template.exists():
        return template
    with locked(LAB_DIR / f"{suite}.lock"):
        if not template.exists():
            _make(root, suite, template)
    return template


def use_template(template: Path, instance: Path) -> None:
    """Copy the template into an instance that is laid out and not yet started."""
    copy = ["cp", "--archive", "--reflink=auto", f"{template}/.", f"{instance}/fs/var/lib/mysql"]
    subprocess.run(copy, check=True)


def _make(root: Path, suite: str, template: Path) -> None:
    instance = LAB_DIR / f"{suite}.accounting.half"
    shutil.rmtree(instance, ignore_errors=True)
    options = Options(suite=suite, nodes=1, accounting=True)
    base, held = claim_ports()
    ports = Ports(base)
    lay_out(root, instance, options, ports)
    sys = "host" if suite == "bookworm" else "own"
    with held:
        inside, launcher = launch(root, instance, sys=sys, cgroup=None, owner=None, held=held)
    try:
        _fill(inside, ports)
    finally:
        inside.end(launcher)
    (instance / "fs/var/lib/mysql").rename(template)
    shutil.rmtree(instance)


def _fill(inside: Namespace, ports: Ports) -> None:
    daemons.start_munged(inside)
    inside.run(
        "mariadb-install-db --no-defaults --user=mysql --datadir=/var/lib/mysql --skip-test-db "
        "--innodb-log-file-size=8M"
    )
    daemons.start_mariadbd(inside)
    inside.run('exec mariadb --no-defaults -S /run/mysqld/mysqld.sock -e "$1"', _CREATE)
    daemons.start_slurmdbd(inside, ports)
    inside.run("""
        sacctmgr -i add cluster lab
        sacctmgr -i add account team Description=team Organization=lab
        for user in alice bob; do sacctmgr -i add user $user Account=team; done""")
    daemons.start_slurmctld(inside, ports)
    for daemon in ("slurmctld", "slurmdbd", "mariadbd"):
        daemons.send(inside, daemon, signal.SIGTERM)
