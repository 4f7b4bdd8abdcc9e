"""Every recorded document of a real Slurm, and the verdict that is right on it."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from adapters.slurm.reading.given import ALICE, READ_AT, SAMPLES, accounting_of, queue_of
from dispatch.adapters.slurm.reading.classify import classify
from dispatch.adapters.slurm.reading.documents import QueueRow
from dispatch.adapters.slurm.reading.facts import Facts
from dispatch.adapters.slurm.reading.key import Ref
from dispatch.model.status import By, Cause, ObjectKey, Observation, State

P, R, S, F, C = State.PENDING, State.RUNNING, State.SUCCEEDED, State.FAILED, State.CANCELLED


class Right(NamedTuple):
    """What is right on a sample: of both sources, and of the queue alone where that differs."""

    state: State
    cause: Cause | None = None
    alone: Cause | str | None = "same"
    nodes: tuple[str, ...] | None = None
    suspected: Cause | None = None
    exit_code: int | None = None
    signal: str | None = None
    by: By | None = None


def exited(code: int, suspected: Cause | None = None) -> Right:
    # Of the queue alone no exit is proven (12, E5).
    return Right(F, Cause.NON_ZERO_EXIT, Cause.UNKNOWN, exit_code=code, suspected=suspected)


RIGHT = {
    "badchdir": Right(F, Cause.LAUNCH_FAILED, nodes=("n3",)),
    "badline2": exited(127),
    "badout": Right(F, Cause.LAUNCH_FAILED, nodes=("n3",)),
    "badshell": exited(2),
    "bootfail": Right(P, Cause.REQUEUED, suspected=Cause.NODE_LOST, nodes=("c1",)),
    "bootfail-norq": Right(F, Cause.NODE_LOST, nodes=("c2",)),
    "cancel-admin": Right(C, Cause.CANCELLED, by=By.ADMINISTRATOR),
    "cancel-batchsig": exited(9),
    "cancel-sig": Right(C, Cause.CANCELLED, by=By.OWNER),
    "cancel-user": Right(C, Cause.CANCELLED, by=By.OWNER),
    "deadline": Right(F, Cause.DEADLINE_EXCEEDED),
    "depnever": Right(P, Cause.UNSATISFIABLE),
    "exit143": exited(143),
    "exit3": exited(3),
    "head-requeue": Right(P, Cause.REQUEUED, suspected=Cause.NODE_LOST, nodes=("n1",)),
    "kill9": Right(F, Cause.SIGNALLED, signal="KILL"),
    "killall": Right(F, Cause.NODE_LOST, nodes=("n2",)),
    "nokill": Right(R),
    "norequeue": Right(F, Cause.NODE_LOST, nodes=("n2",)),
    "ok": Right(S, exit_code=0),
    "oom-batch": Right(F, Cause.OUT_OF_MEMORY),
    "oom-exec": Right(F, Cause.OUT_OF_MEMORY),
    "oom-ok": Right(F, Cause.OUT_OF_MEMORY),
    "oom-step": Right(F, Cause.OUT_OF_MEMORY, Cause.UNKNOWN, exit_code=1),
    "preempted-low": Right(P, Cause.REQUEUED, suspected=Cause.PREEMPTED),
    "preempted-lowc": Right(F, Cause.PREEMPTED),
    "preempted-lowg": Right(P, Cause.REQUEUED),
    "preempted-norq": Right(F, Cause.PREEMPTED),
    "prologfail-norequeue": Right(F, Cause.LAUNCH_FAILED, nodes=("n3",)),
    "prologfail-requeued-held": Right(P, Cause.LAUNCH_FAILED),
    "requeue": Right(P, Cause.REQUEUED, suspected=Cause.NODE_LOST, nodes=("n2",)),
    "segv": Right(F, Cause.SIGNALLED, signal="SEGV"),
    "srun-exit5": Right(S, exit_code=0),
    "srun-exit5-fail": exited(5),
    "srun-segv": exited(139, suspected=Cause.SIGNALLED),
    "stop": Right(P, Cause.REQUEUED, suspected=Cause.NODE_LOST, nodes=("n2",)),
    "suspend": Right(S, exit_code=0),
    "timeout": Right(F, Cause.TIMEOUT),
    "timeout-trap": Right(F, Cause.TIMEOUT),
    "timeout-usr1": exited(7),
    "toobig": Right(S, exit_code=0),
}
"""Of 26.05."""


def read(row: QueueRow, release: str = "26.05/none", base: int = 1) -> Observation:
    job = "01JZZZZZZZZZZZZZZZZZZZZZZA"
    found = classify(
        Facts(
            ref=Ref(number=row.number, job=job, submission=1, base=base, attempt="a"),
            key=ObjectKey(job=job, store="s", submission=1, attempt="a"),
            read_at=READ_AT,
            queue=row,
            runs=tuple(
                run
                for run in accounting_of(release)
                if run.number == row.number and "RESIZING" not in run.states
            ),
            owner=ALICE,
            boot=1,
        )
    )
    assert found is not None
    return found


def of_26(name: str, *, alone: bool = False) -> Observation:
    if name == "toobig":  # shown beside an older job
        row = next(row for row in queue_of("26.05/toobig") if row.name == "f-toobig")
    else:
        row = queue_of(f"26.05/{name}")[-1]
    return read(row, "26.05/none" if alone else f"26.05/{name}")


@pytest.mark.parametrize("name", RIGHT)
def test_a_sample_of_both_sources_reads_right(name: str) -> None:
    right, found = RIGHT[name], of_26(name)
    verdict = found.verdict
    assert (verdict.state, verdict.cause, verdict.proven) == (right.state, right.cause, True)
    assert verdict.detail.suspected is right.suspected
    assert right.nodes is None or verdict.detail.nodes == right.nodes
    assert (verdict.detail.signal, verdict.detail.by) == (right.signal, right.by)
    assert verdict.detail.exit_code == right.exit_code
    assert {fact.read_at for fact in verdict.evidence} == {READ_AT}


@pytest.mark.parametrize("name", RIGHT)
def test_a_sample_of_the_queue_alone_claims_no_more_than_it_proves(name: str) -> None:
    right, found = RIGHT[name], of_26(name, alone=True)
    assert found.state is right.state
    assert found.cause == (right.cause if right.alone == "same" else right.alone)
    assert found.verdict.detail.by is None


def test_every_sample_has_its_right_verdict() -> None:
    names = {path.name.split(".")[0] for path in (SAMPLES / "26.05").glob("*.json")}
    assert names == {*RIGHT, "pending"}


def test_each_gate_and_begin_time_is_told_apart() -> None:
    held, begin, both = queue_of("26.05/pending")
    assert read(held).cause is Cause.HELD
    assert read(begin, base=begin.start).cause is Cause.GATED
    assert read(both, base=both.start).cause is Cause.GATED
    assert read(begin).cause is Cause.HELD


MIXED_24 = {
    1: (C, Cause.CANCELLED), 2: (C, Cause.CANCELLED), 3: (C, Cause.CANCELLED), 4: (C, Cause.CANCELLED),
    5: (F, Cause.NON_ZERO_EXIT), 6: (F, Cause.SIGNALLED), 7: (C, Cause.CANCELLED), 8: (C, Cause.CANCELLED),
    10: (F, Cause.UNSATISFIABLE), 11: (S, None), 12: (F, Cause.NON_ZERO_EXIT), 13: (F, Cause.SIGNALLED),
    14: (R, None), 15: (C, Cause.CANCELLED), 16: (P, Cause.HELD),
}  # fmt: skip

MIXED_22 = {
    1: (C, Cause.CANCELLED), 2: (C, Cause.CANCELLED), 3: (C, Cause.CANCELLED), 4: (F, Cause.UNKNOWN),
    5: (F, Cause.SIGNALLED), 6: (C, Cause.CANCELLED), 7: (C, Cause.CANCELLED), 9: (C, Cause.CANCELLED), 10: (S, None),
    11: (F, Cause.UNKNOWN), 12: (F, Cause.SIGNALLED), 13: (R, None), 14: (R, None), 15: (P, Cause.HELD),
}  # fmt: skip
"""The queue alone: its JSON has the exit in the raw wait status, and a flag in place of the state."""


def test_the_documents_of_24_11_read_as_those_of_26_05() -> None:
    found = {row.number: read(row, "24.11/mixed") for row in queue_of("24.11/mixed")}
    assert {number: (one.state, one.cause) for number, one in found.items()} == MIXED_24
    assert found[5].verdict.detail.exit_code == 3
    assert found[13].verdict.detail.signal == "SEGV"


def test_the_documents_of_22_05_read_as_those_of_26_05() -> None:
    found = {row.number: read(row) for row in queue_of("22.05/mixed")}
    assert {number: (one.state, one.cause) for number, one in found.items()} == MIXED_22
    assert found[4].verdict.detail.exit_code == 3
    assert found[14].cleaning
