"""The controller hangs, dies and forgets, on a real Slurm: nothing is lost, nothing runs twice, nobody is charged.

What the controller forgets is what it has not saved: it saves at once when the last time is five seconds ago, and not
again for five seconds. Each story is told on a cluster of its own, all at once.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from dispatch.model.journal import Ceased, Decided, Forgot, Intended, Proof, Verb
from dispatch.model.status import Cause, State
from slurm.faults import (
    CANCEL,
    CLEAR,
    HOLD,
    QUICK_TO_GIVE_UP,
    RELEASE,
    SBATCH,
    Story,
    selected,
    tell_all,
)

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(400)]

STORIES: dict[str, Callable[[Story], None]] = {}


def story(function: Callable[..., None], *arguments: object) -> None:
    """Have it told, under its own name and what it is given."""
    name = " ".join([function.__name__.replace("_", " "), *map(str, arguments)])
    STORIES[name] = lambda story: function(story, *arguments)


def causes(told: Story) -> list[Cause | None]:
    """The causes of the executions that were decided on."""
    return [one.verdict.cause for one in told.site.events(told.job, Decided)]


def intended(told: Story) -> list[Verb]:
    """Every write that was intended."""
    return [event.intent.verb for event in told.site.events(told.job, Intended)]


def succeeds(told: Story, *submissions: int) -> None:
    """Wait for the end: a success of the last of these submissions, each of which has started once."""
    view = told.seen("the verdict", lambda view: view.verdict is not None, 150)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED, told.told()
    assert [one.submission for one in told.starts()] == list(submissions), told.told()
    assert told.ends() == [submissions[-1] * 1_000_000], told.told()


# --- it hangs during a call


def it_hangs_during_a_call(told: Story, pattern: str) -> None:
    told.submit()
    told.stand_still_at(pattern)
    told.supervise()
    told.standing()
    told.hang_controller()
    succeeds(told, 1)
    assert causes(told) == []
    # A release of which the reply was lost, and which a read does not show, opens nothing by itself: it is tried again.
    assert set(intended(told)) == {Verb.START, Verb.OPEN}
    assert intended(told).count(Verb.START) == 1


story(it_hangs_during_a_call, SBATCH)
story(it_hangs_during_a_call, RELEASE)
story(it_hangs_during_a_call, CLEAR)


def it_hangs_during_a_hold(told: Story) -> None:
    told.fill()
    told.submit()
    told.site.turn(told.job, 2)
    told.stand_still_at(HOLD)
    told.site.system.ask_hold(told.job, "not yet")
    told.supervise()
    told.standing()
    told.hang_controller()
    told.seen(
        "the hold", lambda view: bool(view.current and view.current.seen and view.current.seen.hold)
    )
    told.make_room()
    time.sleep(3)
    assert told.starts() == []
    told.site.system.ask_release(told.job)
    succeeds(told, 1)
    assert causes(told) == []


story(it_hangs_during_a_hold)


def it_hangs_during_a_stop(told: Story) -> None:
    told.submit(300)
    told.site.turn(told.job, 2)
    told.started()
    told.stand_still_at(CANCEL)
    told.site.system.ask_stop(told.job)
    told.supervise()
    told.standing()
    told.hang_controller()
    view = told.seen("the verdict", lambda view: view.verdict is not None)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.CANCELLED, Cause.STOPPED)
    assert [one.submission for one in told.starts()] == [1]
    assert told.ends() == []


story(it_hangs_during_a_stop)


# --- it is killed, and forgets


def it_is_killed_after_a_submission(told: Story, seconds: float) -> None:
    told.submit()
    told.let_it_save()
    told.site.turn(told.job)
    time.sleep(seconds)
    told.restart_controller()
    lost = told.site.squeue(told.job) == []
    told.supervise()
    succeeds(told, 1)  # as itself, with a new attempt: its N was never opened (12, O6)
    whys = [forgot.why for forgot in told.site.events(told.job, Forgot)]
    assert whys == (["the controller lost the object before its open"] if lost else [])
    assert set(causes(told)) <= {Cause.FORGOTTEN}


for pause in (0.2, 1, 3):
    story(it_is_killed_after_a_submission, pause)


def it_is_killed_after_an_open(told: Story, seconds: float) -> None:
    told.submit(7)
    told.site.turn(told.job)
    told.let_it_save()
    told.site.turn(told.job)
    time.sleep(seconds)
    told.restart_controller()
    told.supervise()
    view = told.seen("the verdict", lambda view: view.verdict is not None, 150)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED, told.told()
    assert told.site.events(told.job, Forgot), told.told()
    # Where the forgotten run came to its own success on the node, that is the job's.
    assert told.ends() == [view.current.submission * 1_000_000] if view.current else False
    assert set(causes(told)) <= {Cause.FORGOTTEN}


for pause in (0.2, 1, 3):
    story(it_is_killed_after_an_open, pause)


def forgets_a_start(told: Story, length: float, seconds: float, *, node_hangs: bool = False) -> str:
    """Let the controller save an open job that waits, start it, and forget that; returns the node of the start."""
    told.submit(length, partition="downp")
    told.site.turn(told.job, 2)
    told.let_it_save()
    told.open_partition()
    node = told.started()
    time.sleep(seconds)
    if node_hangs:
        told.lab.kill(f"slurmd:{node}", signal.SIGSTOP)
    told.restart_controller()
    told.forgot = told.site.squeue(told.job) == ["1 PENDING"]
    told.open_partition()
    return node


def it_forgets_a_start(told: Story, seconds: float) -> None:
    forgets_a_start(told, 12, seconds)
    told.supervise()
    view = told.seen("the verdict", lambda view: view.verdict is not None, 150)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED, told.told()
    assert set(causes(told)) <= {Cause.FORGOTTEN, Cause.FENCED, Cause.UNKNOWN}
    assert len(told.ends()) == 1


for pause in (0.2, 1, 2):
    story(it_forgets_a_start, pause)


def it_starts_a_job_again_while_the_first_lives_on_a_hung_node(told: Story, seconds: float) -> None:
    forgets_a_start(told, 20, seconds, node_hangs=True)
    if told.forgot:
        told.wait("a second launch", lambda: told.fenced() != [])
        assert told.ends() == [], "the first lived when the second was refused"
    told.wait("the end of the first", lambda: told.ends() != [])
    told.supervise()  # nobody looked until now
    succeeds(told, 1)
    assert causes(told) == []
    if told.forgot:
        verdict = told.view().verdict
        assert verdict is not None
        assert any(fact.field == "fenced" for fact in verdict.evidence), told.told()


for pause in (0.2, 1, 2):
    story(it_starts_a_job_again_while_the_first_lives_on_a_hung_node, pause)


def the_job_that_lives_on_a_hung_node_is_killed_when_the_node_comes_back(told: Story) -> None:
    node = forgets_a_start(told, 45, 1, node_hangs=True)
    told.supervise()
    told.wait("the decision", lambda: causes(told) != [])
    told.lab.kill(f"slurmd:{node}", signal.SIGCONT)
    succeeds(told, 1, 2)
    assert set(causes(told)) <= {Cause.FORGOTTEN, Cause.FENCED}
    (ceased,) = told.site.events(told.job, Ceased)
    assert ceased.proof is Proof.NODES_BACK


story(the_job_that_lives_on_a_hung_node_is_killed_when_the_node_comes_back)


def a_run_that_was_given_up_succeeds_while_its_node_hangs(told: Story) -> None:
    forgets_a_start(told, 25, 1, node_hangs=True)
    told.supervise()
    told.wait("the decision", lambda: causes(told) != [])
    assert told.ends() == [], "it had ended before it was given up: the story is another"
    succeeds(told, 1)
    assert set(causes(told)) <= {Cause.FORGOTTEN, Cause.FENCED}
    assert told.site.events(told.job, Ceased) == []


story(a_run_that_was_given_up_succeeds_while_its_node_hangs)


# --- it forgets an end, is away, gives an id away


def it_forgets_an_end(told: Story) -> None:
    told.submit(13)
    told.site.turn(told.job, 2)
    node = told.started()
    time.sleep(10)
    told.lab.text(
        "bob", "sbatch", "--hold", "--wrap", "true"
    )  # makes it save, and not again for 5 s
    told.wait("the end", lambda: told.ends() == [1_000_000])
    told.wait("its completion", lambda: told.site.squeue(told.job) == ["1 COMPLETED"], 5)
    told.restart_controller()
    assert told.site.squeue(told.job) == ["1 RUNNING"], "it was saved: the story is another"
    told.supervise()
    told.seen("a run", lambda view: bool(view.current and view.current.ran))
    # Left alone, it reads RUNNING for 194 s; a node that registers anew tells the controller sooner, though not within
    # BatchStartTimeout (10 s) and MessageTimeout of the controller's own start.
    time.sleep(16)
    told.lab.kill(f"slurmd:{node}")
    told.lab.start(f"slurmd:{node}")
    succeeds(told, 1)
    assert told.site.squeue(told.job) == ["1 NODE_FAIL"]
    assert causes(told) == []


def it_is_away_for_two_minutes(told: Story) -> None:
    told.submit(40)
    told.supervise()
    told.started()
    told.seen("a run", lambda view: bool(view.current and view.current.ran))
    time.sleep(6)
    told.restart_controller(after=120)
    succeeds(told, 1)
    assert causes(told) == []


def it_gives_the_id_to_another_job(told: Story) -> None:
    told.submit()
    told.let_it_save()
    told.site.turn(told.job)
    number = told.site.slurm_id(told.job)
    told.restart_controller()
    other = told.lab.text("alice", "sbatch", "--parsable", "--wrap", "sleep 600")
    assert other == number
    told.supervise()
    succeeds(told, 1)
    assert told.lab.text("alice", "squeue", "-h", "-j", other, "-o", "%T") == "RUNNING"
    assert told.site.slurm_id(told.job) != other


for last in (it_forgets_an_end, it_gives_the_id_to_another_job):
    story(last)
# The longest first.
IN_ORDER = {"it is away for two minutes": it_is_away_for_two_minutes, **STORIES}


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[None]]]:
    names = selected(request, IN_ORDER)
    yield from tell_all(names, tmp_path_factory, QUICK_TO_GIVE_UP)


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_controller_that_fails_costs_nothing_but_time(
    told: dict[str, Future[None]], name: str
) -> None:
    told[name].result()
