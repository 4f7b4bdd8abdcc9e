"""Recorded histories fold for ever: what an earlier dispatch wrote is what this one reads."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest

from dispatch.core.deciding import next_step
from dispatch.core.folding import fold
from dispatch.model.codec import encode
from dispatch.model.journal import SCHEMA, AnyEvent, Intended, Outcome, Proof, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Rest
from dispatch.model.view import JobView
from histories.reading import Plain, entries_of, folded, folder, histories, lacking, view_of

HISTORIES = histories()


def named(history: Path) -> str:
    return f"{history.parent.name}/{history.stem}"


every_history = pytest.mark.parametrize("history", HISTORIES, ids=named)


@every_history
def test_a_history_folds_to_the_view_that_stands_beside_it(history: Path) -> None:
    """Where the view was meant to change, ``--views`` of histories/recipe.py writes it again; the history never changes."""
    recorded: Plain = json.loads(view_of(history).read_bytes())
    assert not lacking(recorded, folded(history))


@every_history
def test_a_history_reads_as_it_was_written(history: Path) -> None:
    """A field or a word that is known no more would show here, and an entry that takes itself for one of another schema."""
    entries = entries_of(history)
    assert b"".join(encode(entry) + b"\n" for entry in entries) == history.read_bytes()
    assert {f"schema-{entry.schema}" for entry in entries} == {history.parent.name}


@every_history
def test_a_history_folds_the_same_whoever_has_folded_its_beginning(history: Path) -> None:
    entries = entries_of(history)
    whole = fold(entries)
    for length in range(1, len(entries)):
        assert fold(entries[length:], fold(entries[:length])) == whole


@every_history
def test_a_supervisor_of_today_can_go_on_from_every_version_of_a_history(history: Path) -> None:
    view: JobView | None = None
    for entry in entries_of(history):
        view = fold([entry], view)
        later = entry.at + timedelta(hours=1)
        listing = Listing(version=view.version, requested=later, sent=later, boot="another")
        assert isinstance(next_step(view, listing, later), Rest) == (view.verdict is not None)


def test_there_are_histories_of_every_schema_that_was_ever_written() -> None:
    assert {history.parent.name for history in HISTORIES} == {
        folder(schema).name for schema in range(1, SCHEMA + 1)
    }


def test_the_histories_of_this_schema_have_every_event_verb_outcome_and_proof() -> None:
    events = [entry.event for path in HISTORIES for entry in entries_of(path)]
    assert {type(event) for event in events} == set(get_args(AnyEvent))
    assert {event.intent.verb for event in events if isinstance(event, Intended)} == set(Verb)
    assert {event.outcome for event in events if isinstance(event, Settled)} == set(Outcome)
    proofs = {
        known.proof for path in HISTORIES for known in fold(entries_of(path)).objects.values()
    }
    assert proofs - {None} == set(Proof)


def test_what_a_view_lacks_is_named() -> None:
    recorded: dict[str, Plain] = {"a": 1, "b": [{"c": None}, {"c": 2}]}
    assert not lacking(recorded, {**recorded, "new": 0})
    assert lacking(recorded, {"a": 2, "b": [{"c": None}, {}]}) == [
        "$.a: 1 is now 2",
        "$.b[1].c: 2 is now 'nothing'",
    ]
    assert lacking(recorded, {"a": 1, "b": []}) == ["$.b: [{'c': None}, {'c': 2}] is now []"]
