"""How the job script passes signals on, and what it says of a command's end."""

from __future__ import annotations

import signal

import pytest

from adapters.slurm.jobscript.standin import Node, await_that


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
    end = node.ticket("1000000.end")
    assert end["status"] == "9"
    # A signal to end that came from outside: the end may be Slurm's doing, whatever the command made of it.
    assert end["told"] == (name if name in {"TERM", "HUP"} else "")


def test_a_signal_to_end_that_comes_during_setup_starts_nothing(node: Node) -> None:
    done = node.run(command=("touch", "ran"), setup=("kill -TERM $$",))
    assert done.returncode == 143
    assert node.ticket("1000000.end")["signal"] == "TERM"
    assert not (node.home / "ran").exists()


# Ends every process of the script, once, while it calls this command, as a cancellation does.
STRIKING = """#!/bin/sh
if [ -d "$HOME/armed" ] && rmdir "$HOME/armed"; then
  for process in /proc/[0-9]*; do
    tr '\\0' ' ' <"$process/cmdline" 2>/dev/null | grep -q "^bash $HOME/script " && kill -TERM "${process#/proc/}"
  done
fi
exec /bin/%s "$@"
"""


@pytest.mark.parametrize("command", ["mkdir", "date"])
def test_a_cancellation_while_the_start_is_recorded_is_neither_a_failed_launch_nor_a_second_one(
    node: Node, command: str
) -> None:
    stand_in = node.home.parent / "bin" / command
    stand_in.write_text(STRIKING % command)
    stand_in.chmod(0o755)
    (node.home / "armed").mkdir()
    done = node.run(command=("touch", "ran"))
    assert not (node.home / "armed").exists()
    assert done.returncode == 143, done.stderr
    assert node.names() == ["1000000.end", "1000000.start"]
    end = node.ticket("1000000.end")
    assert (end["signal"], end["told"], end["launch"]) == ("TERM", "TERM", "")
    assert not (node.home / "ran").exists()
