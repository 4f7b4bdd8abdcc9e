"""The job script, run by bash with stand-ins for what it calls."""

from __future__ import annotations

import signal
import subprocess
from typing import Any

import pytest

from adapters.slurm.jobscript.standin import STORE, ULID, Node, order_of
from dispatch.adapters.slurm.jobscript import render_job_script
from dispatch.model.errors import Invalid
from dispatch.model.job import Launcher, SecretSource

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
    assert end == {"status": "5", "signal": "", "attempt": "tok", "launch": "", "told": ""}
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


@pytest.mark.parametrize("status", [1, 128, 193, 233])
def test_a_failure_of_srun_itself_is_a_failed_launch(node: Node, status: int) -> None:
    node.break_srun(f"echo 'srun: error: Task launch failed' >&2; exit {status}")
    done = node.run(command=("true",))
    assert done.returncode == status
    assert node.ticket("1000000.end")["launch"] == "failed"
    assert f"srun ended with status {status}" in done.stderr.decode()


@pytest.mark.parametrize("status", [129, 137, 192])
def test_tasks_that_were_killed_with_their_shells_are_no_failed_launch(
    node: Node, status: int
) -> None:
    node.break_srun(f"exit {status}")
    node.run(command=("true",))
    assert node.ticket("1000000.end")["launch"] == ""


@pytest.mark.parametrize("status", [1, 118, 233])
def test_a_program_may_exit_with_any_number(node: Node, status: int) -> None:
    node.run(command=("sh", "-c", f"exit {status}"))
    end = node.ticket("1000000.end")
    assert (end["status"], end["launch"]) == (str(status), "")


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
