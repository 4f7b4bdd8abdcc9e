"""The lab's command line."""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lab.build import build_root
from lab.cgroups import why_no_cgroups
from lab.config import Options
from lab.host import SUITES, LabError, require_host
from lab.instance import Lab, discard, instances
from lab.namespace import environment
from lab.template import build_template


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say; return the exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        return _do(chosen)
    except LabError as error:
        print(f"slurmlab: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slurmlab.py", description="A real Slurm on this machine."
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    build = verbs.add_parser("build", help="build a suite's root and accounting database, once")
    build.add_argument("--suite", choices=SUITES, default="forky")
    _add_up(verbs.add_parser("up", help="bring up an instance"))
    down = verbs.add_parser("down", help="end an instance and remove it")
    down.add_argument("--keep-logs", type=Path, metavar="DIRECTORY")
    run = verbs.add_parser("run", help="run a command inside as alice, bob or root")
    kill = verbs.add_parser("kill", help="send a signal to slurmctld, slurmdbd or slurmd:NODE")
    start = verbs.add_parser("start", help="start a daemon that has ended")
    logs = verbs.add_parser("logs", help="print the last lines of each log")
    for verb in (down, run, kill, start, logs):
        verb.add_argument("name")
    run.add_argument("user")
    run.add_argument("argv", nargs=argparse.REMAINDER)
    kill.add_argument("daemon")
    kill.add_argument("--signal", choices=("KILL", "TERM", "STOP", "CONT", "HUP"), default="KILL")
    start.add_argument("daemon")
    start.add_argument("argument", nargs=argparse.REMAINDER)
    verbs.add_parser("list", help="list the instances")
    return parser


def _add_up(up: argparse.ArgumentParser) -> None:
    up.add_argument("name")
    up.add_argument("--suite", choices=SUITES, default="forky", help="forky: Slurm 26.05 (default)")
    up.add_argument("--nodes", type=int, default=4)
    up.add_argument("--accounting", action="store_true", help="slurmdbd and MariaDB")
    up.add_argument("--cgroup", action="store_true", help="memory cgroups")
    up.add_argument("--ssh", action="store_true", help="an sshd for alice and bob")
    for option, default in (
        ("kill-wait", 2),
        ("min-job-age", 300),
        ("slurmd-timeout", 30),
        ("message-timeout", 10),
    ):
        up.add_argument(f"--{option}", type=int, default=default, metavar="SECONDS")
    up.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="in slurm.conf"
    )
    up.add_argument("--extra", type=Path, metavar="FILE", help="lines to add to slurm.conf")
    up.add_argument(
        *("--file", "-f"),
        action="append",
        default=[],
        metavar="INSIDE=FILE",
        help="copy a file in, such as etc/slurm/job_submit.lua=here.lua",
    )
    up.add_argument("--die-with-parent", action="store_true", help="end when the caller ends")


def _do(chosen: argparse.Namespace) -> int:
    match chosen.verb:
        case "build":
            require_host()
            build_root(chosen.suite)
            build_template(chosen.suite)
        case "up":
            _up(chosen)
        case "down":
            discard(chosen.name, chosen.keep_logs)
        case "run":
            command = Lab.attach(chosen.name).command(chosen.user, chosen.argv)
            return subprocess.run(command, env=environment(chosen.user), check=False).returncode
        case "kill":
            Lab.attach(chosen.name).kill(chosen.daemon, signal.Signals[f"SIG{chosen.signal}"])
        case "start":
            Lab.attach(chosen.name).start(chosen.daemon, *chosen.argument)
        case "logs":
            print(Lab.attach(chosen.name).log_tail(40))
        case _:
            _list()
    return 0


def _up(chosen: argparse.Namespace) -> None:
    options = Options(
        suite=chosen.suite,
        nodes=chosen.nodes,
        accounting=chosen.accounting,
        cgroup=chosen.cgroup,
        ssh=chosen.ssh,
        kill_wait=chosen.kill_wait,
        min_job_age=chosen.min_job_age,
        slurmd_timeout=chosen.slurmd_timeout,
        message_timeout=chosen.message_timeout,
        settings=dict(_pair(text) for text in chosen.set),
        extra=chosen.extra.read_text() if chosen.extra else "",
        files={inside: Path(here).read_text() for inside, here in map(_pair, chosen.file)},
    )
    begun = time.monotonic()
    lab = Lab.up(chosen.name, options, owner=os.getppid() if chosen.die_with_parent else None)
    print(f"{lab.name} is up in {time.monotonic() - begun:.1f} s: {lab.login('alice')} sinfo")
    if options.ssh:
        print(" ".join(lab.ssh_command("alice")))


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise LabError(f"{text!r} is not NAME=VALUE")
    return name, value


def _list() -> None:
    for record in instances():
        options = record.options
        extras = [name for name in ("accounting", "cgroup", "ssh") if getattr(options, name)]
        state = "up" if record.alive else "starting" if record.inside is None else "dead"
        owner = f"ends with process {record.owner.pid}" if record.owner else "stays"
        print(
            f"{record.name:20} {state:8} Slurm {SUITES[options.suite]}, {options.nodes} nodes, "
            f"ports {record.base}+, {owner} {' '.join(extras)}".rstrip()
        )
    if reason := why_no_cgroups():
        print(f"no instance can have cgroups: {reason}")
