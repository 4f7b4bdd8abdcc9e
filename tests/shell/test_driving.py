"""When what a person has asked for has become true."""

from __future__ import annotations

import pytest

from core.builders import held, opened, queued, read, record
from dispatch.model.journal import HoldAsked
from dispatch.model.status import Observation
from dispatch.shell.driving import Until, has_reached


@pytest.mark.parametrize(
    ("shown", "reached"),
    [
        (held(instance=2), True),
        (held(instance=3), True),
        (held(instance=1), False),
        (queued(), False),
    ],
    ids=["that hold", "a higher one, of a record that was set back", "one before it", "none"],
)
def test_a_hold_is_acknowledged_once_one_as_high_is_shown(
    shown: Observation, *, reached: bool
) -> None:
    view = record(*opened(), HoldAsked(instance=2, by="alice"), read(shown))
    assert has_reached(view, Until.ACKNOWLEDGED) is reached


@pytest.mark.parametrize(("shown", "reached"), [(held(instance=1), False), (queued(), True)])
def test_a_release_is_acknowledged_once_no_hold_of_ours_is_shown(
    shown: Observation, *, reached: bool
) -> None:
    view = record(*opened(), read(shown))
    assert has_reached(view, Until.ACKNOWLEDGED) is reached
