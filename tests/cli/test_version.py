"""The version, and what stands in the same environment under the same name."""

from __future__ import annotations

from importlib.metadata import Distribution
from pathlib import Path

import pytest

from cli.bench import Bench
from dispatch.cli.commands.version import clashes


def installed(place: Path, name: str, *files: str, commands: str = "") -> Distribution:
    """Install a distribution as pip leaves it: its metadata, and the list of its files."""
    info = place / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    if commands:
        (info / "entry_points.txt").write_text(f"[console_scripts]\n{commands}\n")
    return Distribution.at(info)


def test_another_package_or_command_of_the_name_is_named(tmp_path: Path) -> None:
    found = [
        installed(tmp_path, "dispatch-jobs", "dispatch/__init__.py", commands="dispatch = d:main"),
        installed(tmp_path, "dispatch-py", "dispatch/__init__.py"),
        installed(tmp_path, "wave-dispatch", "wave/__init__.py", commands="dispatch = w:main"),
        installed(tmp_path, "plum-dispatch", "plum/__init__.py", commands="plum = p:main"),
    ]
    assert clashes(found) == ["dispatch-py", "wave-dispatch"]


def test_a_clash_is_told_with_what_to_do(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = installed(tmp_path, "dispatch-py", "dispatch/__init__.py")
    monkeypatch.setattr("dispatch.cli.commands.version.distributions", lambda: [other])
    said = bench.run("version")
    assert said.code == 0
    assert "dispatch-py" in said.err
    assert "environments of their own" in said.err
    assert bench.run("version", "--json").documents[0]["clashes"] == ["dispatch-py"]
