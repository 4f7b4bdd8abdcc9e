"""``dispatch simulate``: from the command line to tables, JSON, a picture and a page; every wrong word has its answer."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest

from cli.bench import Bench, Said, run
from dispatch.cli.exits import Exit
from dispatch.cli.simulated import Progress

JOB = """
name: sft
command: [python, train.py]
nodes: 8
recovery:
  rules:
    - {when: [Preempted], do: resubmit}
    - {when: [NodeLost], do: resubmit, limit: 3}
  limits: {total: 900}
"""
SPOT = """
[policies.patient.limits]
total = 900
[[policies.patient.rules]]
when = ["Preempted", "NodeLost"]
do = "resubmit"
[policies.hasty.limits]
total = 5
[[policies.hasty.rules]]
when = ["Preempted", "NodeLost"]
do = "resubmit"
"""
WEATHER = ("--node-mtbf", "30d", "--preempt-every", "6h", "--days", "10", "--seeds", "5")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a job and named policies; no cluster is configured."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "dispatch.toml").write_text(SPOT)
    return tmp_path


def simulate(*words: str) -> Said:
    return run("simulate", "job.yaml", *words)


@pytest.mark.usefixtures("place")
def test_the_tables_tell_what_came_of_it_and_why() -> None:
    said = simulate(*WEATHER)
    assert said.code == Exit.OK
    for words in (
        "5 seeds, 8 nodes", "effective training time ratio", "work lost, done again", "What each rule did",
        "limits.total", "the best interval between checkpoints", "NodeLost: once in 30d of each node",
    ):  # fmt: skip
        assert words in said.out
    assert not said.err


@pytest.mark.usefixtures("place")
def test_the_same_seeds_give_the_same_answer_to_the_letter() -> None:
    assert simulate(*WEATHER).out == simulate(*WEATHER).out
    assert simulate(*WEATHER, "--json").out == simulate(*WEATHER, "--json").out
    assert simulate(*WEATHER).out != simulate(*WEATHER, "--seed", "9").out


@pytest.mark.usefixtures("place")
def test_json_has_every_figure() -> None:
    [document] = simulate(*WEATHER, "--json").documents
    [told] = document["policies"]
    assert document["schemaVersion"] == 1
    assert set(told) == {
        "name", "job", "conditions", "seeds", "effectiveTrainingTimeRatio", "executions", "hours", "nodeHours",
        "causes", "rules", "budgets", "endings", "advice",
    }  # fmt: skip
    assert told["seeds"] == sum(row["seeds"] for row in told["endings"]) == 5
    assert sum(told["hours"].values()) == pytest.approx(240)
    assert told["rules"][1]["limit"] == "3"


@pytest.mark.usefixtures("place")
def test_two_policies_stand_side_by_side() -> None:
    said = simulate(*WEATHER, "--policy", "patient", "--policy", "hasty")
    assert re.search(r"patient +hasty", said.out)
    assert "hasty: given up in 5 of 5 seeds" in said.out
    assert "limits.total of 5 is used up" in said.out


def test_two_files_stand_side_by_side_by_their_names(place: Path) -> None:
    (place / "other.yaml").write_text(JOB.replace("limit: 3", "limit: 99"))
    said = run("simulate", "job.yaml", "other.yaml", *WEATHER)
    assert re.search(r"job.yaml +other.yaml", said.out)
    said = run("simulate", "job.yaml", "other.yaml", *WEATHER, "--policy", "hasty", "--nodes", "2")
    assert re.search(r"job.yaml: hasty +other.yaml: hasty", said.out)


def test_a_picture_and_a_page_are_written(place: Path) -> None:
    said = simulate(*WEATHER, "--svg", "a.svg", "--html", "a.html")
    assert said.code == Exit.OK
    assert (place / "a.svg").read_text().startswith("<svg ")
    assert (place / "a.html").read_text().startswith("<!doctype html>")
    assert "written: a.svg" in said.err


def test_a_place_where_nothing_can_be_written_is_refused_before_the_work(place: Path) -> None:
    said = simulate(*WEATHER, "--svg", "no/where.svg")
    assert said.code == Exit.USAGE
    assert said.out == ""
    assert not list(place.glob("no*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
@pytest.mark.usefixtures("place")
def test_a_disk_that_is_full_takes_nothing_of_what_was_told() -> None:
    said = simulate(*WEATHER, "--html", "/dev/full")
    assert said.code == Exit.USAGE
    assert "What each rule did" in said.out
    assert "No space left" in said.err


def test_a_history_without_a_failure_is_told_by_its_name(place: Path) -> None:
    rows = "JobID|State|Start|End|NNodes\n1|COMPLETED|2026-01-01T00:00:00|2026-01-02T00:00:00|8\n"
    (place / "past").write_text(rows)
    said = simulate("--history", "past")
    assert said.code == Exit.USAGE
    assert "past tells of no failure" in said.err


@pytest.mark.usefixtures("place")
def test_partitions_have_failures_and_queues_of_their_own() -> None:
    said = simulate(
        *WEATHER,
        "--preempt-every",
        "spot=never",
        "--queue-wait",
        "spot=exp:3h",
        "--queue-wait",
        "5m",
    )
    assert said.code == Exit.OK
    assert "in the queue of partition spot: exp:3h before each start" in said.out


@pytest.mark.usefixtures("place")
def test_the_conditions_tell_all_that_was_said() -> None:
    said = simulate(
        "--program-mtbf", "2d", "--program-exit-code", "75", "--days", "2", "--seeds", "2", "--checkpoint-every", "never",
        "--saves-when-preempted", "--exit-on-signal", "75", "--person-after", "8h", "--queue-wait", "exp:5m",
    )  # fmt: skip
    for words in (
        "NonZeroExit 75: once in 2d, at random", "the program never saves", "it saves when it is preempted",
        "exits 75", "a hold is released after 8h", "in the queue: exp:5m before each start",
    ):  # fmt: skip
        assert words in said.out


def test_a_history_is_told_with_what_was_left_out_of_it(place: Path) -> None:
    day = "2026-01-0{}T00:00:00"
    rows = [
        f"{n}|{state}|{day.format(n)}|{day.format(n)}|{day.format(n + 1)}|8|0:0"
        for n, state in enumerate(("NODE_FAIL", "PREEMPTED", "RUNNING", "TIMEOUT"), 1)
    ]
    (place / "past").write_text("\n".join(["JobID|State|Submit|Start|End|NNodes|ExitCode", *rows]))
    said = simulate("--history", "past", "--days", "9", "--seeds", "3")
    assert "1 that never started or have not ended are left out" in said.err
    assert "NodeLost: 1 in the history (too few to rely on), once in 24d of each node" in said.out
    assert "Preempted: 1 in the history (too few to rely on), once in 3d" in said.out
    said = simulate(
        "--history",
        "past",
        "--days",
        "9",
        "--seeds",
        "3",
        "--node-mtbf",
        "never",
        "--preempt-every",
        "7d",
    )
    assert "NodeLost" not in said.out.partition("What came of it")[0]
    assert "Preempted: once in 7d, at random" in said.out


@pytest.mark.usefixtures("place")
def test_a_job_of_so_much_work_finishes() -> None:
    [document] = simulate(
        "--program-mtbf", "300d", "--work", "2d", "--seeds", "3", "--json"
    ).documents
    [told] = document["policies"]
    assert told["conditions"]["horizon"] == "40d"
    assert [row["outcome"] for row in told["endings"]] == ["finished"]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], Exit.USAGE, "Nothing is said to go wrong"),
        (["--node-mtbf", "never"], Exit.USAGE, "Nothing is said to go wrong"),
        (["--node-mtbf", "soon"], Exit.USAGE, "a duration such as 90s"),
        (["--node-mtbf", "0s"], Exit.USAGE, "above 0s"),
        (["--node-mtbf", "9999d"], Exit.USAGE, "more than 3650d"),
        (["--preempt-every", "=6h"], Exit.USAGE, "names no partition"),
        (["--preempt-every", "spot=often"], Exit.USAGE, "a duration such as 90s"),
        (["--queue-wait", "exp:"], Exit.USAGE, "a duration such as 90s"),
        (["--repair-time", "-1h"], Exit.USAGE, "a duration such as 90s"),
        (["--checkpoint-every", "0s", *WEATHER], Exit.USAGE, "above 0s"),
        (["--work", "0s", *WEATHER], Exit.USAGE, "--work must be above 0s"),
        (["--days", "0"], Exit.USAGE, "'--days': '0' is no whole number from 1 to 3650"),
        (["--seeds", "1.5"], Exit.USAGE, "'--seeds': '1.5' is no whole number from 1 to 100000"),
        (["--nodes", "many"], Exit.USAGE, "'--nodes': 'many' is no whole number"),
        (["--spares", "9" * 5000], Exit.USAGE, "is no whole number"),
        (["--exit-on-signal", "0"], Exit.USAGE, "--exit-on-signal"),
        (["--history", "missing"], Exit.NOT_FOUND, "There is no file missing"),
        (["--history", "job.yaml"], Exit.USAGE, "sacct"),
        (["--policy", "nobody", *WEATHER], Exit.NOT_FOUND, "There is no policy 'nobody' (known: hasty, patient"),
        (["--policy", "a", "--policy", "b", "--policy", "c", "--policy", "d", "--policy", "e"], Exit.USAGE, "At most 4"),
        (["--svg", "no/where.svg", *WEATHER], Exit.USAGE, "--svg: no/where.svg cannot be written: there is no directory no"),
        (["--html", ".", *WEATHER], Exit.USAGE, "--html: . cannot be written: it is a directory"),
    ],
)  # fmt: skip
def test_a_wrong_word_has_its_answer(words: list[str], code: Exit, told: str) -> None:
    said = simulate(*words)
    assert said.code == code
    assert told in said.err
    assert "Traceback" not in said.err


def test_a_wrong_job_is_told_with_its_path(place: Path) -> None:
    (place / "job.yaml").write_text(JOB.replace("limit: 3", "limit: three"))
    assert "recovery.rules[1].limit" in simulate(*WEATHER).err


def test_a_policy_that_cannot_be_carried_out_is_refused(place: Path) -> None:
    (place / "job.yaml").write_text(JOB.replace("do: resubmit, limit: 3", "do: restart"))
    said = simulate(*WEATHER)
    assert said.code == Exit.REFUSED
    assert "recovery.rules[1]" in said.err


def test_our_own_records_are_a_history(bench: Bench) -> None:
    job = bench.submit(text=JOB)
    for _ in range(3):
        bench.supervise()
        bench.env.run(job)
        bench.clock.advance(timedelta(hours=2))
        bench.preempt()
    bench.supervise()
    bench.write("job.yaml", JOB)
    bench.write("shown.json", bench.run("show", "sft", "--json").out)
    for history in ("records.db", "shown.json"):
        said = simulate("--history", history, "--seeds", "3", "--days", "5")
        assert said.code == Exit.OK, said.err
        assert re.search(r"Preempted: \d in the history .too few to rely on., once in 2h", said.out)


class Terminal(StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_shown_a_bar_over_all_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with Progress(2, 10) as progress:
        progress.tell(4, 12.0)
        progress.next_policy()
        assert "50%" in terminal.getvalue()
        progress.next_policy()
    assert "100%" in terminal.getvalue()


def test_where_there_is_no_terminal_one_line_says_how_long_it_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Progress(3, 10) as progress:
        progress.tell(1, 61.0)
        progress.tell(2, 50.0)
        progress.next_policy()
    assert capsys.readouterr().err == "simulating …, about 3m3s\n"


def test_ctrl_c_ends_all_processes_at_once_with_a_word(place: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "dispatch.cli.main",
        "simulate",
        "job.yaml",
        *WEATHER[:4],
        "--seeds",
        "9999",
    ]
    with subprocess.Popen(
        words, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert "simulating" in process.stderr.readline()
        os.killpg(process.pid, signal.SIGINT)
        assert "interrupted" in process.stderr.read()
        assert process.wait() == Exit.INTERRUPTED
