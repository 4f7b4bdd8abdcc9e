"""Many processes on one store: races, and death in the midst of writing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.stores.sqlite import SqliteStore
from stores import worker
from stores.samples import NOW, job_id, make

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent.parent


def run(path: Path, *tasks: Sequence[object]) -> list[list[str]]:
    """Run one worker a task, all begun at the same moment; return the words that they printed."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
    workers = [
        subprocess.Popen(
            [sys.executable, str(worker.__file__), str(task[0]), str(path), *map(str, task[1:])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        for task in tasks
    ]
    for process in workers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.communicate()[0] for process in workers]
    assert [process.returncode for process in workers] == [0] * len(workers)
    return [line.split() for text in printed for line in text.splitlines()]


def test_a_hundred_creates_of_one_key_at_once_make_the_store_once_and_one_job(
    tmp_path: Path,
) -> None:
    path = tmp_path / "new" / "records.db"
    answers = run(path, *[("create", first, 25) for first in (1, 26, 51, 76)])
    assert len({mine for mine, _ in answers}) == 100
    (winner,) = {given for _, given in answers}
    store = SqliteStore.open(path, now=NOW)
    assert [found.id for found in store.resolve("the key")] == [winner]
    assert len(store.load(winner)) == 1
    assert store.verify() == ()
    store.close()


def test_of_many_processes_exactly_one_wins_each_version(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    store = SqliteStore.open(path, now=NOW)
    make(store, 1)
    won = run(path, *[("race", writer, 101) for writer in range(4)])
    assert sorted(int(version) for version, _ in won) == list(range(2, 102))
    kept = {entry.version: entry.nonce.split("-")[0] for entry in store.load(job_id(1), after=1)}
    assert kept == {int(version): writer for version, writer in won}
    store.close()


def test_what_was_acknowledged_survives_the_death_of_its_writer_and_nothing_is_half_there(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "records.db"
    store = SqliteStore.open(path, now=NOW)
    make(store, 1)
    store.close()
    printed = run(path, ("die", 60, seed))
    acknowledged = {words[0] for words in printed if len(words) == 1}
    assert len(acknowledged) >= 60
    store = SqliteStore.open(path, now=NOW)
    kept = [entry.nonce for entry in store.load(job_id(1), after=1)]
    assert acknowledged <= set(kept)
    assert all(kept[n : n + 3] == [kept[n]] * 3 for n in range(0, len(kept), 3))
    assert all(store.has_nonce(nonce) for nonce in acknowledged)
    assert not store.has_nonce("never written")
    assert store.verify() == ()
    store.close()
