"""The command line on a cluster in memory: real records, engine and adapter, under a clock that sleeping moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from click.testing import CliRunner

from dispatch.adapters.memory import MemoryBackend, decode_settings
from dispatch.adapters.memory.env import Env
from dispatch.cli import main as entry
from dispatch.cli.exits import Exit
from dispatch.core.folding import fold
from dispatch.model.errors import DispatchError
from dispatch.model.view import JobView
from dispatch.spi.adapter import AdapterConfig
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.clock import ManualClock

CONFIG = """
defaultCluster = "c"
[clusters.c]
adapter = "memory"
[policies.spot]
rules = [{ when = ["Preempted"], do = "resubmit", limit = 3, backoff = { initial = "30s", jitter = 0 } }]
"""
JOB = "name: train\ncommand: [python, train.py]\nnodes: 2\n"


class MovingClock(ManualClock):
    """A clock that sleeping moves, and on which things happen at their times."""

    def __init__(self) -> None:
        super().__init__(datetime.now(UTC))
        self._agenda: list[tuple[datetime, Callable[[], object]]] = []

    def after(self, seconds: float, happens: Callable[[], object]) -> None:
        """Let something happen so much later."""
        self._agenda.append((self.now() + timedelta(seconds=seconds), happens))

    async def sleep_until(self, moment: datetime) -> None:
        """Move on to then, and let happen what lies between."""
        for at, happens in sorted(self._agenda, key=lambda item: item[0]):
            if at <= moment:
                self._agenda.remove((at, happens))
                self.advance_to(max(at, self.now()))
                happens()
        self.advance_to(max(moment, self.now()))
        await asyncio.sleep(0)


class Said(NamedTuple):
    """What a command has said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The JSON documents on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        """The error on standard error, which is JSON Lines."""
        documents = [json.loads(line) for line in self.err.splitlines()]
        [error] = [document["error"] for document in documents if "error" in document]
        return cast("dict[str, Any]", error)


class Bench:
    """A directory with a configuration, a cluster in memory, and the command line."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
        self.place = place
        self.clock = MovingClock()
        decoded = decode_settings({"nodes": 8, "slurmdTimeout": "40s", **settings})
        self.env: Env = MemoryBackend.create(decoded, clock=self.clock, alias="c").env
        self.records = place / "records.db"
        self.refusal: DispatchError | None = None
        self.opened = 0
        monkeypatch.chdir(place)
        monkeypatch.setenv("DISPATCH_RECORDS", str(self.records))
        monkeypatch.setattr("dispatch.shell.clusters.open_backend", self.open)
        monkeypatch.setattr("dispatch.shell.system.SystemClock", lambda: self.clock)
        monkeypatch.setattr("dispatch.cli.session.utc_now", self.clock.now)
        monkeypatch.setattr("dispatch.cli.commands.status.utc_now", self.clock.now)
        (place / "dispatch.toml").write_text(CONFIG)
        (place / "train.yaml").write_text(JOB)

    async def open(self, config: AdapterConfig) -> MemoryBackend:
        """Open the cluster, as the registry would."""
        self.opened += 1
        if self.refusal is not None:
            raise self.refusal
        assert config.alias == "c"
        return self.env.view()

    def write(self, name: str, text: str) -> str:
        """Write a file, and return its name."""
        (self.place / name).write_text(text)
        return name

    def run(self, *words: str, stdin: str | None = None) -> Said:
        """Run a command."""
        return run(*words, stdin=stdin)

    def submit(self, *words: str, text: str = JOB) -> str:
        """Submit a job, and return its id."""
        said = self.run("submit", "-", "--json", *words, stdin=text)
        assert said.code == Exit.OK, said
        return str(said.documents[0]["job"]["id"])

    def supervise(self, *words: str) -> Said:
        """Let a supervisor look at every job once, as cron would a minute later."""
        self.clock.advance(timedelta(minutes=1))
        return self.run("supervise", "--once", *words)

    def finish(self, exit_code: int = 0) -> None:
        """Let the only job that runs end."""
        self.env.finish(self._running(), exit_code)

    def preempt(self) -> None:
        """Take the nodes of the only job that runs."""
        self.env.preempt(self._running())

    def _running(self) -> str:
        [execution] = self.env.live()
        return execution.job

    def view(self, job: str) -> JobView:
        """The job as the records say."""
        store = SqliteStore.open(self.records, now=self.clock.now(), read_only=True)
        try:
            return fold(store.load(job))
        finally:
            store.close()


def run(*words: str, stdin: str | None = None) -> Said:
    """Run the entry point with these words, as the console script does."""
    with CliRunner().isolation(input=stdin) as (out, err, _):
        code = entry.main(words)
        return Said(code, out.getvalue().decode(), err.getvalue().decode())
