"""The kill wait, after ordinary ends too: it begins with the first read of an end, and passes beside the save window (12, E4)."""

from __future__ import annotations

import pytest

from core.builders import (
    BOTH_UP,
    at,
    calls,
    ended,
    judged,
    kinds,
    nodes,
    nodes_wanted,
    ran,
    record,
    row,
    running,
    settled_step,
    step,
    succeeded,
    tell,
    waits,
)
from dispatch.model.answers import Action
from dispatch.model.journal import Proof, StopAsked, Verb
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import Cause, Detail, Observation

AGAIN = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.RESUBMIT),))
N2_AWAY = nodes(n1=True, n2=False)


def test_after_an_ordinary_end_every_node_must_respond_for_the_kill_wait() -> None:
    # One that fell silent while it cleaned up was given up by the controller, and may be back a moment ago (seed 48999).
    view = judged(record(*ran(), policy=AGAIN), ended())
    assert nodes_wanted(view) == ("n1", "n2")
    made = step(view, ended(), sent=40)
    assert kinds(made) == ["Awaiting"]
    view, made = settled_step(view, ended(), sent=40, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 80)
    assert row(step(view, ended(), sent=79, nodes=BOTH_UP)) == "await cessation"
    view, made = settled_step(view, ended(), sent=80, nodes=BOTH_UP)
    assert view.objects[1].proof is Proof.NODES_BACK
    assert calls(made) == (Verb.START, 2)


def test_the_kill_wait_passes_beside_the_save_window() -> None:
    view, made = settled_step(record(*ran(), policy=AGAIN), ended(), sent=100)
    assert waits(made) == ("await save window", 130)
    assert nodes_wanted(view) == ("n1", "n2")
    assert row(step(view, ended(), sent=101, nodes=BOTH_UP)) == "nodes back"
    view, made = settled_step(view, ended(), sent=101, nodes=BOTH_UP)
    assert view.objects[1].nodes_back == at(101)
    assert waits(made) == ("await save window", 130)
    view, made = settled_step(view, ended(), sent=130, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 141)
    view, made = settled_step(view, ended(), sent=141, nodes=BOTH_UP)
    assert calls(made) == (Verb.START, 2)


def test_the_kill_wait_of_what_was_purged_in_its_save_window_goes_on() -> None:
    view, _ = settled_step(record(*ran(), policy=AGAIN), ended(), sent=100)
    view, made = settled_step(view, sent=105, nodes=BOTH_UP)
    assert (view.objects[1].nodes_back, waits(made)) == (at(105), ("await save window", 130))


def test_no_kill_wait_begins_while_a_node_is_away_or_may_still_clean_up() -> None:
    view, _ = settled_step(record(*ran(), policy=AGAIN), ended(cleaning=True), sent=100)
    assert nodes_wanted(view) is None
    view, made = settled_step(view, ended(cleaning=True), sent=101, nodes=BOTH_UP)
    assert (view.objects[1].nodes_back, row(made)) == (None, "await cleaning")
    view, _ = settled_step(view, ended(), sent=125, nodes=N2_AWAY)
    assert (view.objects[1].nodes_back, view.objects[1].awaiting) == (None, ())
    view, _ = settled_step(view, ended(), sent=127, nodes=BOTH_UP)
    view, made = settled_step(view, ended(), sent=130, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 167)


@pytest.mark.parametrize(
    ("gone", "waiting", "back"),
    [(129, "await save window", 131), (135, "await cessation", 150)],
    ids=["within the save window", "after it"],
)
def test_a_node_that_goes_away_once_the_kill_wait_has_begun_begins_it_again(
    gone: int, waiting: str, back: int
) -> None:
    view, _ = settled_step(record(*ran(), policy=AGAIN), ended(), sent=100)
    view, _ = settled_step(view, ended(), sent=101, nodes=BOTH_UP)
    view, made = settled_step(view, ended(), sent=gone, nodes=N2_AWAY)
    assert (view.objects[1].nodes_back, view.objects[1].awaiting) == (None, ("n2",))
    assert row(made) == waiting
    view, made = settled_step(view, ended(), sent=back, nodes=BOTH_UP)
    assert waits(made) == ("await cessation", back + 40)


def test_a_read_of_no_nodes_says_nothing_of_the_kill_wait() -> None:
    view, _ = settled_step(record(*ran(), policy=AGAIN), ended(), sent=100)
    view, _ = settled_step(view, ended(), sent=101, nodes=BOTH_UP)
    view, _ = settled_step(view, ended(), sent=110, nodes=())
    assert view.objects[1].nodes_back == at(101)


@pytest.mark.parametrize(
    ("between", "later"),
    [
        ([running()], ended()),
        ([ended(cleaning=True)], ended()),
        ([], ended(restarts=1)),
        ([], ended(started=at(50))),
        ([], ended(detail=Detail(nodes=("n3",)))),
        ([], ended(cause=Cause.FENCED)),
    ],
    ids=[
        "it ran on",
        "it is cleaned up",
        "it was requeued and ran",
        "it ran again",
        "elsewhere too",
        "nobody knows where",
    ],
)
def test_a_kill_wait_that_began_before_more_was_known_says_nothing(
    between: list[Observation], later: Observation
) -> None:
    view, _ = settled_step(record(*ran(), policy=AGAIN), ended(), sent=100)
    view, _ = settled_step(view, ended(), sent=101, nodes=BOTH_UP)
    for seen in (*between, later):
        view, _ = settled_step(view, seen, sent=110)
    assert view.objects[1].nodes_back is None


def test_an_end_under_another_boot_begins_the_kill_wait_again() -> None:
    view, _ = settled_step(record(*ran(), policy=AGAIN), ended(), sent=100)
    view, _ = settled_step(view, ended(), sent=101, nodes=BOTH_UP)
    view, _ = settled_step(view, ended(), sent=110, boot="b2")
    assert view.objects[1].nodes_back is None


@pytest.mark.parametrize(
    ("policy", "end", "stop"),
    [
        (None, ended(), False),
        (AGAIN, succeeded(), False),
        (AGAIN, ended(), True),
        (AGAIN, ended(final=False), False),
    ],
    ids=["no rule", "a success", "a stop", "it may be run again"],
)
def test_nodes_are_not_asked_where_nothing_follows(
    policy: Policy | None, end: Observation, *, stop: bool
) -> None:
    view, _ = settled_step(record(*ran(), policy=policy), end, sent=100)
    view = tell(view, StopAsked(by="alice")) if stop else view
    assert nodes_wanted(view) is None
    assert row(step(view, end, sent=101, nodes=BOTH_UP)) in ("await save window", "await finality")
