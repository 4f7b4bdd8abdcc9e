"""The events of a record: what was written once is read for ever."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from msgspec.structs import fields

from dispatch.model.answers import Action, ClusterIdentity, Declarations
from dispatch.model.codec import decode, encode
from dispatch.model.errors import Invalid
from dispatch.model.job import Job
from dispatch.model.journal import (
    SCHEMA,
    Accepted,
    Actor,
    Adopted,
    AnyEvent,
    Awaiting,
    BoundsGrew,
    Ceased,
    Decided,
    Ended,
    Entry,
    Forgot,
    HoldAsked,
    Intended,
    Intent,
    Missed,
    NodesBack,
    Observed,
    Outcome,
    Proof,
    ReleaseAsked,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.plan import Plan, PlannedRule
from dispatch.model.status import ObjectKey, Observation, State, Verdict

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
FAILED = Verdict(state=State.FAILED)
SEEN = Observation(
    ref="1", key=ObjectKey(job="j", store="s", submission=1, attempt="a"), verdict=FAILED
)
EVENTS: dict[str, AnyEvent] = {
    "accepted": Accepted(
        id="01JDXW0000000000000000000A",
        job=Job(command=("train",)),
        spec_hash="h",
        plan=Plan(rules=(PlannedRule(rule=0, action=Action.FAIL),)),
        cluster=ClusterIdentity(alias="c", adapter="memory", name="n"),
        store="s",
        declarations=Declarations(),
    ),
    "intended": Intended(
        intent=Intent(id="i", verb=Verb.START, submission=1, deadline=MOMENT, boot="b")
    ),
    "settled": Settled(intent="i", outcome=Outcome.LANDED),
    "missed": Missed(intent="i", sent=MOMENT, boot="b"),
    "observed": Observed(submission=1, observation=SEEN, sent=MOMENT, boot="b"),
    "vanished": Vanished(submission=1, sent=MOMENT, boot="b"),
    "forgot": Forgot(submission=1, why="w"),
    "decided": Decided(submission=1, restarts=0, verdict=FAILED, action=Action.FAIL),
    "awaiting": Awaiting(submission=1, nodes=("n1",), sent=MOMENT),
    "boundsGrew": BoundsGrew(declarations=Declarations()),
    "nodesBack": NodesBack(submission=1, sent=MOMENT),
    "ceased": Ceased(submission=1, proof=Proof.CLEANED),
    "adopted": Adopted(submission=1, attempt="a", observation=SEEN),
    "holdAsked": HoldAsked(instance=1, by="a"),
    "releaseAsked": ReleaseAsked(instance=1, by="a"),
    "stopAsked": StopAsked(by="a"),
    "ended": Ended(verdict=FAILED),
}


def entry(event: AnyEvent, **more: Any) -> Entry:
    actor = Actor(user="u", host="h", role="r")
    return Entry(version=1, at=MOMENT, actor=actor, nonce="x", event=event, **more)


def test_there_is_a_sample_of_every_event() -> None:
    assert {type(event) for event in EVENTS.values()} == set(get_args(AnyEvent))


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_known_by_its_name_on_the_wire_and_comes_back(name: str) -> None:
    made = entry(EVENTS[name])
    data = encode(made)
    assert f'"event":{{"event":"{name}"'.encode() in data
    assert decode(data, Entry) == made


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_with_a_field_that_is_not_known_is_refused(name: str) -> None:
    data = encode(entry(EVENTS[name])).replace(b'"event":{', b'"event":{"more":1,', 1)
    with pytest.raises(Invalid):
        decode(data, Entry)


def test_an_event_that_is_not_known_is_refused() -> None:
    data = encode(entry(EVENTS["stopAsked"])).replace(b"stopAsked", b"stopGranted")
    with pytest.raises(Invalid):
        decode(data, Entry)


def test_an_entry_tells_the_schema_only_where_it_is_not_the_first() -> None:
    assert b"schema" not in encode(entry(EVENTS["stopAsked"]))
    newer = entry(EVENTS["stopAsked"], schema=SCHEMA + 1)
    assert decode(encode(newer), Entry).schema == SCHEMA + 1


@pytest.mark.parametrize("submission", [-1, 1_000_000])
def test_a_submission_lies_below_a_million(submission: int) -> None:
    data = encode(entry(EVENTS["vanished"])).replace(
        b'"submission":1', f'"submission":{submission}'.encode()
    )
    with pytest.raises(Invalid):
        decode(data, Entry)


def test_a_moment_without_a_zone_is_none() -> None:
    data = encode(entry(EVENTS["stopAsked"])).replace(b"00:00:00Z", b"00:00:00")
    with pytest.raises(Invalid):
        decode(data, Entry)


def test_a_field_of_an_event_has_one_name_on_the_wire() -> None:
    names = {field.encode_name for field in fields(Decided)}
    assert {"excludeUntil", "ranFor", "submission"} <= names
