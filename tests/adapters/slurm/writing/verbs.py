"""The verbs of a writer on stand-ins for Slurm's commands, about one object."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from dispatch.adapters.slurm.reading import Ref
from dispatch.adapters.slurm.writing import Writer
from dispatch.model.job import Job
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import CallMeta, StartOrder
from dispatch.transports import LocalTransport

ULID = "01JDQZ8GV2XK5R7N3M9P4T6W8Y"
BASE = 2_111_581_156
REF = Ref(number=77, job=ULID, submission=1, base=BASE, attempt="tok")
SOON = CallMeta(deadline=datetime.now(UTC) + timedelta(hours=1))
PAST = CallMeta(deadline=datetime.now(UTC) - timedelta(seconds=1))


def writer() -> Writer:
    return Writer(LocalTransport(), bound=Duration(seconds=10), shared="$HOME/runs")


def start(**job: Any) -> Ref:
    job.setdefault("command", ("true",))
    order = StartOrder(
        id=ULID, job=Job(**job), spec_hash="ab" * 32, store="S" * 26, submission=1, attempt="tok", base=BASE,
        exclude=("n7", "n8"),
    )  # fmt: skip
    return asyncio.run(writer().start(order, SOON))


def open_(meta: CallMeta = SOON) -> None:
    asyncio.run(writer().open(REF, meta))


def stop(ref: Ref = REF) -> None:
    asyncio.run(writer().stop(ref, SOON))


def hold(instance: int) -> None:
    asyncio.run(writer().hold(REF, instance, SOON))


def release(instance: int, *, opened: bool = False) -> None:
    asyncio.run(writer().release(REF, instance, replace(SOON, opened=opened)))


def hold_first() -> None:
    hold(1)


def release_first() -> None:
    release(1)
