"""What an instance may be told, and the configuration files made from it. Pure: values in, text out."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from lab.build import HOSTNAME
from lab.host import SUITES, LabError

FILES = Path(__file__).parent / "files"
MAX_NODES = 48

# slurmctld looks for jobs to start at each full second and, by backfill, once in each second: a
# released job starts within one, 0.4 s on average. No setting shortens that; these see to it.
_SCHEDULER = "batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=10000"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How an instance is to be.

    accounting: slurmdbd and MariaDB. cgroup: memory cgroups, so that a job can run out of memory. ssh: an sshd.
    kill_wait, min_job_age, slurmd_timeout, message_timeout: seconds, Slurm's settings of those names.
    settings: further lines of slurm.conf by name, in place of the lab's or beside them.
    extra: raw lines at the end of slurm.conf (nodes, partitions).
    files: path inside the instance -> content, such as etc/slurm/job_submit.lua.
    """

    suite: str = "forky"
    nodes: int = 4
    accounting: bool = False
    cgroup: bool = False
    ssh: bool = False
    kill_wait: int = 2
    min_job_age: int = 300
    slurmd_timeout: int = 30
    message_timeout: int = 10
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    extra: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if self.suite not in SUITES:
            raise LabError(f"no suite {self.suite!r}; there are {', '.join(SUITES)}")
        if not 1 <= self.nodes <= MAX_NODES:
            raise LabError(f"nodes must be 1 to {MAX_NODES}, not {self.nodes}")

    def with_settings(self, settings: Mapping[str, str]) -> "Options":
        """Copy with these settings put over the ones there are."""
        return dataclasses.replace(self, settings={**self.settings, **settings})


@dataclass(frozen=True)
class Ports:
    """The ports of one instance: a block of 64 from `base` on."""

    base: int

    @property
    def slurmctld(self) -> int:
        return self.base

    @property
    def slurmdbd(self) -> int:
        return self.base + 1

    @property
    def ssh(self) -> int:
        return self.base + 2

    @property
    def slurmd(self) -> int:
        return self.base + 15

    def node(self, number: int) -> int:
        """Give the port of node `n<number>`, counted from 1."""
        return self.slurmd + number


def slurm_conf(options: Options, ports: Ports) -> str:
    """Write slurm.conf."""
    text = Template((FILES / "slurm.conf.in").read_text()).substitute(
        hostname=HOSTNAME,
        ctld_port=ports.slurmctld,
        slurmd_port=ports.slurmd,
        task_plugin="task/cgroup" if options.cgroup else "task/none",
        slurmd_timeout=options.slurmd_timeout,
        message_timeout=options.message_timeout,
        kill_wait=options.kill_wait,
        min_job_age=options.min_job_age,
        scheduler=_SCHEDULER,
        nodes=options.nodes,
        node_ports=f"{ports.node(1)}-{ports.node(options.nodes)}"
        if options.nodes > 1
        else ports.node(1),
    )
    lines = [line for line in text.splitlines() if line.partition("=")[0] not in options.settings]
    if options.accounting:
        flags = "job_comment" if options.suite == "bookworm" else "job_comment,job_extra"
        accounting = {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": str(ports.slurmdbd),
            "AccountingStoreFlags": flags,
            "AccountingStorageTRES": "gres/gpu",
        }
        lines += [
            f"{name}={value}" for name, value in accounting.items() if name not in options.settings
        ]
    lines += [f"{name}={value}" for name, value in options.settings.items()]
    return "\n".join([*lines, options.extra.strip(), ""])


def slurmdbd_conf(ports: Ports) -> str:
    """Write slurmdbd.conf."""
    return f"""AuthType=auth/munge
DbdHost={HOSTNAME}
DbdAddr=127.0.0.1
DbdPort={ports.slurmdbd}
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
DebugLevel=info
"""


def cgroup_conf(options: Options) -> str:
    """Write cgroup.conf. Slurm 22.05 has no way to say 'no cgroups', but leaves them alone with these settings."""
    if options.cgroup:
        return "CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n"
    return "CgroupPlugin=cgroup/v1\n" if options.suite == "bookworm" else "CgroupPlugin=disabled\n"


def gres_conf(options: Options) -> str:
    """Write gres.conf: eight pretended GPUs a node, the same device files for all."""
    return f"NodeName=n[1-{options.nodes}] Name=gpu Type=h100 File=/srv/gpu[0-7]\n"


def sshd_conf(ports: Ports) -> str:
    """Write the configuration of the instance's sshd."""
    return f"""Port {ports.ssh}
ListenAddress 127.0.0.1
HostKey /etc/slurm/ssh_host_ed25519_key
PasswordAuthentication no
PidFile /run/sshd.pid
UsePAM no
"""
