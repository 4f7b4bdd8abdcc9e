"""Supervising from the command line: once, for long, and seen by the others."""

from __future__ import annotations

from datetime import timedelta

from cli.bench import JOB, Bench
from dispatch.cli.exits import Exit
from dispatch.model.view import Phase
from dispatch.spi.store import Heartbeat
from dispatch.stores.sqlite import SqliteStore


def test_once_recovers_what_was_preempted(bench: Bench) -> None:
    job = bench.submit(text=JOB + "recovery: spot\n")
    bench.env.run(job)
    bench.supervise()
    bench.env.preempt(job)
    for _ in range(3):
        assert bench.supervise().code == Exit.OK
    current = bench.view(job).current
    assert current is not None
    assert (current.submission, current.phase) == (2, Phase.OPEN)


def test_once_tells_its_rounds_in_json(bench: Bench) -> None:
    bench.submit()
    bench.clock.advance(timedelta(minutes=1))
    said = bench.run("supervise", "--once", "--json")
    assert said.code == Exit.OK
    assert all(document["event"] == "round" for document in said.documents)


def test_a_hold_that_has_an_end_is_lifted_by_then(bench: Bench) -> None:
    job = bench.submit()
    bench.run("hold", job, "--until", "2h")
    bench.clock.advance(timedelta(hours=2))
    bench.supervise()
    assert len(bench.env.runnable()) == 1


def test_where_a_supervisor_is_at_work_nobody_is_told_to_start_one(bench: Bench) -> None:
    assert "dispatch supervise" in bench.run("submit", "train.yaml", "--key", "a").err
    store = SqliteStore.open(bench.records, now=bench.clock.now())
    store.beat(Heartbeat(id="s", host="h", pid=1, version="1", seen=bench.clock.now()))
    store.close()
    for words in (
        ("submit", "train.yaml", "--key", "b"),
        ("status",),
        ("show", "a"),
        ("hold", "a"),
        ("release", "a"),
    ):
        said = bench.run(*words)
        assert (said.code, said.err) == (Exit.OK, ""), words


def test_a_cluster_that_is_away_stops_no_supervisor(bench: Bench) -> None:
    job = bench.submit()
    bench.env.make_unavailable()
    said = bench.supervise()
    assert said.code == Exit.OK
    assert "cluster c is away" in said.err
    assert bench.view(job).verdict is None
