"""States, causes and observations encode as text, and refuse a name that they do not know."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

import pytest

from dispatch.model.answers import Action, AnswerSource, Capability, Feature, Tristate
from dispatch.model.codec import decode, encode
from dispatch.model.errors import Invalid
from dispatch.model.journal import Outcome, Proof, Verb
from dispatch.model.policy import Budget, NotifyOn, PendingDo, Unmatched, Which
from dispatch.model.status import (
    By,
    Cause,
    Detail,
    Evidence,
    Gate,
    HoldSeen,
    Listing,
    NodeReport,
    ObjectKey,
    Observation,
    Source,
    State,
    Verdict,
)

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
ENUMS: list[type[StrEnum]] = [
    State, Cause, By, Source, Gate, Verb, Outcome, Proof, Action, Capability, Feature, Tristate,
    AnswerSource, Budget, Unmatched, Which, PendingDo, NotifyOn,
]  # fmt: skip


@pytest.mark.parametrize("kind", ENUMS)
def test_every_name_encodes_as_its_text_and_comes_back(kind: type[StrEnum]) -> None:
    for name in kind:
        assert encode(name) == f'"{name.value}"'.encode()
        assert decode(encode(name), kind) is name


@pytest.mark.parametrize("kind", ENUMS)
def test_a_name_that_is_not_known_is_refused(kind: type[StrEnum]) -> None:
    with pytest.raises(Invalid, match=f"This is no {kind.__name__}"):
        decode('"Nonsense"', kind)


def test_the_states_and_causes_of_the_contract_are_there() -> None:
    assert {str(state) for state in State} == {"Pending", "Running", "Succeeded", "Failed", "Cancelled", "Unknown"}  # fmt: skip
    assert {str(cause) for cause in Cause} >= {
        "Gated", "Held", "AdminHeld", "NoCapacity", "Dependency", "Unsatisfiable", "Requeued",
        "AwaitingReadmission", "LaunchFailed", "NonZeroExit", "Signalled", "OutOfMemory", "Timeout",
        "DeadlineExceeded", "Preempted", "NodeLost", "Evicted", "Cancelled", "Rejected", "Stopped", "Unknown",
    }  # fmt: skip


def test_only_succeeded_failed_and_cancelled_are_ends() -> None:
    ends = {state for state in State if state.ended}
    assert ends == {State.SUCCEEDED, State.FAILED, State.CANCELLED}


def test_an_observation_is_read_as_it_was_written() -> None:
    fact = Evidence(source=Source.QUEUE, field="state", value="RUNNING", read_at=MOMENT)
    verdict = Verdict(
        state=State.RUNNING,
        cause=Cause.NODE_LOST,
        detail=Detail(exit_code=1, signal="TERM", nodes=("n1",), by=By.OTHER, who="root"),
        evidence=(fact,),
        proven=False,
    )
    seen = Observation(
        ref="17@1767225600",
        key=ObjectKey(job="j", store="s", submission=1, attempt="a"),
        verdict=verdict,
        restarts=2,
        gate=Gate.CLOSED,
        hold=HoldSeen(instance=1, by=By.ADMINISTRATOR),
        cleaning=True,
        nodes=("n1", "n2"),
        started=MOMENT,
    )
    assert decode(encode(seen), Observation) == seen
    assert (seen.state, seen.cause) == (State.RUNNING, Cause.NODE_LOST)


def test_a_default_is_left_out_on_the_wire() -> None:
    assert encode(Verdict(state=State.FAILED)) == b'{"state":"Failed"}'
    assert encode(Detail()) == b"{}"
    assert encode(NodeReport(name="n1", responding=False)) == b'{"name":"n1","responding":false}'


def test_a_listing_tells_nodes_that_were_not_asked_from_none_at_all() -> None:
    made = Listing(version=1, requested=MOMENT, sent=MOMENT, boot="b")
    assert made.nodes is None
    assert decode(encode(made), Listing).nodes is None
