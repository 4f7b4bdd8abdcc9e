"""The bounds of a header grow by an event, and never shrink: T5 of the hard cases."""

from __future__ import annotations

from msgspec.structs import replace

from core.builders import (
    BOUND,
    DECLARED,
    gated,
    header,
    judged,
    kinds,
    opening,
    ran,
    record,
    row,
    s,
    settled_step,
    started,
    step,
    succeeded,
    tell,
    waits,
)
from dispatch.model.journal import BoundsGrew


def test_bounds_that_have_grown_are_recorded_before_anything_is_decided_on_them() -> None:
    wide = replace(DECLARED, call_bound=s("60s"), save_window=s("1s"))
    made = step(record(*started()), gated(), declarations=wide)
    assert row(made) == "widen bounds"
    view, _ = settled_step(record(*started()), gated(), declarations=wide)
    assert view.header.declarations == replace(DECLARED, call_bound=s("60s"))


def test_bounds_never_shrink() -> None:
    narrow = replace(DECLARED, call_bound=s("1s"), settling_reads=1)
    assert kinds(step(record(*started()), gated(), declarations=narrow)) == ["Observed"]
    view = tell(record(), BoundsGrew(declarations=narrow))
    assert view.header.declarations == DECLARED


def test_an_intent_that_is_open_is_settled_by_the_wider_bounds() -> None:
    wide = replace(DECLARED, call_bound=s("600s"))
    view, made = settled_step(record(*opening()), gated(), sent=100, declarations=wide)
    assert waits(made)[0] == "await landing"
    assert view.intents


def test_reads_of_before_the_bounds_grew_tell_nothing_of_what_did_not_land() -> None:
    # They may be nearer to one another than a call can take now, or no later than the landing bound is now (seed 96475).
    three = replace(DECLARED, settling_reads=3)
    wide = replace(three, call_bound=s("60s"))
    view, _ = settled_step(record(*opening(), head=header(declared=three)), gated(), sent=BOUND)
    view, _ = settled_step(view, gated(), sent=BOUND + 30)
    assert view.intents[0].misses == 2
    view, made = settled_step(view, gated(), sent=BOUND + 60, declarations=wide)
    assert (view.intents[0].misses, waits(made)[0]) == (1, "await landing")
    view, _ = settled_step(view, gated(), sent=BOUND + 120, declarations=wide)
    assert view.intents[0].misses == 2
    assert kinds(step(view, gated(), sent=BOUND + 180, declarations=wide)) == ["Settled"]


def test_an_ended_job_keeps_its_bounds() -> None:
    view = judged(record(*ran()), succeeded())
    wide = replace(DECLARED, call_bound=s("60s"))
    assert row(step(view, succeeded(), sent=100, declarations=wide)) == "rest"
