"""Every refusal of the records, a cluster or the surroundings as a person meets it: the command as a process, its words, its exit code, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from dispatch.cli.exits import Exit
from processes import (
    CONFIG,
    DISPATCH,
    NOBODY,
    RIGHT,
    Place,
    Said,
    check_manners,
    check_refused,
    needs_root,
    open_place,
    works,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, CONFIG)


# ---------------------------------------------------------------- records


def change(records: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(records)) as raw, raw:
        raw.execute(statement, values)


def test_records_of_a_newer_schema_are_left_alone(place: Place) -> None:
    works(place)
    change(place.records, "PRAGMA user_version = 999")
    content = place.records.read_bytes()
    for words in (
        ("submit", "right.yaml"),
        ("status",),
        ("supervise", "--once"),
        ("stop", "right"),
    ):
        told = place.run(*words, "--json")
        assert (told.code, told.error["kind"]) == (Exit.RECORDS, "NewerSchema"), told
        assert "pgrade" in told.error["todo"]
    assert place.records.read_bytes() == content


def test_one_job_of_a_newer_schema_is_left_alone_and_the_others_go_on(place: Place) -> None:
    works(place)
    [newer] = place.jobs()
    change(place.records, "UPDATE jobs SET schema = 999 WHERE id = ?", newer["id"])
    for words in (("show", newer["id"]), ("stop", newer["id"]), ("wait", newer["id"])):
        told = place.run(*words, "--json")
        assert (told.code, told.error["kind"]) == (Exit.RECORDS, "NewerSchema"), told
        assert newer["id"] in told.error["what"]
    works(place)
    change(place.records, "UPDATE jobs SET due = 1")
    said = place.run("supervise", "--once")
    assert said.code == Exit.OK
    assert f"job {newer['id']} is left alone" in said.err
    versions = {job["id"]: job["version"] for job in place.jobs()}
    assert versions.pop(newer["id"]) == newer["version"]
    assert len(versions) == 1


def test_records_that_are_damaged_are_told(place: Place) -> None:
    works(place)
    with closing(sqlite3.connect(place.records)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(place.records.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    place.records.write_bytes(data)
    for words in (("status",), ("submit", "right.yaml")):
        told = place.run(*words, "--json")
        assert told.code == Exit.RECORDS, told
        assert "backup" in told.error["todo"]


@pytest.fixture
def shared() -> Iterator[Place]:
    with open_place() as place:
        yield place


@needs_root
def test_records_that_may_not_be_read_or_written_are_told(shared: Place) -> None:
    place, tmp_path = shared, shared.directory
    works(place)
    env = place.env(HOME=str(tmp_path))
    for words in (("status",), ("submit", "right.yaml"), ("supervise", "--once")):
        told = place.run(*words, "--json", env=env, through=NOBODY)
        assert (told.code, told.error["kind"]) == (Exit.RECORDS, "Records"), told
        assert str(place.records) in told.error["what"]
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    env = place.env(DISPATCH_RECORDS=str(closed / "r.db"), HOME=str(tmp_path))
    told = place.run("submit", "right.yaml", "--json", env=env, through=NOBODY)
    assert (told.code, told.error["kind"]) == (Exit.RECORDS, "Records"), told
    assert list(closed.iterdir()) == []
    works(place)


def on_nfs(place: Place, *words: str) -> Said:
    """Run a command to which the directory seems to be on NFS: the mount table is put in place of the real one."""
    (place.directory / "mountinfo").write_text(
        f"30 1 253:0 / / rw - ext4 /dev/sda1 rw\n42 30 0:42 / {place.directory} rw - nfs4 filer:/export/home rw\n"
    )
    code = (
        "import sys, pathlib, dispatch.stores.filesystem as f; f.MOUNT_TABLE = pathlib.Path('mountinfo'); "
        "from dispatch.cli.main import main; sys.exit(main())"
    )
    return place.run(*words, python=("-c", code))


def test_records_of_sqlite_on_a_network_file_system_are_refused(place: Place) -> None:
    works(place)
    before = place.kept()
    for words in (("submit", "right.yaml"), ("status",), ("supervise", "--once")):
        told = on_nfs(place, *words)
        assert told.code == Exit.RECORDS, told
        for word in (str(place.records), "nfs4", "filer:/export/home", "--records PATH"):
            assert word in told.err, told
        assert on_nfs(place, *words, "--json").error["kind"] == "Records"
    assert place.kept() == before
    assert sorted(path.name for path in place.directory.glob("records*")) == ["records.db"]
    works(place)


def test_new_records_on_a_network_file_system_are_a_directory(place: Place) -> None:
    place.write("right.yaml", RIGHT)
    assert on_nfs(place, "submit", "right.yaml").code == Exit.OK
    assert not place.records.exists()
    [job] = on_nfs(place, "status", "--json").documents[0]["jobs"]
    assert job["name"] == "right"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    words = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", str(disk)]
    mounted = subprocess.run(words, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"mount refuses: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_told_and_holds_no_half_record(place: Place, disk: Path) -> None:
    place.write("right.yaml", RIGHT)
    env = place.env(DISPATCH_RECORDS=str(disk / "records.db"))
    told = place.run("submit", "right.yaml", "--json", env=env)
    assert (told.code, told.error["kind"]) == (Exit.RECORDS, "Records"), told
    assert "full" in told.error["what"]
    assert "df" in told.error["todo"]
    subprocess.run(["mount", "-o", "remount,size=600k", str(disk)], check=True)
    assert place.run("submit", "right.yaml", env=env).code == Exit.OK
    with suppress(OSError), (disk / "ballast").open("wb") as ballast:
        while True:
            ballast.write(b"x" * 4096)
            ballast.flush()
    said = place.run("submit", "right.yaml", "--json", env=env)
    assert (said.code, said.error["kind"]) == (Exit.RECORDS, "Records"), said
    full = place.run(
        "status", "--all", "--json", env=env
    )  # SQLite needs room for its index even to read
    assert full.code == Exit.OK or full.error["kind"] == "Records", full
    (disk / "ballast").unlink()
    [job] = place.run("status", "--all", "--json", env=env).documents[0]["jobs"]
    assert place.run("show", job["id"], "--json", env=env).code == Exit.OK
    assert place.run("submit", "right.yaml", env=env).code == Exit.OK
    assert len(place.run("status", "--all", "--json", env=env).documents[0]["jobs"]) == 2


# ---------------------------------------------------------------- clusters


@pytest.mark.parametrize(("cluster", "says"), [
    ("away", ("/nowhere/at/all/wrapper", "away cannot be opened")), ("no-slurm", ("sbatch", "not found on the PATH", "transport.through")),
])  # fmt: skip
def test_a_cluster_that_cannot_be_reached_is_told_and_nothing_is_recorded(
    cluster: str, says: tuple[str, ...], place: Place
) -> None:
    if shutil.which("sbatch", path="/usr/bin:/bin"):
        pytest.skip("there is a Slurm on this machine")
    place.write("right.yaml", RIGHT)
    words = ("submit", "right.yaml", "--cluster", cluster)
    check_refused(place, *words, code=Exit.UNREACHABLE, kind="Unavailable", says=says)


# ---------------------------------------------------------------- what else may befall a command


def test_two_at_once_are_both_accepted_and_of_one_key_only_one(place: Place) -> None:
    place.write("right.yaml", RIGHT)
    words = [*DISPATCH, "submit", "right.yaml"]
    for more, count in (((), 6), (("--key", "k"), 7)):
        begun = [
            subprocess.Popen([*words, *more], cwd=place.directory, env=place.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(6)
        ]  # fmt: skip
        for process in begun:
            out, err = process.communicate(timeout=60)
            assert process.returncode == Exit.OK, err
            assert "Traceback" not in out + err
        assert len(place.jobs()) == count


def test_ctrl_c_in_the_middle_of_waiting_leaves_the_job_and_no_half_record(place: Place) -> None:
    place.write("right.yaml", RIGHT)
    process = subprocess.Popen(
        [*DISPATCH, "submit", "right.yaml", "--wait", "--json"],
        cwd=place.directory, env=place.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "accepted"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED, err
    said = Said(("submit", "--json"), process.returncode, out, err)
    check_manners(said)
    assert said.error["kind"] == "Interrupted"
    assert len(place.jobs()) == 1
    assert place.run("show", "right", "--json").code == Exit.OK
    works(place)


@pytest.mark.parametrize(
    "words",
    ["status --all", "status --all --json", "show right", "show right --json", "plan right.yaml"],
)
def test_a_reader_that_leaves_ends_the_command_quietly(words: str, place: Place) -> None:
    for _ in range(3):
        works(place)
    if words.startswith("show"):
        words = words.replace("right", place.jobs()[0]["id"])
    line = f"set -o pipefail; {' '.join(DISPATCH)} {words} | head -c 1 >/dev/null"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=place.directory,
        env=place.env(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {Exit.OK, Exit.BROKEN_PIPE}
    assert "error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&-", "1>&- 2>&- 0<&-"])
def test_closed_streams_are_no_fault_of_ours(closed: str, place: Place) -> None:
    place.write("right.yaml", RIGHT)
    for words in ("status", "submit right.yaml", "submit nosuch.yaml", "supervise --once"):
        line = f"exec {' '.join(DISPATCH)} {words} {closed}"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=place.directory,
            env=place.env(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (Exit.NOT_FOUND if "nosuch" in words else Exit.OK), (words, done)
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr
    assert len(place.jobs()) == 1


ODD: dict[str, dict[str, str | None]] = {
    "no HOME": {"HOME": None},
    "an empty HOME": {"HOME": ""},
    "a HOME that is not there": {"HOME": "/nowhere/at/all"},
    "no TERM": {"TERM": None},
    "a strange TERM": {"TERM": "\x1b[2J"},
    "no USER": {"USER": None, "LOGNAME": None},
    "no PATH": {"PATH": None},
    "no locale": {"LANG": None, "LC_ALL": "C"},
    "an unknown locale": {"LANG": "xx_YY.KOI8", "LC_ALL": "xx_YY.KOI8"},
    "narrow": {"COLUMNS": "1"},
    "no columns": {"COLUMNS": "wide"},
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_environment_is_no_fault(name: str, place: Place) -> None:
    place.write("right.yaml", "name: tréning\ncommand: [x]\n")
    env = place.env(**ODD[name])
    for words in (("submit", "right.yaml"), ("status",), ("show", "tréning"), ("status", "--json")):
        assert place.run(*words, env=env).code == Exit.OK


@needs_root
def test_a_home_that_cannot_be_written_is_told(shared: Place) -> None:
    place, tmp_path = shared, shared.directory
    home = tmp_path / "readonly"
    home.mkdir(mode=0o755)
    place.write("right.yaml", RIGHT)
    env = place.env(HOME=str(home), DISPATCH_RECORDS=None)
    told = place.run("submit", "right.yaml", "--json", env=env, through=NOBODY)
    assert (told.code, told.error["kind"]) == (Exit.RECORDS, "Records"), told
    assert str(home) in told.error["what"]
    assert "--records" in told.error["todo"] or "ls -la" in told.error["todo"]
    assert (
        place.run("status", "--json", env=env, through=NOBODY).code == Exit.OK
    )  # none are there yet
    works(place)
