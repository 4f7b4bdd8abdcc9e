"""Whatever Slurm prints: only errors of dispatch are raised, and nothing becomes a success that is none."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given, strategies as st

from adapters.slurm.reading.given import COMMENT, JOB, facts, row, run
from dispatch.adapters.slurm.reading.assemble import answer_of, facts_of, observations_of
from dispatch.adapters.slurm.reading.classify import classify
from dispatch.adapters.slurm.reading.documents import Exit, StepRow
from dispatch.adapters.slurm.reading.hostlist import expand
from dispatch.adapters.slurm.reading.key import Ref, decode_comment
from dispatch.adapters.slurm.reading.nodes import decode_nodes
from dispatch.adapters.slurm.reading.script import Section, sections_of
from dispatch.adapters.slurm.reading.tables import CODES
from dispatch.adapters.slurm.reading.tickets import Ended, Started, Tickets, decode_tickets
from dispatch.model.codec import decode, encode
from dispatch.model.epoch import Epoch
from dispatch.model.errors import DispatchError
from dispatch.model.status import Observation, State

MARK = "t0"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NUMBER = st.integers(-1, 2**40) | st.fixed_dictionaries(
    {"set": st.booleans(), "infinite": st.booleans(), "number": JSON}
)
STATE = st.sampled_from([code.name for code in CODES] + ["ZZ", "", "completed", "COMPLETED?"])
JOB_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "job_id": st.just(7) | NUMBER,
    "name": st.just(f"dj-{JOB}") | st.text(max_size=5),
    "comment": st.just(COMMENT) | JSON,
    "job_state": STATE | st.lists(STATE | JSON, max_size=3) | JSON,
    "state_reason": st.sampled_from(["None", "JobHeldUser", "BeginTime"]) | JSON,
    "exit_code": NUMBER | JSON | st.fixed_dictionaries({"return_code": NUMBER, "signal": JSON}),
    "derived_exit_code": JSON,
    "start_time": NUMBER | JSON,
    "end_time": NUMBER | JSON,
    "restart_cnt": NUMBER | JSON,
    "requeue": JSON,
    "nodes": st.sampled_from(["", "n1", "n[1-3]", "n[1-"]) | JSON,
}
QUEUE_JOB = st.fixed_dictionaries({}, optional=JOB_FIELDS) | JSON
RUN = st.fixed_dictionaries(
    {},
    optional=JOB_FIELDS
    | {
        "comment": st.just({"job": COMMENT}) | JSON,
        "state": st.fixed_dictionaries({"current": STATE | st.lists(STATE, max_size=2) | JSON})
        | JSON,
        "time": st.dictionaries(
            st.sampled_from(["start", "end", "submission", "limit"]), NUMBER | JSON
        )
        | JSON,
        "steps": st.lists(
            st.fixed_dictionaries({"state": STATE, "exit_code": JSON, "step": JSON}) | JSON,
            max_size=2,
        )
        | JSON,
    },
)


def answered(queue: bytes, accounting: bytes, version: str = "26.05.5") -> tuple[Observation, ...]:
    hello = f"1796004502123\n2001\nalice\nslurm-wlm {version}\n".encode()
    said = [
        ("hello", hello),
        ("boot", b"1000\n"),
        ("accounting", accounting),
        ("queue", queue),
        ("boot", b"1000\n"),
    ]
    sections = [Section(name=name, out=out, err="", returncode=0) for name, out in said]
    return observations_of(facts_of(answer_of(sections), [JOB], {}))


def check(found: tuple[Observation, ...]) -> None:
    for one in found:
        assert one.key.job == JOB
        raw = {
            fact.value
            for fact in one.verdict.evidence
            if fact.field in {"job_state", "State", "end"}
        }
        if one.state is State.SUCCEEDED:
            assert any("COMPLETED" in value.split() or "CD" in value.split() for value in raw)
        if one.final:
            assert one.state.ended
        assert decode(encode(one), Observation) == one


def survives(*given_: Any, **more: Any) -> None:
    with suppress(DispatchError):
        check(answered(*given_, **more))


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_are_survived(queue: bytes, accounting: bytes) -> None:
    survives(queue, accounting)
    survives(queue, accounting, version="22.05.8")


@given(JSON, JSON)
def test_any_json_is_survived(queue: object, accounting: object) -> None:
    survives(msgspec.json.encode(queue), msgspec.json.encode(accounting))


@given(st.lists(QUEUE_JOB, max_size=3), st.lists(RUN, max_size=3))
def test_any_rows_are_survived_and_no_success_is_made_up(
    queue: list[Any], accounting: list[Any]
) -> None:
    survives(msgspec.json.encode({"jobs": queue}), msgspec.json.encode({"jobs": accounting}))


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_of_an_old_release_is_survived(queue: str, accounting: str) -> None:
    line = "\x1f".join(["7", f"dj-{JOB}", queue[:20], "None", *["1"] * 9, COMMENT])
    survives(
        line.encode("utf-8", "replace"), accounting.encode("utf-8", "replace"), version="22.05.8"
    )


STEP = st.builds(
    StepRow,
    name=st.sampled_from(["batch", "extern", "0"]),
    states=st.tuples(STATE),
    exit=st.builds(Exit, code=st.integers(0, 255), signal=st.sampled_from([0, 9, 15, 125])),
)
EXIT = st.builds(
    Exit,
    code=st.sampled_from([0, 1, 118, 119, 137]),
    signal=st.sampled_from([0, 9, 15, 53, 54, 125]),
)
TICKETS = st.builds(
    Tickets,
    starts=st.sampled_from(
        [(), (Started(epoch=Epoch(1, 0), number=7, attempt="a1", node="n1", at=5),)]
    ),
    ends=st.sampled_from(
        [
            (),
            (Ended(epoch=Epoch(1, 0), status=0, attempt="a1"),),
            (Ended(epoch=Epoch(1, 0), status=3, attempt="a1"),),
        ]
    ),
)
QUEUE_ROW = st.builds(
    row,
    st.lists(STATE, max_size=2).map(" ".join),
    reason=st.sampled_from(
        ["None", "JobHeldUser", "JobHeldAdmin", "BeginTime", "BadConstraints", "?"]
    ),
    exit=EXIT,
    derived=EXIT,
    nodes=st.sampled_from(["", "n1"]),
    restarts=st.integers(0, 2),
    requeue=st.booleans(),
)
RUN_ROW = st.builds(
    run, STATE, restarts=st.none() | st.integers(0, 2), steps=st.lists(STEP, max_size=2).map(tuple)
)


@given(
    st.none() | QUEUE_ROW, st.lists(RUN_ROW, max_size=2), TICKETS, st.sampled_from([0, 1000, 2030])
)
def test_every_combination_of_evidence_has_one_verdict(
    queue: Any, runs: list[Any], left: Tickets, boot: int
) -> None:
    found = classify(facts(queue, *runs, left=left, before=left, boot=boot))
    if found is None:
        assert queue is None
        return
    if found.state is State.SUCCEEDED:
        told = queue.states if queue else runs[-1].states if runs else ()
        scripts = any(end.status == 0 for end in left.ends)
        assert "COMPLETED" in told or scripts
    if found.final:
        assert found.state.ended
    if found.cause is None:
        assert found.state in {State.SUCCEEDED, State.RUNNING, State.PENDING}
    assert found.verdict.proven or found.state is not State.PENDING
    assert decode(encode(found), Observation) == found


@given(st.text())
def test_any_text_is_survived_by_the_small_decoders(text: str) -> None:
    decode_comment(text)
    decode_tickets(text)
    assert isinstance(expand(text), tuple)
    for decoder in (Ref.parse, decode_nodes):
        with suppress(DispatchError):
            decoder(text)


@given(st.binary())
def test_any_output_of_a_script_is_survived(out: bytes) -> None:
    framed = f"\n{MARK} begin queue\n".encode() + out + f"\n{MARK} end 0\n".encode()
    for whole in (out, framed, framed + out):
        with suppress(DispatchError):
            answer_of(sections_of(whole, out.decode("utf-8", "replace"), MARK))
