"""The starts and opens of many jobs in one script do what as many scripts of one do: the same answers, the same jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adapters.slurm.writing.fake_many import FakeSlurm
from adapters.slurm.writing.test_many_starts import order_of, writer
from adapters.slurm.writing.verbs import SOON
from dispatch.adapters.slurm.reading import Ref
from dispatch.adapters.slurm.writing import Writer
from dispatch.adapters.slurm.writing.many import MOST_OF_ONE, open_many, start_many
from dispatch.model.errors import DispatchError, OutcomeUnknown
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import StartOrder
from dispatch.spi.transport import Completed
from dispatch.transports import LocalTransport

SAYS = """
case "$*" in
  *--partition=refused*) echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2; exit 1 ;;
  *--partition=crowded*) echo 'sbatch: error: Slurm temporarily unable to accept job' >&2; exit 1 ;;
  *--partition=dumb*) exit 3 ;;
  *--partition=chatty*) echo 'a banner'; echo 'another' ;;
esac
"""
PLUGIN = """
case "$*" in
  *--partition=freed*) set_field $id Priority 1 ;;
  *--partition=again*) set_field $id Requeue 1 ;;
esac
"""
PARTITIONS = (None, None, "refused", "crowded", "dumb", "chatty", "freed", "again")
TEXTS = (
    "plain",
    "it's $(touch pwned)",
    'a "b" `c`',
    "\\n\\\\ %j \\",
    "žluťoučký ✓",
    "-x",
    "*",
    "a\nb\n\n",
    " ",
)
FIELDS: tuple[dict[str, Any], ...] = (
    {"workdir": "/nowhere", "output": "x"},
    {"output": "logs/%j/it's $(x).out"},
    {"output": "~/y.out"},
    {"env": {"LARGE": "x" * MOST_OF_ONE}},
    {},
)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm(tmp_path)
    monkeypatch.setenv("HOME", str(fake.home))
    monkeypatch.setenv("PATH", f"{fake.bin}:/usr/local/bin:/usr/bin:/bin")
    fake.before("sbatch", SAYS)
    fake.plugin(PLUGIN)
    return fake


def drawn(random: Random, count: int) -> list[StartOrder]:
    return [
        order_of(
            number,
            command=("echo", *random.sample(TEXTS, 3)),
            partition=random.choice(PARTITIONS),
            **random.choice(FIELDS),
        )
        for number in range(count)
    ]


def told(answers: Sequence[object]) -> list[object]:
    """What was answered, but for the numbers of jobs."""
    found: list[object] = []
    for one in answers:
        match one:
            case DispatchError():
                found.append(
                    (type(one), "".join(letter for letter in one.what if not letter.isdigit()))
                )
            case Ref():
                found.append((one.job, one.base, one.attempt))
            case other:
                found.append(other)
    return found


def there(slurm: FakeSlurm) -> dict[str, tuple[str, str]]:
    """What the controller has of each job: its fields but for its number, and its script."""
    found: dict[str, tuple[str, str]] = {}
    for path in (slurm.home / "jobs").iterdir():
        first, _, fields = path.read_text().partition("\n")
        found[first.split("JobName=")[1]] = (
            fields,
            (slurm.home / f"script.{path.name}").read_text(),
        )
    return found


async def alone(act: Any, asked: Sequence[Any]) -> list[object]:
    answers: list[object] = []
    for one in asked:
        try:
            answers.append(await act(one, SOON))
        except DispatchError as error:
            answers.append(error)
    return answers


@pytest.mark.parametrize("number", range(3))
def test_many_are_as_one_after_the_other(slurm: FakeSlurm, seed: int, number: int) -> None:
    orders = drawn(Random(seed * 100 + number), 14)
    by = writer(60)

    def opened(made: Sequence[object]) -> list[Ref]:
        return [one for one in made if isinstance(one, Ref)]

    together = asyncio.run(start_many(by, orders, SOON))
    openings: Sequence[object] = asyncio.run(open_many(by, opened(together), SOON))
    all_of_them = (told(together), told(openings), there(slurm))
    slurm.forget()
    one_by_one = asyncio.run(alone(by.start, orders))
    openings = asyncio.run(alone(by.open, opened(one_by_one)))
    assert (told(one_by_one), told(openings), there(slurm)) == all_of_them
    assert len(opened(together)) >= 1
    assert not list(slurm.home.rglob("pwned"))


class CutOnItsWay(LocalTransport):
    """Brings the scripts but not all that they are to read."""

    async def run(
        self, script: str, args: Sequence[str] = (), *, stdin: bytes = b"", timeout: Duration
    ) -> Completed:
        return await super().run(script, args, stdin=stdin[: len(stdin) // 2], timeout=timeout)


def test_of_a_job_script_that_was_cut_on_its_way_no_job_is_made(slurm: FakeSlurm) -> None:
    by = Writer(CutOnItsWay(), bound=Duration(seconds=60), shared="$HOME/runs")
    orders = [order_of(number) for number in range(3)]
    together = asyncio.run(start_many(by, orders, SOON))
    answers = [*together, *asyncio.run(alone(by.start, orders))]
    assert {type(one) for one in answers} == {OutcomeUnknown}
    assert there(slurm) == {}
