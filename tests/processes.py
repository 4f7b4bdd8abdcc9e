"""The command as a process of its own, in a directory with a configuration; what it says is held to the rules for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from dispatch.cli.exits import Exit
from dispatch.model.base import EARLIEST
from dispatch.spi.store import Query
from dispatch.stores.sqlite import SqliteStore

DISPATCH = (sys.executable, "-m", "dispatch")


@dataclass(frozen=True)
class Said:
    """What a command has said, and its exit code."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def error(self) -> dict[str, Any]:
        """The error on standard error, which is JSON Lines."""
        documents = [json.loads(line) for line in self.err.splitlines()]
        [error] = [document["error"] for document in documents if "error" in document]
        return cast("dict[str, Any]", error)

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The JSON documents on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


class Place:
    """A directory in which a person works: its configuration, job files and records."""

    def __init__(self, directory: Path, config: str) -> None:
        self.directory = directory
        self.config = directory / "dispatch.toml"
        self.config.write_text(config)
        self.records = directory / "records.db"

    def env(self, **changes: str | None) -> dict[str, str]:
        """The environment of a command, with changes; ``None`` takes a variable away."""
        env: dict[str, str | None] = {
            **os.environ,
            "DISPATCH_RECORDS": str(self.records),
            **changes,
        }
        return {name: value for name, value in env.items() if value is not None}

    def write(self, name: str, content: str | bytes | Mapping[str, Any]) -> str:
        """Write a file, and return its name."""
        if isinstance(content, Mapping):
            content = json.dumps(content)
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        (self.directory / name).write_bytes(data)
        return name

    def run(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        through: Sequence[str] = (),
        python: Sequence[str] = DISPATCH[1:],
        timeout: float = 120,
    ) -> Said:
        """Run the command to its end, through another command where one is given."""
        done = subprocess.run(
            [*through, sys.executable, *python, *words],
            cwd=self.directory,
            env=env or self.env(),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )
        said = Said(words, done.returncode, done.stdout.decode(), done.stderr.decode())
        check_manners(said)
        return said

    def kept(self) -> dict[str, int]:
        """Every job in the records with its version, read without the command."""
        if not self.records.exists():
            return {}
        store = SqliteStore.open(self.records, now=EARLIEST, read_only=True)
        try:
            return {job.id: job.version for job in store.list(Query(limit=1000))}
        finally:
            store.close()

    def jobs(self, *words: str) -> list[dict[str, Any]]:
        """Every job, as `status --all --json` lists it."""
        said = self.run("status", "--all", "--json", "--limit", "1000", *words)
        assert said.code == 0, said
        [document] = said.documents
        return cast("list[dict[str, Any]]", document["jobs"])


def check_manners(said: Said) -> None:
    """No traceback ever; no control character on a terminal; an error says what and what to do, on standard error."""
    both = said.out + said.err
    assert "Traceback (most recent call last)" not in both, said
    strange = {letter for letter in both if not letter.isprintable() and letter != "\n"}
    assert not strange or said.words[0] == "logs", f"{strange} in {said}"
    if "--json" in said.words:
        for line in (said.out + said.err).splitlines():
            assert json.loads(line)["schemaVersion"] == 1, said


CONFIG = """
defaultCluster = "c"
[clusters.c]
adapter = "memory"
[clusters.away]
adapter = "slurm"
settings = { transport = { through = ["/nowhere/at/all/wrapper"] } }
[clusters.no-slurm]
adapter = "slurm"
settings = { transport = { through = ["env", "PATH=/usr/bin:/bin"] } }
"""
RIGHT = "name: right\ncommand: [x]\n"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")


def check_refused(
    place: Place, *words: str, code: Exit, kind: str, says: tuple[str, ...], afterwards: bool = True
) -> Said:
    """It is refused in words and in JSON, leaves the records as they are, and a right command works afterwards."""
    before = place.kept()
    told = place.run(*words)
    assert told.code == code, told
    assert told.out == "", told
    for word in says:
        assert word in told.err, told
    in_json = place.run(*words, "--json")
    assert (in_json.code, in_json.error["kind"]) == (code, kind), in_json
    assert in_json.error["what"]
    assert in_json.error["todo"] or in_json.error.get("faults") or in_json.error.get("reasons")
    assert place.kept() == before
    if afterwards:
        works(place)
    return told


def works(place: Place) -> None:
    """A right command does what it is asked."""
    count = len(place.kept())
    said = place.run("submit", place.write("right.yaml", RIGHT))
    assert said.code == Exit.OK, said
    assert len(place.kept()) == count + 1


@contextmanager
def open_place() -> Generator[Place]:
    """A place that every account may walk to; pytest's own directories are closed to others, and closed again at any time."""
    with tempfile.TemporaryDirectory(prefix="dispatch-open-") as name:
        place = Place(Path(name), CONFIG)
        place.directory.chmod(0o755)
        words = [*NOBODY, *DISPATCH, "version"]
        tried = subprocess.run(words, cwd=name, capture_output=True, text=True, check=False)
        if tried.returncode:
            pytest.skip(f"another account cannot run dispatch here: {tried.stderr.strip()[-200:]}")
        yield place
