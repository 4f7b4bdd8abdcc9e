"""What goes wrong: one message, one exit code, and no traceback, in words and in JSON."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from cli.bench import Bench, run
from dispatch.cli.exits import KINDS, MEANINGS, Exit
from dispatch.cli.failures import report
from dispatch.model import errors
from dispatch.model.errors import DispatchError, Fault, Invalid, Refused, Unavailable


def kinds() -> set[str]:
    """Every kind of error that dispatch knows."""
    classes = [
        item
        for item in vars(errors).values()
        if isinstance(item, type) and issubclass(item, DispatchError)
    ]
    return {item.kind for item in classes if item is not DispatchError}


def test_every_kind_of_error_has_an_exit_code() -> None:
    assert set(KINDS) == kinds()
    assert set(MEANINGS) == set(Exit)


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (Invalid("Wrong."), 2, "Invalid"),
        (Refused("No."), 3, "Refused"),
        (errors.Conflict("Held."), 3, "Conflict"),
        (errors.NotFound("Away."), 4, "NotFound"),
        (Unavailable("Gone."), 5, "Unavailable"),
        (errors.OutcomeUnknown("?"), 5, "OutcomeUnknown"),
        (errors.StoreError("Full."), 6, "Records"),
        (errors.NewerSchema("New."), 6, "NewerSchema"),
        (KeyboardInterrupt(), 130, "Interrupted"),
        (RuntimeError("bug"), 70, "Internal"),
        (
            ExceptionGroup("tasks", [ExceptionGroup("more", [Unavailable("Gone.")])]),
            5,
            "Unavailable",
        ),
    ],
)
def test_an_error_is_a_document_and_a_code(
    error: BaseException, code: int, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(error, as_json=True) == code
    document = json.loads(capsys.readouterr().err)
    assert document["schemaVersion"] == 1
    assert document["error"]["kind"] == kind
    assert document["error"]["what"]
    assert report(error, as_json=False) == code
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert told.endswith("\n")


def test_faults_and_reasons_are_told_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    fault = Fault(path="nodes", found="0", allowed="1", line=3)
    report(Invalid("train.yaml has one fault.", faults=(fault,), todo="Correct it."), as_json=False)
    assert capsys.readouterr().err == (
        "error: train.yaml has one fault.\n  line 3, nodes\n      found    0\n      allowed  1\nCorrect it.\n"
    )
    report(Refused("The plan is refused.", reasons=("a", "b")), as_json=False)
    assert capsys.readouterr().err == "error: The plan is refused.\n  - a\n  - b\n"
    report(Invalid("x", faults=(fault,)), as_json=True)
    [told] = json.loads(capsys.readouterr().err)["error"]["faults"]
    assert told == {"path": "nodes", "found": "0", "allowed": "1", "line": 3}


def test_a_fault_of_our_own_is_one_line_unless_more_is_asked_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("dispatch.toml", "")

    def fail(_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("dispatch.cli.commands.status.reading", fail)
    said = bench.run("status")
    assert said.code == Exit.INTERNAL
    assert said.err.startswith("error: dispatch met a fault of its own: RuntimeError: a bug\n")
    assert "DISPATCH_TRACEBACK=1" in said.err
    assert "Traceback" not in said.err
    monkeypatch.setenv("DISPATCH_TRACEBACK", "1")
    assert "Traceback (most recent call last)" in bench.run("status").err


def test_a_fault_within_the_engine_is_logged_without_a_traceback(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.submit()

    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("dispatch.shell.engine.next_step", fail)
    said = bench.run("wait", "train", "--timeout", "1m")
    assert said.code == Exit.TIMED_OUT
    assert "an unforeseen fault [RuntimeError: a bug; DISPATCH_TRACEBACK=1 shows where]" in said.err
    assert "Traceback" not in said.err
    in_json = bench.run("wait", "train", "--timeout", "1m", "--json")
    assert json.loads(in_json.err.splitlines()[0])["log"]["level"] == "error"


# ---------------------------------------------------------------- the command line


@pytest.mark.parametrize(
    "words",
    [
        ("sumbit",),
        ("status", "--sate", "x"),
        ("show",),
        ("show", "a", "b"),
        ("--jsn",),
        ("wait", "x", "--timeout", "1 h"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(words: tuple[str, ...], bench: Bench) -> None:
    said = bench.run(*words)
    assert said.code == Exit.USAGE
    assert said.err.splitlines()[-1].startswith("See `dispatch")
    assert bench.run(*words, "--json").error["kind"] == "Usage"


def test_an_unknown_command_suggests_the_nearest() -> None:
    assert "Did you mean submit?" in run("sumbit").err


def test_no_command_and_help_tell_what_there_is() -> None:
    assert run("--help").code == Exit.OK
    assert "supervise" in run("--help").out
    said = run()
    assert "supervise" in said.out + said.err


# ---------------------------------------------------------------- configuration and records


def test_a_wrong_configuration_is_told_with_its_file(bench: Bench) -> None:
    bench.write("dispatch.toml", '[clusters.c]\nadaptor = "memory"\n')
    said = bench.run("submit", "train.yaml", "--json")
    assert (said.code, said.error["kind"]) == (Exit.USAGE, "Invalid")
    assert [fault["path"] for fault in said.error["faults"]] == [
        "dispatch.toml: clusters.c.adaptor",
        "dispatch.toml: clusters.c.adapter",
    ]


def test_an_unreadable_configuration_is_told(bench: Bench) -> None:
    (bench.place / "dispatch.toml").unlink()
    (bench.place / "dispatch.toml").mkdir()
    assert "is a directory" in bench.run("submit", "train.yaml").err
    said = bench.run("submit", "train.yaml", "--config", "away.toml", "--json")
    assert (said.code, said.error["kind"]) == (Exit.NOT_FOUND, "NotFound")


def test_no_configuration_says_how_to_make_one(bench: Bench) -> None:
    (bench.place / "dispatch.toml").unlink()
    said = bench.run("submit", "train.yaml")
    assert said.code == Exit.USAGE
    assert "[clusters.NAME]" in said.err


def test_records_named_on_the_command_line_need_no_configuration(bench: Bench) -> None:
    bench.write("dispatch.toml", "wrong")
    assert bench.run("status", "--records", "r.db").code == Exit.OK
    assert bench.run("status").code == Exit.USAGE


@pytest.mark.parametrize("words", [("status",), ("submit", "train.yaml"), ("supervise", "--once")])
def test_records_of_a_newer_dispatch_are_left_alone(words: tuple[str, ...], bench: Bench) -> None:
    bench.submit()
    with sqlite3.connect(bench.records) as raw:
        raw.execute("PRAGMA user_version = 999")
    raw.close()
    said = bench.run(*words, "--json")
    assert (said.code, said.error["kind"]) == (Exit.RECORDS, "NewerSchema")


def test_records_that_are_none_are_told(bench: Bench) -> None:
    bench.records.write_text(
        "not a database, but a text that is long enough to be taken for one" * 100
    )
    bench.records.chmod(0o600)
    said = bench.run("status", "--json")
    assert (said.code, said.error["kind"]) == (Exit.RECORDS, "Records")


def test_records_that_others_may_write_are_refused(bench: Bench) -> None:
    bench.submit()
    bench.records.chmod(0o666)
    said = bench.run("submit", "train.yaml", "--json")
    assert said.code == Exit.RECORDS
    assert "chmod 600" in said.error["todo"]


def test_records_where_no_directory_can_be_are_told(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = bench.run("submit", "train.yaml", "--records", str(tmp_path / "file" / "r.db"), "--json")
    assert (said.code, said.error["kind"]) == (Exit.RECORDS, "Records")
