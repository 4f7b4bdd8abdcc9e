"""An answer that breaks off anywhere says what came of the call, or that this is not known: never anything else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from adapters.slurm.writing.breaking import Act, judgements
from adapters.slurm.writing.fake_many import FIRST, FakeSlurm
from adapters.slurm.writing.test_many_starts import order_of, ref_of, start
from adapters.slurm.writing.verbs import BASE, SOON
from dispatch.adapters.slurm.reading import Ref
from dispatch.adapters.slurm.writing import Writer
from dispatch.adapters.slurm.writing.many import open_many, start_many
from dispatch.model.errors import Conflict, DispatchError, Finished, OutcomeUnknown, Rejected

TOLD_TOGETHER = 10
"""So many starts are read back together."""
ORDERS = [order_of(number) for number in range(12)]
REFS = [ref_of(order, FIRST + at) for at, order in enumerate(ORDERS)]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm(tmp_path)
    monkeypatch.setenv("HOME", str(fake.home))
    monkeypatch.setenv("PATH", f"{fake.bin}:/usr/local/bin:/usr/bin:/bin")
    return fake


def named(came: object) -> object:
    """What came of one, so that two can be compared."""
    return type(came) if isinstance(came, DispatchError) else came


def holds(act: Act, count: int = 1) -> list[object]:
    """See that every beginning of the answer is judged well; what came of each in truth."""
    truth, cuts = judgements(act, count)
    known = 0
    for end, said in cuts:
        for true, one in zip(truth, said, strict=True):
            assert named(one) in (named(true), OutcomeUnknown), f"after …{end!r}: {one!r}"
        known = max(known, sum(not isinstance(one, OutcomeUnknown) for one in said))
    assert known or count < TOLD_TOGETHER  # what was told whole stands
    return truth


async def start_one(writer: Writer) -> Sequence[object]:
    return [await writer.start(order_of(0, output="logs/to/be/made"), SOON)]


async def open_one(writer: Writer) -> Sequence[object]:
    await writer.open(REFS[0], SOON)
    return [None]


async def stop_one(writer: Writer) -> Sequence[object]:
    await writer.stop(REFS[0], SOON)
    return [None]


async def hold_one(writer: Writer) -> Sequence[object]:
    await writer.hold(REFS[0], 3, SOON)
    return [None]


async def release_one(writer: Writer) -> Sequence[object]:
    await writer.release(REFS[0], 3, SOON)
    return [None]


async def start_all(writer: Writer) -> Sequence[object]:
    return await start_many(writer, ORDERS, SOON)


async def open_all(writer: Writer) -> Sequence[object]:
    return await open_many(writer, REFS, SOON)


COMPLAINTS = (
    "sbatch: error: Unable to contact slurm controller (connect failure)",
    "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying",
    "sbatch: error: Batch job submission failed: Invalid partition name specified",
)
"""What is on standard error though sbatch goes on, or is about another controller, proves nothing before its end is told."""


@pytest.mark.parametrize("complaint", ["", *COMPLAINTS])
def test_a_start(slurm: FakeSlurm, complaint: str) -> None:
    slurm.before("sbatch", f"echo '{complaint}' >&2")
    assert holds(start_one) == [REFS[0]]


@pytest.mark.parametrize("act", [open_one, stop_one, hold_one])
def test_a_write_on_an_object(slurm: FakeSlurm, act: Act) -> None:
    start(ORDERS[0])
    assert holds(act) == [None]


def test_a_release(slurm: FakeSlurm) -> None:
    start(ORDERS[0])
    slurm.set(FIRST, StartTime=str(BASE + 3))
    assert holds(release_one) == [None]


@pytest.mark.parametrize("complaint", ["", *COMPLAINTS])
def test_the_starts_of_many(slurm: FakeSlurm, complaint: str) -> None:
    slurm.before("sbatch", f"echo '{complaint}' >&2")
    asked = [order_of(number, output=f"logs/{number}/%n") for number in range(3)]

    async def start_three(writer: Writer) -> Sequence[object]:
        return await start_many(writer, asked, SOON)

    assert holds(start_three, 3) == [ref_of(order, FIRST + at) for at, order in enumerate(asked)]


def test_the_starts_of_more_than_are_read_back_together(slurm: FakeSlurm) -> None:
    assert holds(start_all, 12) == REFS


def test_the_starts_of_many_of_which_some_are_refused(slurm: FakeSlurm) -> None:
    slurm.before(
        "sbatch",
        'if [ "$at" -eq 3 ]; then echo "sbatch: error: Batch job submission failed: Invalid partition name specified" >&2; exit 1; fi',
    )
    slurm.plugin(f"[ $id -ne {FIRST + 4} ] || set_field $id Priority 1")
    kinds = [type(one) for one in holds(start_all, 12)]
    assert kinds == [Ref, Ref, Rejected, Ref, Ref, Rejected, *[Ref] * 6]


def test_the_opens_of_many(slurm: FakeSlurm) -> None:
    start(*ORDERS)
    slurm.set(FIRST + 1, JobState="FAILED")
    slurm.set(FIRST + 2, Reason="JobHeldAdmin")
    kinds = [type(one) for one in holds(open_all, 12)]
    nothing = type(None)
    assert kinds == [nothing, Finished, Conflict, *[nothing] * 9]
