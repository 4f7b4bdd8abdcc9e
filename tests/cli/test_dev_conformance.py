"""``dispatch dev conformance``: a table, JSON, a list that opens nothing, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.bench import run
from conformance.breaking import Breakable, verdict
from dispatch.cli.exits import Exit
from dispatch.conformance import BACKEND, CORE, STORE, harnesses
from dispatch.conformance.memory import MemoryHarness
from dispatch.model.status import Observation, State


class Doubtful(Breakable):
    def show(self, seen: Observation) -> Observation:
        return verdict(seen, proven=False) if seen.state is State.SUCCEEDED else seen


def test_a_sound_adapter_gives_a_table_and_no_error() -> None:
    said = run("dev", "conformance", "--adapter", "memory")
    assert said.code == Exit.OK
    heading, *rows = said.out.splitlines()
    assert heading.split() == ["RULE", "VERDICT", "REASON"]
    assert len(rows) == len(BACKEND) + 2
    assert "0 failed" in rows[-1]


def test_the_verdicts_are_given_in_json_with_a_reason_for_each_skip() -> None:
    said = run("dev", "conformance", "--adapter", "memory", "--json")
    checks = json.loads(said.out)["checks"]
    assert len(checks) == len(BACKEND)
    assert all(set(check) == {"name", "verdict", "reason"} for check in checks)
    assert all(check["reason"] for check in checks if check["verdict"] == "skipped")


def test_a_broken_adapter_gives_the_code_1_and_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubtful(settings: dict[str, Any]) -> MemoryHarness:
        return MemoryHarness(Doubtful, **settings)

    ours = {"memory": doubtful}
    monkeypatch.setattr(harnesses, "OURS", ours)
    said = run("dev", "conformance", "--adapter", "memory")
    assert said.code == Exit.ENDED_OTHERWISE
    (row,) = [line for line in said.out.splitlines() if " failed " in line and "RULE" not in line]
    assert row.startswith("an exit with zero is a success")
    assert row.endswith("the cause is not proven")


def test_a_list_names_each_rule_and_opens_nothing(tmp_path: Path) -> None:
    said = run("dev", "conformance", "--adapter", "slurm", "--list")
    assert said.code == Exit.OK
    assert len(said.out.splitlines()) == len(BACKEND) + 1


@pytest.mark.parametrize("adapter", ["memory", "slurm"])
def test_a_list_still_reads_the_settings_strictly(tmp_path: Path, adapter: str) -> None:
    place = tmp_path / "settings.json"
    place.write_text('{"nosuch": 1}')
    said = run("dev", "conformance", "--adapter", adapter, "--list", "--settings", str(place))
    assert said.code == Exit.USAGE
    assert "nosuch" in said.err


@pytest.mark.parametrize("text", ["[]", "{", "{} {}"])
def test_settings_that_are_no_object_are_refused(tmp_path: Path, text: str) -> None:
    place = tmp_path / "settings.json"
    place.write_text(text)
    said = run("dev", "conformance", "--adapter", "memory", "--settings", str(place))
    assert said.code == Exit.USAGE


def test_an_adapter_that_is_not_there_is_refused() -> None:
    said = run("dev", "conformance", "--adapter", "nosuch")
    assert said.code == Exit.USAGE
    assert "memory" in said.err


@pytest.mark.parametrize("store", ["sqlite", "directory"])
def test_the_store_suite_runs_on_each_store(store: str) -> None:
    said = run("dev", "conformance", "--suite", "store", "--adapter", store, "--json")
    assert said.code == Exit.OK
    checks = json.loads(said.out)["checks"]
    assert len(checks) == len(STORE)
    assert {check["verdict"] for check in checks} == {"passed"}


def test_a_store_that_is_not_there_is_refused() -> None:
    said = run("dev", "conformance", "--suite", "store", "--adapter", "memory", "--list")
    assert said.code == Exit.USAGE
    assert "sqlite, directory" in said.err


def test_the_core_suite_runs_on_an_adapter() -> None:
    said = run("dev", "conformance", "--suite", "core", "--adapter", "memory", "--json")
    assert said.code == Exit.OK
    assert len(json.loads(said.out)["checks"]) == len(CORE)
