"""Listing and showing: from the records alone."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from cli.bench import JOB, Bench
from dispatch.cli.exits import Exit
from dispatch.cli.session import FRESH
from dispatch.shell import supervisor
from dispatch.spi.store import Heartbeat
from dispatch.stores.sqlite import SqliteStore


def names(bench: Bench, *words: str) -> list[str]:
    said = bench.run("status", "--json", *words)
    assert said.code == Exit.OK, said
    return [job["name"] for job in said.documents[0]["jobs"]]


def job_text(name: str, **labels: str) -> str:
    return f"name: {name}\ncommand: [x]\nlabels: {json.dumps(labels)}\n"


@pytest.fixture
def three(bench: Bench) -> Bench:
    """Three jobs: a pends, b runs, c has failed; the newest is c."""
    bench.submit(text=job_text("a", team="nlp"))
    bench.clock.advance(timedelta(hours=1))
    bench.submit(text=job_text("b", team="nlp", run="17"))
    bench.clock.advance(timedelta(hours=1))
    job = bench.submit(text=job_text("c", team="vision"))
    bench.env.run(job)
    bench.env.finish(job, 3)
    bench.env.run(bench.run("status", "--json", "--name", "b").documents[0]["jobs"][0]["id"])
    assert bench.supervise().code == Exit.OK
    return bench


def test_no_records_are_no_jobs_and_none_are_made(bench: Bench) -> None:
    said = bench.run("status")
    assert (said.code, said.out) == (
        Exit.OK,
        "No unfinished job matches; --all lists those that have ended too.\n",
    )
    assert not bench.records.exists()


def test_unfinished_jobs_are_listed_newest_first(three: Bench) -> None:
    assert names(three) == ["b", "a"]
    assert names(three, "--all") == ["c", "b", "a"]
    lines = three.run("status", "--all").out.splitlines()
    assert lines[0].split() == ["JOB", "NAME", "STATE", "CAUSE", "N", "AGE", "WHY"]
    assert [line.split()[1:4] for line in lines[1:]] == [
        ["c", "Failed", "NonZeroExit"],
        ["b", "Running", "-"],
        ["a", "Pending", "-"],
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--state", "Running"), ["b"]),
        (("--state", "running", "--state", "Pending"), ["b", "a"]),
        (("--state", "Failed"), ["c"]),
        (("--cause", "NonZeroExit", "--all"), ["c"]),
        (("--label", "team=nlp"), ["b", "a"]),
        (("--label", "team=nlp", "--label", "run=17"), ["b"]),
        (("--name", "a"), ["a"]),
        (("--cluster", "c"), ["b", "a"]),
        (("--cluster", "d"), []),
        (("--user", "nobody-else"), []),
        (("--since", "90m"), ["b"]),
        (("--since", "2000-01-01"), ["b", "a"]),
        (("--since", "2999-01-01T00:00:00+02:00"), []),
        (("--limit", "1"), ["b"]),
    ],
)
def test_the_list_is_narrowed(words: tuple[str, ...], expected: list[str], three: Bench) -> None:
    assert names(three, *words) == expected


def test_what_is_cut_off_is_said(three: Bench) -> None:
    assert three.run("status", "--limit", "1", "--json").documents[0]["more"] is True
    assert three.run("status", "--limit", "2", "--json").documents[0]["more"] is False
    assert "more than 1; --limit" in three.run("status", "--limit", "1").err


@pytest.mark.parametrize(
    "words",
    [
        ("--state", "Runing"),
        ("--cause", "x"),
        ("--label", "team"),
        ("--since", "yesterday"),
        ("--limit", "0"),
        ("x",),
    ],
)
def test_a_wrong_filter_is_a_usage_error(words: tuple[str, ...], bench: Bench) -> None:
    said = bench.run("status", *words, "--json")
    assert (said.code, said.error["kind"]) == (Exit.USAGE, "Usage")


def test_a_document_has_every_field(three: Bench) -> None:
    [job] = three.run("status", "--name", "a", "--json").documents[0]["jobs"]
    assert list(job) == [
        "id", "name", "key", "cluster", "user", "labels", "state", "cause", "finished", "why", "submission", "version",
        "acceptedAt", "updatedAt", "due",
    ]  # fmt: skip


# ---------------------------------------------------------------- supervisors


def test_what_counts_as_a_supervisor_at_work_is_what_the_shell_says() -> None:
    assert FRESH == supervisor.FRESH


def test_a_cluster_that_no_supervisor_reaches_is_said_and_nothing_is_concluded(
    three: Bench,
) -> None:
    line = "c is away since 2026-01-01T00:00:00Z: no controller."
    store = SqliteStore.open(three.records, now=three.clock.now())
    now = three.clock.now()
    store.beat(Heartbeat(id="s", host="h", pid=1, version="1", seen=now, clusters=(line,)))
    store.close()
    said = three.run("status")
    assert line in said.err
    assert "as they were then" in said.err
    assert line in three.run("show", "a").err
    assert three.run("status", "--json").documents[0]["supervisors"][0]["away"] == [line]


def test_objects_whose_jobs_the_records_do_not_know_are_said_as_such(three: Bench) -> None:
    line = (
        "c has 1 objects of these records whose jobs they do not know, so they are left alone: 7."
    )
    store = SqliteStore.open(three.records, now=three.clock.now())
    now = three.clock.now()
    store.beat(Heartbeat(id="s", host="h", pid=1, version="1", seen=now, clusters=(line,)))
    store.close()
    said = three.run("status")
    assert line in said.err
    assert "as they were then" not in said.err
    (told,) = three.run("status", "--json").documents[0]["supervisors"]
    assert told["strays"] == [line]
    assert told["away"] == []


def test_nobody_supervising_is_said_once_it_matters(three: Bench) -> None:
    assert "dispatch supervise" in three.run("status").err
    assert three.run("status", "--state", "Failed").err == ""
    store = SqliteStore.open(three.records, now=three.clock.now())
    store.beat(Heartbeat(id="s", host="h", pid=1, version="1", seen=three.clock.now()))
    store.close()
    assert three.run("status").err == ""
    [one] = three.run("status", "--json").documents[0]["supervisors"]
    assert one["host"] == "h"
    three.clock.advance(FRESH + timedelta(seconds=1))
    assert "dispatch supervise" in three.run("status").err


# ---------------------------------------------------------------- show


def test_a_job_is_named_by_id_prefix_name_or_key(bench: Bench) -> None:
    job = bench.submit("--key", "k1")
    for name in (job, job.lower(), job[:10], "train", "k1"):
        assert bench.run("show", name, "--json").documents[0]["job"]["id"] == job


def test_an_ambiguous_name_lists_the_candidates(bench: Bench) -> None:
    first, second = bench.submit(), bench.submit()
    said = bench.run("show", "train", "--json")
    assert (said.code, said.error["kind"]) == (Exit.USAGE, "Invalid")
    assert first in said.error["todo"]
    assert second in said.error["todo"]


def test_an_unknown_job_suggests_the_nearest(bench: Bench) -> None:
    bench.submit()
    said = bench.run("show", "trian", "--json")
    assert (said.code, said.error["kind"]) == (Exit.NOT_FOUND, "NotFound")
    assert said.error["todo"] == "Did you mean train?"
    assert "status --all" in bench.run("show", "01ABC").err


def test_show_tells_where_why_and_the_whole_history(three: Bench) -> None:
    said = three.run("show", "c")
    assert said.code == Exit.OK
    assert "Failed: NonZeroExit (exit code 3" in said.out
    assert "about to start submission 1" in said.out
    assert "· queue says exit_code=3:0" in said.out
    assert "the job ended: Failed, NonZeroExit" in said.out.splitlines()[-1]
    document = three.run("show", "c", "--json").documents[0]
    assert document["verdict"]["cause"] == "NonZeroExit"
    assert [entry["version"] for entry in document["history"]] == list(
        range(1, len(document["history"]) + 1)
    )
    assert all(entry["text"] for entry in document["history"])


def test_why_tells_only_that_and_the_newest_evidence(three: Bench) -> None:
    lines = three.run("show", "b", "--why").out.splitlines()
    assert lines[1] == "Running: running on n1"
    assert "about to start" not in "".join(lines)
    assert any("job_state=RUNNING" in line for line in lines)


def test_the_spec_of_a_job_can_be_submitted_again(bench: Bench) -> None:
    bench.submit(text=JOB + "recovery: spot\n")
    spec = bench.run("show", "train", "--spec").out
    bench.write("again.json", spec)
    assert bench.run("submit", "again.json", "--json").code == Exit.OK
    documents = [bench.run("show", job, "--json").documents[0]["spec"] for job in jobs(bench)]
    assert documents[0] == documents[1]
    assert (
        bench.run("show", jobs(bench)[0], "--spec", "--json").documents[0]["spec"] == documents[0]
    )


def jobs(bench: Bench) -> list[str]:
    return [job["id"] for job in bench.run("status", "--json").documents[0]["jobs"]]


def test_control_characters_reach_no_terminal(bench: Bench) -> None:
    job = bench.submit(text='name: a\ncommand: ["\\e[31m", "a\\nb"]\n')
    said = bench.run("show", job)
    assert "\x1b" not in said.out
    assert "\\x1b[31m a\\nb" in said.out
