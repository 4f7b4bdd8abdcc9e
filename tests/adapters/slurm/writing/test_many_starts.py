"""The starts of many jobs in one script, run against stand-ins for Slurm's commands: each as if it were made alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adapters.slurm.writing.fake_many import FIRST, TWO_HOURS_LATER, FakeSlurm
from adapters.slurm.writing.verbs import BASE, PAST, SOON
from dispatch.adapters.slurm.reading import Ref
from dispatch.adapters.slurm.writing import Writer
from dispatch.adapters.slurm.writing.many import start_many
from dispatch.model.epoch import ulid
from dispatch.model.errors import (
    Busy,
    DispatchError,
    Expired,
    OutcomeUnknown,
    Rejected,
    Unavailable,
)
from dispatch.model.job import Job
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import CallMeta, StartOrder
from dispatch.transports import LocalTransport

Made = list[Ref | DispatchError]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm(tmp_path)
    monkeypatch.setenv("HOME", str(fake.home))
    monkeypatch.setenv("PATH", f"{fake.bin}:/usr/local/bin:/usr/bin:/bin")
    return fake


def writer(seconds: int = 10) -> Writer:
    return Writer(LocalTransport(), bound=Duration(seconds=seconds), shared="$HOME/runs")


def order_of(number: int, **job: Any) -> StartOrder:
    job.setdefault("command", ("echo", f"job {number}"))
    return StartOrder(
        id=ulid(number, bytes(10)), job=Job(**job), spec_hash="ab" * 32, store="S" * 26, submission=1, attempt=f"tok{number}",
        base=BASE + number,
    )  # fmt: skip


def start(*orders: StartOrder, by: Writer | None = None, meta: CallMeta = SOON) -> Made:
    return asyncio.run(start_many(by or writer(), orders, meta))


def orders(count: int) -> list[StartOrder]:
    return [order_of(number) for number in range(count)]


def ref_of(order: StartOrder, number: int) -> Ref:
    return Ref(number=number, job=order.id, submission=1, base=order.base, attempt=order.attempt)


def kinds(made: Made) -> list[type[Any]]:
    return [type(one) for one in made]


def test_each_is_created_gated_with_its_own_key_and_script(slurm: FakeSlurm) -> None:
    asked = orders(3)
    assert start(*asked) == [ref_of(order, FIRST + at) for at, order in enumerate(asked)]
    for at, (order, call) in enumerate(zip(asked, slurm.writes, strict=True)):
        assert f"--hold --begin=uts{BASE + at} --no-requeue --job-name=dj-{order.id}" in call
        assert f"--comment=dispatch/1 store={'S' * 26} n=1 a=tok{at} base={BASE + at} " in call
        assert f"--output={slurm.home}/dispatch-{order.id}-1.out" in call
        script = (slurm.home / f"script.{FIRST + at}").read_text()
        assert script.startswith("#!/bin/bash\n# dispatch job script")
        assert f"'job {at}'" in script


def test_many_make_the_same_calls_as_each_alone(slurm: FakeSlurm) -> None:
    asked = [
        order_of(0, nodes=2),
        order_of(1, partition="a'b"),
        order_of(2, workdir="/tmp", output="logs/%j/%%a.out"),
    ]
    alone = [asyncio.run(writer().start(order, SOON)) for order in asked]
    calls = slurm.writes
    scripts = [(slurm.home / f"script.{ref.number}").read_text() for ref in alone]
    slurm.forget()
    assert start(*asked) == alone
    assert slurm.writes == calls
    assert [(slurm.home / f"script.{ref.number}").read_text() for ref in alone] == scripts


def test_nothing_of_a_job_reaches_the_shell(slurm: FakeSlurm) -> None:
    hostile = "$(touch pwned)`touch pwned`'\";touch pwned\n*"
    (slurm.home / hostile).mkdir()
    asked = [
        order_of(0),
        order_of(1, workdir=f"~/{hostile}", partition=hostile, account=hostile, command=(hostile,)),
        order_of(2, name="$(touch pwned)"),
    ]
    assert start(*asked) == [ref_of(order, FIRST + at) for at, order in enumerate(asked)]
    assert not list(slurm.home.rglob("pwned"))
    assert f"--partition={hostile}" in (slurm.home / "calls").read_text()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", Rejected),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", Busy),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", Unavailable),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", OutcomeUnknown),
        ("sbatch: error: no such luck today", OutcomeUnknown),
        ("", OutcomeUnknown),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reads", ["", "head -c 9 >/dev/null;", "cat >/dev/null;"])
@pytest.mark.parametrize("size", [3_000, 60_000], ids=["short", "more than a pipe holds"])
def test_one_that_is_refused_leaves_the_others_alone_whatever_it_read_of_its_script(
    slurm: FakeSlurm, said: str, kind: type[DispatchError], reads: str, size: int
) -> None:
    (slurm.home / "said").write_text(said)
    slurm.before("sbatch", f'case "$*" in *" a=tok1 "*) {reads} cat said >&2; exit 1 ;; esac')
    long = order_of(1, command=("echo", *["x" * size] * 4))
    asked = [order_of(0), long, order_of(2)]
    first, second, third = start(*asked)
    assert (first, third) == (ref_of(asked[0], FIRST), ref_of(asked[2], FIRST + 1))
    assert type(second) is kind
    assert "'job 2'" in (slurm.home / f"script.{FIRST + 1}").read_text()


@pytest.mark.parametrize(
    "job",
    [{"workdir": "~/gone", "output": "logs/x"}, {"output": "file/x"}],
    ids=["no working directory", "no directory of the output"],
)
def test_one_that_is_refused_before_sbatch_leaves_the_others_their_scripts(
    slurm: FakeSlurm, job: dict[str, Any]
) -> None:
    (slurm.home / "file").write_text("")
    asked = [order_of(0), order_of(1, **job), order_of(2)]
    assert kinds(start(*asked)) == [Ref, Rejected, Ref]
    assert len(slurm.writes) == 2
    assert "'job 2'" in (slurm.home / f"script.{FIRST + 1}").read_text()
    assert not (slurm.home / "gone").exists()


def test_one_that_hangs_is_of_unknown_outcome_and_the_next_has_a_bound_of_its_own(
    slurm: FakeSlurm,
) -> None:
    slurm.before("sbatch", '[ "$at" -ne 2 ] || exec sleep 60')
    assert kinds(start(*orders(3), by=writer(seconds=4))) == [Ref, OutcomeUnknown, Ref]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("set_field $id Priority 1", "the hold"),
        ("set_field $id StartTime Unknown", "begin time"),
        ("set_field $id Requeue 1", "Requeue"),
        ("set_field $id JobName other", "its name to 'other'"),
        ("sed -i 's/Comment=.*/Comment=site/' jobs/$id", "its comment to 'site'"),
    ],
)
def test_one_that_a_plugin_changed_is_stopped_and_refused(
    slurm: FakeSlurm, change: str, named: str
) -> None:
    slurm.plugin(f"[ $id -ne {FIRST + 1} ] || {change}")
    first, second, third = start(*orders(3))
    assert isinstance(second, Rejected)
    assert named in str(second)
    assert isinstance(first, Ref)
    assert isinstance(third, Ref)
    assert slurm.writes[3:][-1] == f"scancel {FIRST + 1}"
    assert [slurm.field(FIRST + at, "JobState") for at in range(3)] == [
        "PENDING",
        "CANCELLED",
        "PENDING",
    ]


def test_what_cannot_be_read_back_is_of_unknown_outcome(slurm: FakeSlurm) -> None:
    slurm.before("squeue", "echo 'Socket timed out' >&2; exit 1")
    assert kinds(start(*orders(3))) == [OutcomeUnknown] * 3


def test_many_that_come_too_late_do_nothing(slurm: FakeSlurm) -> None:
    assert kinds(start(*orders(3), meta=PAST)) == [Expired] * 3
    assert slurm.writes == []


def test_of_many_none_begins_after_the_deadline(slurm: FakeSlurm) -> None:
    slurm.before("sbatch", f'[ "$at" -ne 2 ] || {TWO_HOURS_LATER}')
    assert kinds(start(*orders(4))) == [Ref, Ref, Expired, Expired]
    assert len(slurm.writes) == 2
