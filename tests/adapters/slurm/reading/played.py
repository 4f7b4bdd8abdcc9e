"""Slurm's commands, played by small programs on the PATH."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapters.slurm.reading.given import BASE, COMMENT, JOB, Here
from dispatch.adapters.slurm.reading import ReadSettings, read_jobs
from dispatch.model.quantity import Duration
from dispatch.model.status import Observation
from dispatch.spi.adapter import Reading

OTHER = "01JZZZZZZZZZZZZZZZZZZZZZZB"
REF = f"7:{JOB}:1:{BASE}:a1"
SETTINGS = ReadSettings(command_bound=Duration(seconds=2), call_bound=Duration(seconds=30))
DISABLED = "echo 'Slurm accounting storage is disabled' >&2; exit 1"


class Slurm:
    """Programs that play Slurm's commands; each notes its calls and its environment in a file."""

    def __init__(self, bin_: Path) -> None:
        self.bin = bin_
        self.version("26.05.5")
        self.queue([])
        self.play("sacct", DISABLED)
        self.play("scontrol", "echo 'BOOT_TIME               = 1000'")

    def play(self, command: str, body: str) -> None:
        if command == "squeue":
            body = f'case $1 in --version) echo "slurm-wlm {self.release}"; exit ;; esac\n{body}'
        script = (
            f'#!/bin/sh\necho "{command} $*" >>{self.bin}/calls\nenv >>{self.bin}/env\n{body}\n'
        )
        (self.bin / command).write_text(script)
        (self.bin / command).chmod(0o755)

    def version(self, release: str) -> None:
        self.release = release

    def answer(self, command: str, content: str) -> None:
        (self.bin / f"{command}.out").write_text(content)
        self.play(command, f"cat {self.bin}/{command}.out")

    def queue(self, jobs: list[dict[str, Any]]) -> None:
        self.answer("squeue", json.dumps({"jobs": jobs, "errors": []}))

    def accounting(self, jobs: list[dict[str, Any]]) -> None:
        self.answer("sacct", json.dumps({"jobs": jobs, "errors": []}))

    @property
    def calls(self) -> list[str]:
        return (self.bin / "calls").read_text().splitlines()

    @property
    def environment(self) -> str:
        return (self.bin / "env").read_text()


def as_ours(job: dict[str, Any], **said: Any) -> dict[str, Any]:
    """A recorded job under our name and number."""
    comment = {"job": COMMENT} if isinstance(job.get("comment"), dict) else COMMENT
    return job | {"name": f"dj-{JOB}", "job_id": 7, "comment": comment, "submit_line": ""} | said


def read(
    slurm: Slurm, *jobs: str, transport: Here | None = None, known: Sequence[str] = ()
) -> Reading:
    return asyncio.run(read_jobs(transport or Here(slurm.bin), jobs or (JOB,), SETTINGS, known))


def only(reading: Reading) -> Observation:
    assert len(reading.observations) == 1, reading.observations
    return reading.observations[0]
