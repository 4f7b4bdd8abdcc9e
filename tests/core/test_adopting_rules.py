"""Objects of ours that a record does not know, since it was set back, once or several times: O1, O5 and E7."""

from __future__ import annotations

import pytest

from core.builders import (
    calls,
    cancelled,
    ended,
    gated,
    held,
    kinds,
    nodes,
    nodes_wanted,
    opened,
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
from dispatch.model.answers import Action
from dispatch.model.journal import Verb
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import By, Cause, Detail, Observation, State
from dispatch.model.steps import Append, Call
from dispatch.model.view import JobView, Phase

AGAIN = Policy(
    rules=(Rule(when=(Cause.CANCELLED, Cause.PREEMPTED, Cause.NODE_LOST), do=Action.RESUBMIT),)
)
NEVER_RAN = cancelled(ran_for=None, nodes=())


def with_twin(view: JobView, *shown: Observation, sent: float = 0) -> JobView:
    """The record once it has adopted what is shown."""
    made = step(view, *shown, sent=sent)
    assert row(made) == "adopt"
    assert isinstance(made, Append)
    return tell(view, *made.events)


# --- what waits under a hold of ours


@pytest.mark.parametrize("by", [None, By.ADMINISTRATOR])
def test_what_is_adopted_beneath_a_hold_of_ours_is_never_released_since_it_may_not_have_been_opened(
    by: By | None,
) -> None:
    # An administrator's hold takes the flag of the gate, and ours its begin time (held, seed 50173).
    shown = held(by=by)
    view, made = settled_step(record(), shown)
    assert (view.objects[1].adopted, view.objects[1].phase) == (True, Phase.TAINTED)
    assert calls(made) == (Verb.STOP, 1)


def test_what_is_adopted_beneath_the_hold_of_others_goes_on_after_it() -> None:
    view, made = settled_step(record(), held(instance=None, by=By.ADMINISTRATOR))
    assert view.objects[1].phase is Phase.OPEN
    assert row(made) == "watch"


# --- another object of the same number


@pytest.mark.parametrize("lives", [queued(ref="twin"), running(ref="twin")])
def test_what_lives_is_adopted_in_place_of_an_object_of_its_number_that_was_never_opened(
    lives: Observation,
) -> None:
    gone = with_twin(record(*started(), read(gated())), lives)
    view = with_twin(record(*started(), read(gated())), gated(), lives)
    assert gone == view
    assert (view.objects[1].ref, view.objects[1].adopted) == ("twin", True)
    made = step(view, gated(), lives)
    assert isinstance(made, Call)
    assert (made.verb, made.ref, made.row) == (Verb.STOP, "ref-1", "stop")  # it is swept


def test_what_succeeded_is_adopted_in_place_of_an_object_that_was_never_opened() -> None:
    view = with_twin(record(*started(), read(gated())), gated(), succeeded(ref="twin"))
    view, _ = settled_step(view, succeeded(ref="twin"), sent=31)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED


@pytest.mark.parametrize("judged", [False, True])
def test_what_lives_is_adopted_in_place_of_an_object_of_its_number_that_never_ran(
    judged: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    view = record(*opened(), read(NEVER_RAN), policy=AGAIN)
    if judged:
        view, _ = settled_step(view, NEVER_RAN, sent=31)
        assert view.objects[1].phase in (Phase.JUDGED, Phase.CEASED)
    lives = running(ref="twin")
    view = with_twin(view, NEVER_RAN, lives, sent=40)
    view, made = settled_step(view, NEVER_RAN, lives, sent=41)
    assert (view.objects[1].ref, row(made)) == ("twin", "watch")
    view, _ = settled_step(view, NEVER_RAN, succeeded(ref="twin"), sent=50)
    view, _ = settled_step(view, NEVER_RAN, succeeded(ref="twin"), sent=81)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED


def test_of_what_is_adopted_after_a_restart_nobody_knows_where_it_ran_before() -> None:
    for restarts, known in ((0, ("n1", "n2")), (1, ())):
        view, _ = settled_step(record(policy=AGAIN), running(restarts=restarts), sent=100)
        view, _ = settled_step(view, ended(restarts=restarts), sent=110)
        assert nodes_wanted(view) == known


def test_the_second_of_a_number_is_judged_as_the_first_was() -> None:
    view, _ = settled_step(record(*opened(), read(NEVER_RAN), policy=AGAIN), NEVER_RAN, sent=31)
    lost = ended(ref="twin")
    view = with_twin(view, NEVER_RAN, running(ref="twin"), sent=40)
    view, _ = settled_step(view, NEVER_RAN, lost, sent=50)
    view, _ = settled_step(view, NEVER_RAN, lost, sent=51, nodes=nodes(n1=True, n2=True))
    view, made = settled_step(view, NEVER_RAN, lost, sent=91, nodes=nodes(n1=True, n2=True))
    assert len(view.decisions) == 2
    assert row(made) in ("await due", "start")


@pytest.mark.parametrize("hold", [False, True])
def test_what_waits_is_stopped_where_another_of_its_number_may_have_run(
    hold: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    # Neither could ever be opened or judged beside the other, and a hold of ours kept it waiting for ever (set-back, seed 50245).
    waits = held(ref="twin") if hold else queued(ref="twin")
    for events, shown in ((opened(), queued()), (ran(), running()), (ran(), ended())):
        view, made = settled_step(record(*events), shown, waits)
        assert isinstance(made, Call)
        assert (made.verb, made.ref, made.row) == (Verb.STOP, "twin", "stop")
        assert view.objects[1].ref == "ref-1"


def test_what_runs_is_waited_for_where_another_of_its_number_may_have_run() -> None:
    view = record(*ran())
    for shown in (running(), ended()):
        _, made = settled_step(view, shown, running(ref="twin"))
        assert row(made) == "blocked by another object"
    view, made = settled_step(view, ended(), ended(ref="twin"), sent=10)
    assert row(made) == "await save window"


def test_what_ran_and_has_ended_is_adopted_in_place_of_one_that_never_ran() -> None:
    # Its nodes must be proven clear, and a success of it is the job's.
    view = record(*opened(), read(NEVER_RAN), policy=AGAIN)
    lost = ended(cause=Cause.NODE_LOST, ref="twin", detail=Detail(nodes=("n1",)))
    view, made = settled_step(view, NEVER_RAN, lost, sent=31)
    assert (view.objects[1].ref, row(made)) == ("twin", "await save window")
    view, _ = settled_step(view, NEVER_RAN, lost, sent=61)
    assert view.decisions[-1][1].verdict.cause is Cause.NODE_LOST
    view, _ = settled_step(view, NEVER_RAN, lost, sent=70, nodes=nodes(n1=False, n2=True))
    assert view.objects[1].awaiting == ("n1",)
    assert view.objects[1].ref == "twin"


def test_two_that_ended_do_not_take_their_number_from_each_other() -> None:
    view = record(*opened(), read(NEVER_RAN))
    assert row(step(view, NEVER_RAN, cancelled(ref="twin"), sent=10)) == "await save window"
    view = record(*ran(), read(ended()))
    assert row(step(view, ended(), succeeded(ref="twin"), sent=10)) == "await save window"


def test_an_adoption_beneath_a_hold_is_one_append() -> None:
    assert kinds(step(record(), held())) == ["Adopted", "Forgot"]
