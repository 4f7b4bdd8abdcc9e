"""The command as users start it: a process of its own, with its start-up, signals, pipes and limits."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatch.cli.exits import Exit
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.clock import START

CONFIG = '[clusters.c]\nadapter = "memory"\n'
DISPATCH = (sys.executable, "-m", "dispatch.cli.main")
SLOW = (
    "asyncio",
    "rich",
    "sqlite3",
    "ruamel",
    "msgspec",
    "dispatch.model",
    "dispatch.shell",
    "dispatch.core",
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "dispatch.toml").write_text(CONFIG)
    (tmp_path / "train.yaml").write_text("name: train\ncommand: [x]\n")
    monkeypatch.setenv("DISPATCH_RECORDS", str(tmp_path / "records.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def dispatch(
    *words: str, env: dict[str, str] | None = None, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [*DISPATCH, *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env=env, preexec_fn=before
    )


def begun(*words: str, ready: str) -> subprocess.Popen[bytes]:
    """Start a command, and wait until it has written something that matches."""
    process = subprocess.Popen(
        [*DISPATCH, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
    )
    assert process.stdout is not None
    seen = ""
    while not re.search(ready, seen):
        # Unbuffered: what a buffer has taken already, select would wait for in vain.
        assert select.select([process.stdout], [], [], 30)[0], f"nothing was said but {seen!r}"
        said = os.read(process.stdout.fileno(), 65_536)
        assert said, f"it ended after {seen!r}"
        seen += said.decode()
    return process


def the_rest(process: subprocess.Popen[bytes]) -> str:
    """What it says from here on until it ends."""
    return process.communicate(timeout=30)[0].decode()


def test_help_loads_nothing_that_it_does_not_need(place: Path) -> None:
    code = (
        "import sys; from dispatch.cli.main import main; code = main(['--help']); "
        f"loaded = [name for name in {SLOW!r} if name in sys.modules]; print(loaded, file=sys.stderr); sys.exit(code)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stderr.strip() == "[]"
    assert "Usage: dispatch" in said.stdout


def test_listing_and_showing_load_no_event_loop_and_no_rich(place: Path) -> None:
    code = (
        "import sys; from dispatch.cli.main import main; main(['status']); main(['show', 'x']); "
        "print([name for name in ('asyncio', 'rich', 'ruamel') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def test_the_exit_code_reaches_the_shell(place: Path) -> None:
    assert dispatch("version").returncode == Exit.OK
    assert dispatch("nothing").returncode == Exit.USAGE
    said = dispatch("show", "nobody", "--json")
    assert said.returncode == Exit.NOT_FOUND
    assert json.loads(said.stderr)["error"]["kind"] == "NotFound"


def test_ctrl_c_leaves_quietly_and_the_job_recorded(place: Path) -> None:
    process = begun("submit", "train.yaml", "--wait", ready="(?i)pending")
    process.send_signal(signal.SIGINT)
    out = the_rest(process)
    assert process.returncode == Exit.INTERRUPTED
    assert "interrupted" in out
    assert "Traceback" not in out
    store = SqliteStore.open(place / "records.db", now=START, read_only=True)
    assert [job.name for job in store.resolve("train")] == ["train"]
    store.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_supervisor_stops_cleanly(number: signal.Signals, place: Path) -> None:
    process = begun("supervise", ready="begins, on the records")
    process.send_signal(number)
    out = the_rest(process)
    assert process.returncode == Exit.OK
    assert "has stopped" in out
    assert "Traceback" not in out
    store = SqliteStore.open(place / "records.db", now=START, read_only=True)
    assert store.heartbeats(START) == ()
    store.close()


def test_a_reader_that_goes_away_is_no_error(place: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    said = subprocess.run(
        [*DISPATCH, "status"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert (said.returncode, said.stderr) == (Exit.BROKEN_PIPE, "")


def test_output_that_cannot_be_written_is_told(place: Path) -> None:
    with Path("/dev/full").open("w") as full:
        said = subprocess.run(
            [*DISPATCH, "status"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert said.returncode == Exit.INTERNAL
    assert "No space left" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_full_disk_is_told_and_nothing_is_half_written(place: Path) -> None:
    assert dispatch("submit", "train.yaml").returncode == Exit.OK
    files = [place / name for name in ("records.db", "records.db-wal")]
    size = sum(path.stat().st_size for path in files if path.exists()) // 2

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    said = dispatch("submit", "train.yaml", "--json", before=limit)
    assert said.returncode == Exit.RECORDS
    assert json.loads(said.stderr.splitlines()[-1])["error"]["kind"] == "Records"
    assert "Traceback" not in said.stderr
    assert len(json.loads(dispatch("status", "--json").stdout)["jobs"]) == 1


def test_an_encoding_without_our_letters_is_no_error(place: Path) -> None:
    (place / "u.yaml").write_text("name: тренировка\ncommand: [x]\n", encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    said = dispatch("submit", "u.yaml", env=env)
    assert said.returncode == Exit.OK
    assert "\\u0442" in said.stdout


def test_completion_knows_the_commands(place: Path) -> None:
    env = {
        **os.environ,
        "_DISPATCH_COMPLETE": "bash_complete",
        "COMP_WORDS": "dispatch su",
        "COMP_CWORD": "1",
    }
    said = dispatch(env=env)
    assert said.stdout.split() == ["plain,submit", "plain,supervise"]
