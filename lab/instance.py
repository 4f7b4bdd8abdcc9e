"""An instance of the lab: a whole Slurm cluster on this machine, apart from all others."""

import dataclasses
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from lab import daemons, record
from lab.build import USERS, build_root
from lab.cgroups import make_group
from lab.config import Options, Ports
from lab.host import LabError, require_host, root_dir
from lab.layout import configure, lay_out
from lab.namespace import Namespace, Process, await_that, claim_ports, environment, launch
from lab.template import build_template, use_template

_WRAPPER = """#!/bin/sh
# Runs its arguments as {user} inside the instance {name}, from the home directory, with a login's clean environment.
exec env -i {env} {command} "$@"
"""


class Lab:
    """One running cluster. Made by `up` or `attach`; ends by `down`, as a context manager, or with its owner."""

    def __init__(
        self, found: record.Record, inside: Namespace, launcher: "subprocess.Popen[bytes] | None"
    ) -> None:
        self._record = found
        self._inside = inside
        self._launcher = launcher

    def __repr__(self) -> str:
        return f"<Lab {self.name} {self.options.suite} ports {self.ports.base}+ {'up' if self._inside.alive() else 'down'}>"

    @classmethod
    def up(cls, name: str, options: Options | None = None, *, owner: int | None = None) -> Self:
        """Bring up an instance and return when all its nodes are idle.

        owner: the pid of a process with which the instance ends, however that ends; None: it stays until `down`.
        Builds what it needs first (a minute, once). Raises LabUnavailable or LabError.
        """
        options = options or Options()
        require_host()
        root = build_root(options.suite)
        template = build_template(options.suite) if options.accounting else None
        base, held = claim_ports()
        claimed = record.Record(
            name,
            options,
            base,
            record.own(),
            record.witness(owner) if owner is not None else None,
            None,
        )
        with held:
            record.claim(claimed)
            try:
                lay_out(root, claimed.directory, options, Ports(base))
                if template is not None:
                    use_template(template, claimed.directory)
                group = make_group(name, base) if options.cgroup else None
                sys = "host" if options.suite == "bookworm" else "own"
                inside, launcher = launch(
                    root, claimed.directory, sys=sys, cgroup=group, owner=owner, held=held
                )
            except BaseException:
                record.remove(claimed)
                raise
        lab = cls(dataclasses.replace(claimed, inside=inside), inside, launcher)
        try:
            record.write(lab._record)
            lab._start_all()
        except BaseException as error:
            lines = lab.log_tail()
            lab.down()
            if isinstance(error, LabError):
                raise LabError(f"{error}\n{lines}") from error
            raise
        return lab

    @classmethod
    def attach(cls, name: str) -> Self:
        """Find an instance that is up."""
        found = record.read(name)
        if found.inside is None or not found.alive:
            raise LabError(f"the instance {name!r} is not up")
        return cls(found, found.inside, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.down()

    @property
    def name(self) -> str:
        """The instance's name."""
        return self._record.name

    @property
    def options(self) -> Options:
        """What it was told."""
        return self._record.options

    @property
    def ports(self) -> Ports:
        """Its ports on the loopback."""
        return Ports(self._record.base)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of its nodes."""
        return tuple(f"n{number}" for number in range(1, self.options.nodes + 1))

    @property
    def directory(self) -> Path:
        """Its directory on the host."""
        return self._record.directory

    def path(self, inside: str) -> Path:
        """Name on the host a file of the instance, such as /home/alice/x, /srv/shared/x or /etc/slurm/slurm.conf."""
        return self.directory / "fs" / inside.lstrip("/")

    def login(self, user: str) -> Path:
        """Name the executable which runs its arguments as a user (alice, bob, root) inside."""
        return self.directory / f"login-{user}"

    def command(self, user: str, argv: Sequence[str]) -> list[str]:
        """Give the host's command line that runs argv inside as a user; run it with the environment of `environment`."""
        return self._inside.command(user, argv)

    def run(
        self,
        user: str,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - the name that subprocess.run has for it
        check: bool = False,
        timeout: float | None = 60,
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a command inside as a user, from the home directory, with a login's clean environment.

        check: raise LabError with what it said when it fails. timeout: seconds, then subprocess.TimeoutExpired.
        """
        if not self._inside.alive():
            raise LabError(f"the instance {self.name!r} is not up")
        command = self.command(user, argv)
        done = subprocess.run(
            command,
            env=environment(user),
            input=input,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise LabError(f"{' '.join(argv)!r} failed ({done.returncode}): {said}")
        return done

    def ssh_command(self, user: str) -> list[str]:
        """Give the ssh command line that logs in as a user; needs an instance with `ssh`."""
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
        key = self.path("/root/id_ed25519")
        address = ["-p", str(self.ports.ssh), f"{user}@127.0.0.1"]
        return ["ssh", "-i", str(key), *(f"-o{option}" for option in options), *address]

    def text(self, user: str, *argv: str) -> str:
        """Run a command that must succeed and give its output without the last newline."""
        return self.run(user, argv, check=True).stdout.decode().rstrip("\n")

    def kill(self, daemon: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to slurmctld, slurmdbd or slurmd:<node>. After KILL or TERM the daemon is gone at return."""
        daemons.send(self._inside, daemon, number)

    def kill_node(self, node: str) -> None:
        """Kill all that runs on a node, as if its power failed; `start("slurmd:<node>")` boots it.

        To lose only the node's slurmd, whose jobs' processes then go on, `kill` that.
        """
        daemons.kill_node(self._inside, node)

    def start(self, daemon: str, *arguments: str) -> None:
        """Start a daemon that has ended, with further arguments (such as -i for slurmctld); return when it answers."""
        if daemons.find(self._inside, daemon) is not None:
            raise LabError(f"{daemon} runs already")
        name, _, node = daemon.partition(":")
        match name:
            case "slurmctld":
                daemons.start_slurmctld(self._inside, self.ports, *arguments)
            case "slurmdbd":
                daemons.start_slurmdbd(self._inside, self.ports)
            case "slurmd":
                daemons.start_slurmd(self._inside, self.options, node)
            case _:
                raise LabError(f"cannot start {daemon!r} by itself")

    def set_conf(self, **settings: str) -> None:
        """Change settings of slurm.conf and have the daemons read it; some need a restart instead."""
        self._record = dataclasses.replace(
            self._record, options=self.options.with_settings(settings)
        )
        record.write(self._record)
        configure(root_dir(self.options.suite), self.directory, self.options, self.ports)
        self.text("root", "scontrol", "reconfigure")
        self.text("root", "scontrol", "ping")

    def await_idle(self, seconds: float = 60) -> None:
        """Wait until all nodes are idle."""
        wanted = str(self.options.nodes).encode()
        state = ["sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D"]
        await_that(
            lambda: self.run("root", state).stdout.strip() == wanted,
            "idle nodes",
            seconds=seconds,
            pause=0.02,
        )

    def processes(self) -> list[Process]:
        """List what runs inside."""
        return self._inside.processes()

    def log_tail(self, lines: int = 8) -> str:
        """Give the last lines of each log."""
        parts: list[str] = []
        for path in sorted(self.path("/var/log").rglob("*.log")):
            tail = path.read_text(errors="replace").splitlines()[-lines:]
            parts += [f"--- {path.name}", *tail] if tail else []
        return "\n".join(parts)

    def save_logs(self, target: Path) -> None:
        """Copy the logs and the configuration into a directory."""
        target.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.path("/var/log"), target / "log", dirs_exist_ok=True)
        shutil.copytree(
            self.path("/etc/slurm"),
            target / "etc",
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("*_key*"),
        )

    def down(self, keep_logs: Path | None = None) -> None:
        """End the instance, at once and with everything in it, and remove it. keep_logs: copy its logs there first."""
        if keep_logs is not None:
            self.save_logs(keep_logs)
        self._inside.end(self._launcher)
        with record.registry():
            record.remove(self._record)

    def _start_all(self) -> None:
        for user in ("root", *USERS):
            env = " ".join(f"{name}={value}" for name, value in environment(user).items())
            text = _WRAPPER.format(
                user=user, name=self.name, env=env, command=" ".join(self.command(user, []))
            )
            self.login(user).write_text(text)
            self.login(user).chmod(0o755)
        daemons.start_munged(self._inside)
        if self.options.accounting:
            daemons.start_mariadbd(self._inside)
            daemons.start_slurmdbd(self._inside, self.ports)
        daemons.start_slurmctld(self._inside, self.ports)
        # A cluster in service has all its state files; a controller that is killed in its first
        # minutes lacks some, and refuses to start again. An orderly stop writes them all.
        daemons.send(self._inside, "slurmctld", signal.SIGTERM)
        daemons.start_slurmctld(self._inside, self.ports)
        daemons.start_slurmd(self._inside, self.options, *self.nodes)
        if self.options.ssh:
            daemons.start_sshd(self._inside, self.ports)
        self.await_idle()


def instances() -> list[record.Record]:
    """List the instances, after clearing away those whose owners are gone."""
    record.sweep()
    return record.records()


def discard(name: str, keep_logs: Path | None = None) -> None:
    """End an instance by name, or remove what is left of one that has died."""
    found = record.read(name)
    if found.inside is None and found.starter.alive():
        raise LabError(f"the instance {name!r} is on its way up")
    Lab(found, found.inside or Namespace(0, 0), None).down(keep_logs)
