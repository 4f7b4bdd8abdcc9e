"""Waiting and running: gates, holds and reasons; what every code means."""

from __future__ import annotations

import pytest

from adapters.slurm.reading.given import (
    BASE,
    START,
    row,
    seen,
)
from dispatch.adapters.slurm.reading.documents import queue_row
from dispatch.adapters.slurm.reading.ending import ENDED
from dispatch.adapters.slurm.reading.tables import BY_NAME, CODES, WAITING, Kind
from dispatch.adapters.slurm.reading.waiting import PENDING
from dispatch.model.status import By, Cause, Gate, HoldSeen, State

# --- gate and holds (12, O5)


@pytest.mark.parametrize(
    ("reason", "start", "gate", "hold", "cause"),
    [
        ("JobHeldUser", BASE, Gate.CLOSED, None, Cause.GATED),
        ("BeginTime", BASE, Gate.CLOSED, None, Cause.GATED),
        ("Dependency", BASE, Gate.CLOSED, None, Cause.GATED),
        ("JobHeldAdmin", BASE, Gate.CLOSED, HoldSeen(by=By.ADMINISTRATOR), Cause.ADMIN_HELD),
        ("JobHeldUser", BASE + 3, Gate.CLOSED, HoldSeen(instance=3), Cause.HELD),
        ("BeginTime", BASE + 3, Gate.OPEN, HoldSeen(instance=3), Cause.HELD),
        ("JobHeldUser", 0, Gate.OPEN, HoldSeen(by=By.OWNER), Cause.HELD),
        ("JobHeldUser", BASE + 1_000_000, Gate.OPEN, HoldSeen(by=By.OWNER), Cause.HELD),
        ("JobHeldAdmin", 0, Gate.OPEN, HoldSeen(by=By.ADMINISTRATOR), Cause.ADMIN_HELD),
        ("BeginTime", BASE - 1, Gate.OPEN, None, Cause.HELD),
    ],
)
def test_gate_and_holds_are_told_apart(
    reason: str, start: int, gate: Gate, hold: HoldSeen | None, cause: Cause
) -> None:
    found = seen(row("PENDING", reason=reason, start=start))
    assert (found.gate, found.hold, found.cause) == (gate, hold, cause)
    assert found.started is None


def test_a_begin_time_that_has_come_is_no_hold() -> None:
    found = seen(row("PENDING", reason="BeginTime", start=START))
    assert (found.cause, found.hold) == (None, None)


def test_a_hold_on_a_running_job_is_seen() -> None:
    found = seen(row("RUNNING", reason="JobHeldUser", held=True))
    assert (found.state, found.cause, found.hold) == (State.RUNNING, None, HoldSeen(by=By.OWNER))


def test_the_grace_time_of_a_preemption_is_a_hint() -> None:
    assert seen(row("RUNNING", preempted=START + 5)).verdict.detail.suspected is Cause.PREEMPTED
    assert seen(row("RUNNING")).verdict.detail.suspected is None


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("DependencyNeverSatisfied", Cause.UNSATISFIABLE),
        ("BadConstraints", Cause.UNSATISFIABLE),
        ("PartitionTimeLimit", Cause.UNSATISFIABLE),
        ("QOSMaxCpuPerJobLimit", Cause.UNSATISFIABLE),
        ("QOSMaxJobsPerUserLimit", Cause.NO_CAPACITY),
        ("AssocGrpGRES", Cause.NO_CAPACITY),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-2]", Cause.NO_CAPACITY),
        ("Resources", Cause.NO_CAPACITY),
        ("Dependency", Cause.DEPENDENCY),
        ("None", None),
        ("NobodyKnows", Cause.UNKNOWN),
    ],
)
def test_a_reason_of_waiting_reads_as_its_cause(reason: str, cause: Cause | None) -> None:
    found = seen(row("PENDING", reason=reason))
    assert (found.state, found.cause) == (State.PENDING, cause)
    assert reason == "None" or reason in (found.verdict.detail.reason or "")


# --- codes


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_every_code_reads_the_same_short_and_long(code: object) -> None:
    assert code in CODES
    for one in CODES:
        if one is code:
            short, long = seen(row(one.short)), seen(row(one.name))
            assert (short.state, short.cause) == (long.state, long.cause)
            assert short.state is one.state


@pytest.mark.parametrize(
    ("code", "state", "cause"),
    [
        ("RD", State.PENDING, Cause.ADMIN_HELD),
        ("RH", State.PENDING, Cause.HELD),
        ("SE", State.PENDING, Cause.HELD),
        ("SI", State.RUNNING, None),
        ("RV", State.UNKNOWN, Cause.UNKNOWN),
        ("DL", State.FAILED, Cause.DEADLINE_EXCEEDED),
        ("BF", State.FAILED, Cause.LAUNCH_FAILED),
        ("LF", State.FAILED, Cause.LAUNCH_FAILED),
        ("ZZ", State.UNKNOWN, Cause.UNKNOWN),
    ],
)
def test_odd_codes_are_mapped_and_an_invented_one_is_unknown(
    code: str, state: State, cause: Cause | None
) -> None:
    found = seen(row(code))
    assert (found.state, found.cause) == (state, cause)
    if code == "ZZ":
        assert "ZZ" in (found.verdict.detail.reason or "")
        assert not found.verdict.proven
        assert not found.final


def test_an_unknown_flag_beside_a_known_state_changes_nothing() -> None:
    assert seen(row("RUNNING ZZ")).state is State.RUNNING


def test_no_state_at_all_is_unknown() -> None:
    assert seen(row("")).state is State.UNKNOWN


@pytest.mark.parametrize("state", ["RUNNING", ["RUNNING"], "R"], ids=["text", "list", "short"])
@pytest.mark.parametrize(
    "number", [7, {"set": True, "infinite": False, "number": 7}], ids=["plain", "struct"]
)
def test_every_shape_of_a_document_reads_the_same(state: object, number: object) -> None:
    said: dict[str, object] = {
        "job_id": number,
        "name": "x",
        "job_state": state,
        "restart_cnt": number,
    }
    found = queue_row(said | {"job_resources": None, "new_in_a_later_release": [1]})
    assert (found.number, found.restarts) == (7, 7)
    assert BY_NAME[found.states[0]].name == "RUNNING"


# --- the tables


def test_no_code_is_spelled_twice() -> None:
    spellings = [spelling for code in CODES for spelling in (code.short, code.name)]
    assert len(spellings) == len(set(spellings))


def test_no_row_of_waiting_is_hidden_by_an_earlier_one() -> None:
    plain = [one.reason for one in WAITING]
    assert len(plain) == len(set(plain))


def test_each_table_ends_with_a_row_that_always_holds() -> None:
    for table in (ENDED, PENDING):
        names = [rule.name for rule in table]
        assert len(names) == len(set(names))
        assert table[-1].holds.__name__ == "always"


def test_every_end_of_the_table_is_reached_by_its_state() -> None:
    for code in CODES:
        if (
            code.kind is Kind.BASE
            and code.state is State.FAILED
            and code.cause is not Cause.UNKNOWN
        ):
            assert seen(row(code.name)).cause is code.cause
