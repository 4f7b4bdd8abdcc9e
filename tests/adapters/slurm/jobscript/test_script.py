"""The job script, run by bash with stand-ins for srun, scancel and scontrol on the PATH."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dispatch.adapters.slurm.jobscript import render_job_script
from dispatch.model.errors import Invalid
from dispatch.model.job import Job, Launcher, SecretSource
from dispatch.spi.adapter import StartOrder

ULID = "01JDQZ8GV2XK5R7N3M9P4T6W8Y"
STORE = "01JDQZ0000000000000000000S"
HOSTILE = (
    "",
    "-n",
    "--",
    "a  b",
    "it's",
    '"$(touch pwned)`touch pwned`"',
    "line\nbreak\n",
    "\\n",
    "*",
    "ñ☃\x7f",
    "x" * 100_000,
)

# Runs as many tasks as it is asked for, one after the other, on one node; keeps its own options for the test to see. A
# signal reaches all processes of a task, as with the real one.
SRUN = r"""#!/bin/bash
printf '%s\n' "$@" >"$HOME/srun.args"
while [ "${1#--}" != "$1" ]; do
  case $1 in --ntasks=*) tasks=${1#*=} ;; --ntasks-per-node=*) each=${1#*=} ;; esac
  shift
done
worst=0
for ((rank = 0; rank < tasks; rank++)); do
  SLURM_PROCID=$rank SLURM_LOCALID=$((rank % each)) SLURM_NODEID=$((rank / each)) setsid "$@" &
  task=$!
  trap 'kill -USR1 -- -$task' USR1
  trap 'kill -USR2 -- -$task' USR2
  echo $task >"$HOME/task"
  wait $task; status=$?
  while kill -0 $task 2>/dev/null; do wait $task; status=$?; done
  [ $status -le $worst ] || worst=$status
done
exit $worst
"""
# As the real one: tells the steps, not the batch script.
SCANCEL = """#!/bin/sh
printf '%s\\n' "$@" >"$HOME/scancel.args"
kill -s "${1#--signal=}" -- "-$(cat "$HOME/task")"
"""
SCONTROL = "#!/bin/sh\necho n1\necho n2\n"


class Node:
    """A node on which scripts are run: a home, a shared directory and the stand-ins."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.shared = place / "shared"
        commands = place / "bin"
        for directory in (self.home, commands):
            directory.mkdir()
        for name, text in {"srun": SRUN, "scancel": SCANCEL, "scontrol": SCONTROL}.items():
            (commands / name).write_text(text)
            (commands / name).chmod(0o755)
        self.env = {
            "PATH": f"{commands}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8",
            "SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "n[1-2]", "SLURMD_NODENAME": "n1", "SLURM_JOB_NUM_NODES": "2",
            "SLURM_JOB_SLUID": "s123",
        }  # fmt: skip

    @property
    def tickets(self) -> Path:
        return self.shared / ULID

    def script(self, *, submission: int = 1, shared: str | None = None, **job: Any) -> Path:
        order = order_of(submission=submission, **job)
        path = self.home / "script"
        path.write_text(render_job_script(order, shared or str(self.shared)))
        return path

    def run(
        self, *, slurm: Mapping[str, str] | None = None, **job: Any
    ) -> subprocess.CompletedProcess[bytes]:
        job.setdefault("command", ("true",))
        script = self.script(**job)
        return subprocess.run(
            ["bash", script],
            cwd=self.home,
            env=self.env | dict(slurm or {}),
            capture_output=True,
            check=False,
            timeout=60,
        )

    def start(self, **job: Any) -> subprocess.Popen[bytes]:
        """Start the script for one node, in a session that the test can end as a whole."""
        return subprocess.Popen(
            ["bash", self.script(nodes=1, **job)],
            cwd=self.home,
            env=self.env | {"SLURM_JOB_NUM_NODES": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def ticket(self, name: str) -> dict[str, str]:
        lines = (self.tickets / name).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.tickets.iterdir() if not path.name.startswith("."))


def order_of(*, submission: int = 1, **job: Any) -> StartOrder:
    nodes = job.pop("nodes", 2)
    return StartOrder(
        id=ULID,
        job=Job(nodes=nodes, **job),
        spec_hash="0" * 64,
        store=STORE,
        submission=submission,
        attempt="tok",
        base=42,
    )


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def await_that(condition: Callable[[], bool]) -> None:
    """Wait for another process, by asking it again and again, for a bounded number of times."""
    for _ in range(1_000_000):
        if condition():
            return
        os.sched_yield()
    raise AssertionError("waited in vain")


# ------------------------------------------------------------------------------- tickets


def test_the_start_and_the_end_are_recorded(node: Node) -> None:
    done = node.run(
        command=("sh", "-c", "exit 5"), submission=3, slurm={"SLURM_RESTART_COUNT": "2"}
    )
    assert done.returncode == 5
    assert node.names() == ["3000002.end", "3000002.start"]
    start, end = node.ticket("3000002.start"), node.ticket("3000002.end")
    assert start.pop("started").isdecimal()
    assert start == {
        "epoch": "3000002", "attempt": "tok", "jobid": "4711", "sluid": "s123", "node": "n1", "nodes": "n[1-2]",
        "restarts": "2", "store": STORE, "base": "42",
    }  # fmt: skip
    assert end.pop("ended").isdecimal()
    assert end == {"status": "5", "signal": "", "attempt": "tok", "launch": ""}
    assert node.tickets.stat().st_mode & 0o077 == 0


def test_a_second_launch_of_an_epoch_is_fenced_and_starts_nothing(node: Node) -> None:
    assert node.run(command=("touch", "first")).returncode == 0
    again = node.run(command=("touch", "second"), setup=("touch setup",))
    assert again.returncode == 119
    assert b"1000000.start exists" in again.stderr
    assert node.names() == ["1000000.end", "1000000.fenced.4711.1", "1000000.start"]
    fenced = node.ticket("1000000.fenced.4711.1")
    assert fenced.pop("at").isdecimal()
    assert fenced == {
        "epoch": "1000000",
        "attempt": "tok",
        "jobid": "4711",
        "node": "n1",
        "seen": "1000000.start",
    }
    assert not list(node.home.glob("se*"))
    assert node.run().returncode == 119
    assert "1000000.fenced.4711.2" in node.names()


def test_an_epoch_below_one_that_has_started_is_fenced(node: Node) -> None:
    assert node.run(submission=2).returncode == 0
    assert node.run(submission=1, command=("touch", "late")).returncode == 119
    assert not (node.home / "late").exists()
    assert node.ticket("1000000.fenced.4711.1")["seen"] == "2000000.start"
    assert "1000000.start" not in node.names()


def test_of_launches_at_the_same_moment_one_runs(node: Node) -> None:
    script = node.script(command=("sh", "-c", "echo ran >>ran"), nodes=1)
    env = node.env | {"SLURM_JOB_NUM_NODES": "1"}
    many = [
        subprocess.Popen(["bash", script], cwd=node.home, env=env, stderr=subprocess.DEVNULL)
        for _ in range(8)
    ]
    assert sorted(each.wait() for each in many) == [0] + [119] * 7
    assert (node.home / "ran").read_text() == "ran\n"


def test_a_crash_between_ticket_and_command_fences_the_next_launch(node: Node) -> None:
    with node.start(command=("true",), setup=("echo up; kill -KILL $$",)) as crashed:
        assert crashed.wait() == -signal.SIGKILL
    assert node.names() == ["1000000.start"]
    assert node.run().returncode == 119


def test_a_shared_directory_that_cannot_be_written_fails_the_launch(node: Node) -> None:
    node.shared.write_text("a file in its place")
    done = node.run(command=("touch", "ran"))
    assert done.returncode == 118
    assert b"dispatch: launch failed: cannot make the directory" in done.stderr
    assert not (node.home / "ran").exists()


@pytest.mark.parametrize("shared", ["$HOME/a b/runs", "~/a b/runs"])
def test_the_shared_directory_is_expanded_where_the_script_runs(node: Node, shared: str) -> None:
    assert node.run(shared=shared).returncode == 0
    assert (node.home / "a b" / "runs" / ULID / "1000000.start").exists()


def test_a_full_disk_is_told_from_a_ticket_that_exists(node: Node) -> None:
    limited = node.script(command=("touch", "ran"))
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 0; trap "" XFSZ; exec bash "$1"', "sh", limited],
        cwd=node.home, env=node.env, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 118
    assert b"not full" in done.stderr
    assert not (node.home / "ran").exists()


# ------------------------------------------------------------------------------- values


def test_hostile_arguments_arrive_byte_for_byte(node: Node) -> None:
    node.run(command=("sh", "-c", 'printf "%s\\0" "$@" >got', "-x", *HOSTILE))
    assert (node.home / "got").read_bytes().decode().split("\0")[:-1] == list(HOSTILE)
    assert not (node.home / "pwned").exists()


def test_hostile_environment_values_arrive_byte_for_byte(node: Node) -> None:
    env = {f"V{index}": text for index, text in enumerate(HOSTILE)}
    node.run(command=("sh", "-c", "env -0 >got"), env=env)
    got = dict(
        pair.split("=", 1) for pair in (node.home / "got").read_bytes().decode().split("\0") if pair
    )
    assert {name: got[name] for name in env} == env
    assert not (node.home / "pwned").exists()


def test_a_builtin_of_the_shell_is_not_taken_for_a_program(node: Node) -> None:
    done = node.run(command=("exit", "0"))
    assert done.returncode == 127
    assert b"exit: not found" in done.stderr


@pytest.mark.parametrize(
    ("job", "path"),
    [
        ({"command": ("a", "x" * 131_072)}, "command[1]"),
        ({"command": ("a",), "env": {"A": "x" * 131_070}}, "env.A"),
        ({"command": ("a\0b",)}, "command[0]"),
        ({"command": ("a\udc80b",)}, "command[0]"),
        ({"command": ("a",), "setup": ("a\0",)}, "setup[0]"),
        ({"command": ("a", *["x" * 100_000] * 11)}, "command"),
    ],
)
def test_what_no_program_can_be_given_is_refused_by_its_field(
    job: dict[str, Any], path: str
) -> None:
    with pytest.raises(Invalid) as caught:
        render_job_script(order_of(**job), "/x")
    assert [fault.path for fault in caught.value.faults] == [path]


def test_a_script_beyond_what_slurm_takes_is_refused() -> None:
    with pytest.raises(Invalid, match="Slurm takes 4194304"):
        render_job_script(order_of(command=("a",), setup=("x" * 4_200_000,)), "/x")


# ------------------------------------------------------------------------------- secrets


def test_a_secret_is_in_the_environment_and_nowhere_else(node: Node) -> None:
    (node.home / "token").write_text("s3cr3t $(x)\n")
    look = 'printf %s "$TOKEN" >got; cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " " >cmdlines; true'
    done = node.run(command=("sh", "-c", look), secret_env={"TOKEN": SecretSource(file="~/token")})
    assert (node.home / "got").read_text() == "s3cr3t $(x)"
    seen = [
        (node.home / "script").read_text(),
        (node.home / "cmdlines").read_text(),
        done.stdout.decode(),
        done.stderr.decode(),
    ]
    seen += [path.read_text() for path in node.tickets.iterdir()]
    assert not [text for text in seen if "s3cr3t" in text]


def test_a_secret_without_its_file_starts_nothing_and_says_so(node: Node) -> None:
    done = node.run(command=("touch", "ran"), secret_env={"TOKEN": SecretSource(file="/no/such")})
    assert done.returncode == 118
    assert b"the file /no/such of secretEnv.TOKEN cannot be read on n1" in done.stderr
    assert node.ticket("1000000.end")["status"] == "118"
    assert not (node.home / "ran").exists()


# ------------------------------------------------------------------------- setup, launch


def test_setup_lines_shape_the_commands_environment(node: Node) -> None:
    node.run(
        command=("sh", "-c", 'echo "$A $(pwd)" >"$HOME/got"'),
        setup=("A='x y'; export A", "mkdir sub && cd sub"),
    )
    assert (node.home / "got").read_text() == f"x y {node.home}/sub\n"


def test_a_missing_working_directory_fails_the_launch(node: Node) -> None:
    done = node.run(command=("touch", "ran"), workdir="~/gone")
    assert done.returncode == 118
    assert b"gone cannot be entered on n1" in done.stderr


def test_a_setup_line_that_fails_is_named_with_its_status(node: Node) -> None:
    done = node.run(command=("touch", "ran"), setup=("true", "(exit 7)", "touch ran"))
    assert done.returncode == 118
    assert b"the setup line '(exit 7)' failed with status 7" in done.stderr
    assert not (node.home / "ran").exists()


def test_a_setup_line_that_exits_is_no_success(node: Node) -> None:
    done = node.run(command=("touch", "ran"), setup=("exit 0",))
    assert done.returncode == 118
    assert node.ticket("1000000.end")["status"] == "118"


def test_each_task_is_told_its_place(node: Node) -> None:
    tell = 'echo "$RANK $LOCAL_RANK $NODE_RANK $WORLD_SIZE $MASTER_PORT $DISPATCH_EPOCH $DISPATCH_ATTEMPT $DISPATCH_NODES"'
    done = node.run(command=("sh", "-c", tell), launcher=Launcher.SRUN, tasks_per_node=2)
    rest = "4 24711 1000000 tok.0 2"
    assert done.stdout.decode().splitlines() == [
        f"{place} {rest}" for place in ("0 0 0", "1 1 0", "2 0 1", "3 1 1")
    ]


def test_the_plain_launcher_runs_once_on_every_node(node: Node) -> None:
    done = node.run(command=("echo", "ran"), tasks_per_node=4)
    assert done.stdout == b"ran\nran\n"
    assert "--ntasks-per-node=1" in (node.home / "srun.args").read_text().splitlines()


def test_torchrun_makes_one_training_of_all_nodes(node: Node) -> None:
    setup = (
        "torchrun() { :; }",
        'mkdir bin; cp "$(command -v env)" bin/torchrun; PATH=$PWD/bin:$PATH',
    )
    done = node.run(command=("-0",), launcher=Launcher.TORCHRUN, gpus_per_node=8, setup=setup)
    pairs = [pair for pair in done.stdout.decode().split("\0") if pair.startswith("PET_")]
    first = dict(pair.split("=", 1) for pair in pairs[: len(pairs) // 2])
    assert first.pop("PET_RDZV_ENDPOINT").endswith(":24711")
    assert first == {
        "PET_NNODES": "2", "PET_NPROC_PER_NODE": "8", "PET_NODE_RANK": "0", "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ID": "tok.0",
    }  # fmt: skip


# --------------------------------------------------------------------- status and signals


@pytest.mark.parametrize(
    ("shell", "status", "name"),
    [
        ("exit 3", 3, ""),
        ("exit 255", 255, ""),
        ("exit 143", 143, ""),
        ("kill -TERM $$", 143, "TERM"),
        ("kill -SEGV $$", 139, "SEGV"),
        ("exit 139", 139, ""),
        ("kill -KILL $$", 137, "KILL"),
    ],
)
def test_an_exit_is_told_from_a_death_by_signal(
    node: Node, shell: str, status: int, name: str
) -> None:
    assert (
        node.run(
            command=("sh", "-c", shell), nodes=1, slurm={"SLURM_JOB_NUM_NODES": "1"}
        ).returncode
        == status
    )
    end = node.ticket("1000000.end")
    assert (end["status"], end["signal"]) == (str(status), name)


def test_the_first_rank_that_failed_gives_the_status(node: Node) -> None:
    done = node.run(command=("sh", "-c", "[ $RANK = 0 ] && exit 3; kill -TERM $$"))
    assert done.returncode == 3
    assert node.ticket("1000000.end")["status"] == "3"


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "USR2"])
def test_a_signal_to_the_script_reaches_the_command(node: Node, name: str) -> None:
    catch = f'trap "echo got {name} >>got; exit 9" {name}; echo up >up; i=0; while [ $((i += 1)) -lt 400 ]; do sleep 0.05; done'
    with node.start(command=("sh", "-c", catch)) as running:
        await_that(lambda: (node.home / "up").exists() and bool((node.home / "up").read_text()))
        running.send_signal(getattr(signal, f"SIG{name}"))
        assert running.wait(30) == 9
    assert (node.home / "got").read_text() == f"got {name}\n"
    assert node.ticket("1000000.end")["status"] == "9"


def test_a_signal_to_end_that_comes_during_setup_starts_nothing(node: Node) -> None:
    done = node.run(command=("touch", "ran"), setup=("kill -TERM $$",))
    assert done.returncode == 143
    assert node.ticket("1000000.end")["signal"] == "TERM"
    assert not (node.home / "ran").exists()
