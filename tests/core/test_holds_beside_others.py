"""Our holds beside those of others: what a release of ours must not make look like a forgotten open."""

from __future__ import annotations

import pytest

from core.builders import calls, held, opened, record, row, settled_step
from dispatch.model.journal import HoldAsked, ReleaseAsked, Verb
from dispatch.model.status import By, Gate, Observation


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
