"""The decision table: each row is reached, in an order that is part of the protocol."""

from __future__ import annotations

import inspect
import re

import pytest

from core.builders import (
    BOTH_UP,
    at,
    calls,
    ceased,
    ended,
    gated,
    held,
    intent,
    judged,
    key,
    opened,
    opening,
    queued,
    ran,
    read,
    record,
    row,
    running,
    settled_step,
    started,
    step,
    succeeded,
    tell,
)
from dispatch.core import deciding, ending, reading, starting, stopping
from dispatch.core.deciding import ROWS
from dispatch.model.answers import Action
from dispatch.model.journal import (
    AnyEvent,
    Forgot,
    HoldAsked,
    Intended,
    Outcome,
    ReleaseAsked,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import By, Cause, HoldSeen, Observation
from dispatch.model.view import JobView

AGAIN = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.RESUBMIT),))
STOP = StopAsked(by="alice")
HOLD = HoldAsked(instance=1, by="alice")
START = Intended(intent=intent(Verb.START))


def refused(outcome: Outcome, seconds: float | None = None) -> tuple[AnyEvent, ...]:
    retry = None if seconds is None else at(seconds)
    return (START, Settled(intent="start-1", outcome=outcome, reason="no", retry_at=retry))


FOREIGN = gated(ref="x", key=key(store="other"))


TWICE_REFUSED = tuple(
    event
    for name in ("h1", "h2")
    for event in (
        Intended(intent=intent(Verb.HOLD, id=name, instance=1)),
        Settled(intent=name, outcome=Outcome.NOT_LANDED, reason="it had that hold", retry_at=at(1)),
    )
)


def situations() -> dict[str, tuple[JobView, tuple[Observation, ...], float]]:
    """For each outcome of a row: a view and a read that reach it."""
    over = judged(record(*ran(), policy=AGAIN), ended())
    done = judged(record(*ran()), succeeded())
    return {
        "record what was read": (record(*started()), (gated(),), 0),
        "stop": (record(*ran(), STOP), (running(),), 0),
        "settle": (record(START), (gated(),), 0),
        "await landing": (record(START), (), 0),
        "rest": (done, (succeeded(),), 100),
        "adopt": (record(), (running(),), 0),
        "await stop": (
            record(*opening(), Settled(intent="open-1", outcome=Outcome.UNKNOWN, retry_at=at(9))),
            (gated(),),
            0,
        ),
        "blocked by another object": (record(), (FOREIGN,), 0),
        "late success": (over, (succeeded(),), 31),
        "hold ends": (record(HoldAsked(instance=1, by="a", until=at(0))), (), 0),
        "end refused": (record(*refused(Outcome.REJECTED)), (), 0),
        "await retry": (record(*refused(Outcome.BUSY, 9)), (), 0),
        "note missing": (record(*ran()), (), 0),
        "await evidence": (settled_step(record(*ran()))[0], (), 0),
        "start lost": (settled_step(record(*started(), read(gated())))[0], (), 30),
        "judge": (record(*ran(), read(ended())), (ended(),), 30),
        "held by an administrator": (
            record(*started(), read(gated(hold=held(1, None, By.ADMINISTRATOR).hold))),
            (gated(hold=held(1, None, By.ADMINISTRATOR).hold),),
            0,
        ),
        "await saved hold": (
            record(*started(), HOLD, read(gated(hold=HoldSeen(instance=1)))),
            (gated(hold=HoldSeen(instance=1)),),
            0,
        ),
        "hold": (record(*opened(), read(queued()), HOLD), (queued(),), 0),
        "hold anew": (record(*opened(), read(queued()), HOLD, *TWICE_REFUSED), (queued(),), 9),
        "release": (record(*opened(), read(held())), (held(),), 0),
        "open": (record(*started(), read(gated())), (gated(),), 0),
        "forgotten": (record(*opened(), read(gated())), (gated(),), 0),
        "await cleaning": (
            record(*ran(), read(ended(cleaning=True))),
            (ended(cleaning=True),),
            0,
        ),
        "await finality": (record(*ran(), read(ended(final=False))), (ended(final=False),), 0),
        "await save window": (record(*ran(), read(ended())), (ended(),), 0),
        "nodes back": (record(*ran(), read(ended()), policy=AGAIN), (ended(),), 1),
        "stopped between executions": (tell(over, STOP), (ended(),), 31),
        "cessation": (over, (ended(),), 31),
        "await cessation": (settled_step(over, ended(), sent=31)[0], (ended(),), 31),
        "stopped before it started": (record(STOP), (), 0),
        "await due": (ceased(record(*ran(), policy=AGAIN), ended(), sent=0), (ended(),), 0),
        "start": (record(), (), 0),
        "watch": (record(*ran()), (running(),), 0),
    }


NAMES = sorted(situations())
OF_THE_LISTING = {"stale listing", "widen bounds"}
"""Rows that other things of a listing reach than its observations; test_reading_rules and test_bounds have them."""


@pytest.mark.parametrize("name", NAMES)
def test_each_row_is_reached(name: str) -> None:
    view, observations, sent = situations()[name]
    nodes = BOTH_UP if name == "nodes back" else None
    assert row(step(view, *observations, sent=sent, nodes=nodes)) == name


def test_every_name_of_a_row_in_the_source_is_reached() -> None:
    named: set[str] = set()
    for module in (deciding, ending, reading, starting, stopping):
        source = inspect.getsource(module)
        named |= set(re.findall(r'row="([^"]+)"', source))
        named |= set(re.findall(r'stopped\(s, "([^"]+)"\)', source))
    assert (named | {"rest"}) - OF_THE_LISTING == set(NAMES)


def test_the_rows_come_in_the_order_of_the_protocol() -> None:
    assert [row_.__name__ for row_ in ROWS] == [
        "widen_bounds", "record_what_was_read", "stop_what_lives", "settle_intents", "rest", "sweep", "adopt",
        "stop_superseded", "wait_for_others", "learn_of_success", "expire_hold", "end_refused",
        "wait_for_retry", "note_nodes_back", "note_missing", "notice_forgetting", "keep_holds", "judge", "prove_cessation", "open_gate",
        "begin",
    ]  # fmt: skip


def test_every_row_explains_itself() -> None:
    assert all(row_.__doc__ for row_ in ROWS)


def test_a_refused_write_delays_what_is_swept_too() -> None:
    orphan = gated(ref="orphan")
    busy = Settled(intent="x", outcome=Outcome.BUSY, reason="full", retry_at=at(60))
    view = record(*opened(2), Intended(intent=intent(Verb.HOLD, 2, id="x", instance=1)), busy)
    _, made = settled_step(view, queued(2), orphan)
    assert row(made) == "blocked by another object"
    assert calls(step(view, queued(2), orphan, sent=60)) is None  # what is read comes first
    assert calls(settled_step(view, queued(2), orphan, sent=60)[1]) == (Verb.STOP, 1)


def test_a_hold_that_is_released_before_it_was_placed_is_never_placed() -> None:
    view = record(*opened(), read(queued()), HOLD, ReleaseAsked(instance=1, by="a"))
    assert row(step(view, queued())) == "watch"


def test_what_was_lost_while_gated_is_no_business_of_a_stopped_job() -> None:
    view = record(*started(), Forgot(submission=1, why="gone"), STOP)
    assert row(step(view)) == "stopped before it started"
