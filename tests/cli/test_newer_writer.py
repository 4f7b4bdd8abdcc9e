"""What the command line says of a job that a newer dispatch has written to (12, T4)."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from cli.bench import Bench
from dispatch.cli.exits import Exit


def test_status_says_so_of_that_job_and_lists_the_others_as_ever(bench: Bench) -> None:
    newer, other = bench.submit(), bench.submit()
    with closing(sqlite3.connect(bench.records)) as raw, raw:
        raw.execute("UPDATE jobs SET schema = 999, state = 'Dreaming' WHERE id = ?", (newer,))
    said = bench.run("status", "--json")
    assert said.code == Exit.OK
    told = {job["id"]: job for job in said.documents[0]["jobs"]}
    assert "Written by a newer dispatch" in told[newer]["why"]
    assert told[newer]["state"] == "Unknown"
    assert "newer" not in told[other]["why"]
    assert "newer dispatch" in bench.run("status").out
