"""What the reading tests are given: samples of real Slurm, rows made by hand, a transport that runs scripts here."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dispatch.adapters.slurm.reading.classify import classify
from dispatch.adapters.slurm.reading.documents import (
    AccountingRow,
    Exit,
    QueueRow,
    accounting_row,
    queue_row,
    read_document,
    states,
)
from dispatch.adapters.slurm.reading.facts import Facts, Owner
from dispatch.adapters.slurm.reading.key import Ref
from dispatch.adapters.slurm.reading.tickets import Tickets, decode_tickets
from dispatch.model.status import ObjectKey, Observation
from dispatch.spi.transport import Completed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.model.quantity import Duration

SAMPLES = Path(__file__).parent.parent / "samples"

JOB = "01JZZZZZZZZZZZZZZZZZZZZZZA"
STORE = "01JZZZZZZZZZZZZZZZZZZZZZZS"
BASE = 2_111_580_508
BOOT = 1_000
START = 2_000
READ_AT = datetime(2026, 11, 30, tzinfo=UTC)
COMMENT = f"dispatch/1 store={STORE} n=1 a=a1 base={BASE} spec=0011"
REF = Ref(number=7, job=JOB, submission=1, base=BASE, attempt="a1")
KEY = ObjectKey(job=JOB, store=STORE, submission=1, attempt="a1")
ALICE = Owner(user="alice", uid="2001")


def sample(name: str) -> list[dict[str, Any]]:
    """The jobs of a recorded document."""
    return read_document((SAMPLES / f"{name}.json").read_bytes(), name)


def queue_of(name: str) -> list[QueueRow]:
    return [queue_row(job) for job in sample(f"{name}.queue")]


def accounting_of(name: str) -> list[AccountingRow]:
    found = SAMPLES / f"{name}.accounting.json"
    return [accounting_row(job) for job in sample(f"{name}.accounting")] if found.exists() else []


def row(state: str = "RUNNING", **said: Any) -> QueueRow:
    """A queue row of our object, in the state and flags that are named, such as ``PENDING COMPLETING``."""
    fields: dict[str, Any] = {
        "number": 7,
        "name": f"dj-{JOB}",
        "comment": COMMENT,
        "requeue": False,
    }
    ran = not state.startswith("PENDING")
    fields |= {"start": START, "end": START + 60, "nodes": "n[1-2]"} if ran else {}
    fields["states"] = tuple(one for word in state.split() for one in states(word))
    return QueueRow(**fields | said)


def run(state: str, exit_code: int = 0, signal: int = 0, **said: Any) -> AccountingRow:
    """A run of our object as accounting has it."""
    fields: dict[str, Any] = {"number": 7, "name": f"dj-{JOB}", "comment": COMMENT, "restarts": 0}
    fields |= {
        "start": START,
        "end": START + 60,
        "nodes": "n[1-2]",
        "exit": Exit(code=exit_code, signal=signal),
    }
    fields["states"] = tuple(one for word in state.split() for one in states(word))
    return AccountingRow(**fields | said)


def tickets(**files: str) -> Tickets:
    """Tickets of our job: ``start_1000000="jobid=7 attempt=a1"`` is the file 1000000.start with these lines."""
    lines: list[str] = []
    for name, content in files.items():
        kind, _, rest = name.partition("_")
        file = (
            f"{rest}.start"
            if kind == "start"
            else f"{rest}.end"
            if kind == "end"
            else f"{rest}.fenced.7.1"
        )
        lines += [f"./{JOB}/{file}:{line}" for line in content.split(" ")]
    return decode_tickets("\n".join(lines)).get(JOB, Tickets())


STARTED = "epoch=1000000 attempt=a1 jobid=7 node=n1 nodes=n[1-2] restarts=0 started=2000"


def seen(
    queue: QueueRow | None = None,
    *runs: AccountingRow,
    left: Tickets | None = None,
    before: Tickets | None = None,
    boot: int = BOOT,
) -> Observation:
    """Classify what is given of our object."""
    found = classify(facts(queue, *runs, left=left, before=before, boot=boot))
    assert found is not None
    return found


def facts(
    queue: QueueRow | None = None,
    *runs: AccountingRow,
    left: Tickets | None = None,
    before: Tickets | None = None,
    boot: int = BOOT,
) -> Facts:
    return Facts(
        ref=REF, key=KEY, read_at=READ_AT, queue=queue, runs=runs, owner=ALICE, boot=boot,
        tickets=left or Tickets(), tickets_before=before or Tickets(),
    )  # fmt: skip


class Here:
    """A transport that runs scripts on this machine, with a directory in front of the PATH."""

    def __init__(self, bin_: Path | None = None, env: dict[str, str] | None = None) -> None:
        self.path = f"{bin_}:{os.environ['PATH']}" if bin_ else os.environ["PATH"]
        self.env = env or {}
        self.calls = 0

    async def run(
        self, script: str, args: Sequence[str] = (), *, stdin: bytes = b"", timeout: Duration
    ) -> Completed:
        self.calls += 1
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", script, "sh", *args,
            env={"PATH": self.path, "HOME": os.environ["HOME"], **self.env},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(timeout.total_seconds()):
            out, err = await process.communicate(stdin)
        return Completed(returncode=process.returncode or 0, stdout=out, stderr=err)

    async def close(self) -> None:
        pass


def ended(status: int, signal: str = "", more: str = "", *, at: int = START + 40) -> str:
    """Write an end ticket."""
    return f"status={status} signal={signal} ended={at} attempt=a1{more}"
