"""Our holds beside those of others: what a release of ours must not make look like a forgotten open."""

from __future__ import annotations

import pytest

from core.builders import (
    calls,
    held,
    opened,
    read,
    record,
    row,
    running,
    settled_step,
    started,
    tell,
)
from dispatch.model.journal import HoldAsked, ReleaseAsked, Verb
from dispatch.model.status import By, Gate, HoldSeen, Observation
from dispatch.model.steps import Call
from dispatch.model.view import Phase


@pytest.mark.parametrize(
    "shown",
    [
        held(instance=3, by=By.ADMINISTRATOR),
        held(instance=3, gate=Gate.CLOSED),  # a person's hold beneath ours reads so
    ],
    ids=["an_administrator", "a_person"],
)
def test_a_hold_of_ours_is_not_released_while_somebody_else_holds_too(shown: Observation) -> None:
    # The release would put the gate back, and that would read as an open that was forgotten.
    view = record(*opened(), HoldAsked(instance=3, by="alice"), ReleaseAsked(instance=3, by="bob"))
    view, made = settled_step(view, shown)
    assert row(made) == "watch"
    assert calls(settled_step(view, held(instance=3))[1]) == (Verb.RELEASE, 1)


def test_a_gate_that_is_lost_beneath_our_hold_still_awaits_its_open() -> None:
    # Half an open or a release by hand takes the gate's flag, and our hold its begin time.
    shown = held(instance=1, gate=Gate.OPEN)
    view, made = settled_step(record(*started(), HoldAsked(instance=1, by="alice")), shown)
    assert view.objects[1].phase is Phase.GATED
    assert row(made) == "await saved hold"
    assert calls(settled_step(view, shown, sent=30)[1]) == (Verb.OPEN, 1)
    view = tell(record(*started(), read(shown)), *opened()[len(started()) :])
    assert calls(settled_step(view, shown)[1]) == (Verb.RELEASE, 1)


def test_what_runs_without_its_open_is_live_whatever_holds_it() -> None:
    view, _ = settled_step(record(*started()), running(hold=HoldSeen(instance=1)))
    assert view.objects[1].phase is Phase.OPEN


def test_a_higher_hold_of_a_record_that_was_set_back_serves_and_is_released_by_its_own_instance() -> (
    None
):
    # The scheduler refuses hold 1 beneath hold 2 as stale, for ever.
    shown = held(instance=2)
    view, made = settled_step(record(*opened(), HoldAsked(instance=1, by="alice")), shown)
    assert row(made) == "watch"
    _, made = settled_step(tell(view, ReleaseAsked(instance=1, by="alice")), shown)
    assert isinstance(made, Call)
    assert (made.verb, made.instance) == (Verb.RELEASE, 2)
