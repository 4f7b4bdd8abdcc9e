"""Processes of ours that stop for longer than their deadline, die between any two steps, or run twice, on a real Slurm.

They are supervisors as people run them. What one was about to do when it stopped, another does meanwhile; on waking it
does nothing.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from dispatch.model.journal import Decided, Intended, Outcome, Settled, Verb
from dispatch.model.status import State
from slurm.faults import CLEAR, QUICK_TO_GIVE_UP, SBATCH, Story, selected, tell_all

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(400)]

STORIES: dict[str, Callable[[Story], None]] = {}

TEXTS = {
    Verb.START: "sbatch --parsable --hold",
    Verb.OPEN: "run clear scontrol",
    Verb.STOP: "run cancel scancel",
}
"""What the script of each call has in it, and that of no other."""


def story(function: Callable[..., None], *arguments: object) -> None:
    """Have it told, under its own name and what it is given."""
    name = " ".join([function.__name__.replace("_", " "), *map(str, arguments)])
    STORIES[name] = lambda story: function(story, *arguments)


def ended(told: Story, state: State, *starts: int) -> None:
    """Wait for the end; the job ended so, these submissions started, and nothing was charged."""
    view = told.seen("the verdict", lambda view: view.verdict is not None, 150)
    assert view.verdict is not None
    assert view.verdict.state is state, told.told()
    assert [one.submission for one in told.starts()] == list(starts), told.told()
    assert told.site.events(told.job, Decided) == [] or state is State.CANCELLED


def outcomes(told: Story, verb: Verb) -> list[Outcome]:
    """How the intents of that verb were settled, in their order."""
    intents = [event.intent for event in told.site.events(told.job, Intended)]
    settled = {event.intent: event.outcome for event in told.site.events(told.job, Settled)}
    return [settled[one.id] for one in intents if one.verb is verb]


def stopped_before(told: Story, verb: Verb) -> subprocess.Popen[bytes]:
    """Start a supervisor that stops between its intent of that verb and the call, for longer than the deadline."""
    told.submit(300 if verb is Verb.STOP else 3)
    told.pause_at(TEXTS[verb])
    first = told.supervise()
    if verb is Verb.STOP:
        told.started()
        told.site.system.ask_stop(told.job)
    told.paused()
    assert told.site.events(told.job, Intended)[-1].intent.verb is verb
    time.sleep(7)
    return first


def unchanged_by(told: Story, wake: Callable[[], None]) -> None:
    """Nothing changes at Slurm, or on the nodes, when this happens."""
    before = (told.site.squeue(told.job), told.starts())
    wake()
    time.sleep(4)
    assert (told.site.squeue(told.job), told.starts()) == before, told.told()


def it_stops_beyond_its_deadline_and_goes_on_alone(told: Story, verb: Verb) -> None:
    first = stopped_before(told, verb)
    told.awake(first)
    stop = verb is Verb.STOP
    ended(told, State.CANCELLED if stop else State.SUCCEEDED, 1)
    assert outcomes(told, verb) == [Outcome.NOT_LANDED, Outcome.LANDED]


def it_wakes_a_day_later_when_another_has_done_all(told: Story, verb: Verb) -> None:
    first = stopped_before(told, verb)
    told.supervise()
    stop = verb is Verb.STOP
    ended(told, State.CANCELLED if stop else State.SUCCEEDED, 1)
    assert outcomes(told, verb) == [Outcome.NOT_LANDED, Outcome.LANDED]
    unchanged_by(told, lambda: told.awake(first))
    assert first.poll() is None
    assert "Traceback" not in (told.place / "supervisor-0.log").read_text()


def it_is_killed_before_its_call(told: Story, verb: Verb) -> None:
    first = stopped_before(told, verb)
    first.kill()
    first.wait()
    told.supervise()
    ended(told, State.CANCELLED if verb is Verb.STOP else State.SUCCEEDED, 1)


for verb in TEXTS:
    story(it_stops_beyond_its_deadline_and_goes_on_alone, verb)
    story(it_wakes_a_day_later_when_another_has_done_all, verb)
story(it_is_killed_before_its_call, Verb.START)
story(it_is_killed_before_its_call, Verb.OPEN)


def it_is_killed_during_its_call_which_lands_late(told: Story, pattern: str) -> None:
    told.submit()
    told.stand_still_at(pattern)
    first = told.supervise()
    told.standing()
    first.kill()
    first.wait()
    told.supervise()
    time.sleep(3)
    told.go_on()
    ended(told, State.SUCCEEDED, 1)
    assert len(told.site.squeue(told.job)) == 1


story(it_is_killed_during_its_call_which_lands_late, SBATCH)
story(it_is_killed_during_its_call_which_lands_late, CLEAR)


def three_run_on_the_same_records(told: Story) -> None:
    told.submit()
    for _ in range(3):
        told.supervise()
    ended(told, State.SUCCEEDED, 1)
    assert [event.intent.verb for event in told.site.events(told.job, Intended)] == [
        Verb.START,
        Verb.OPEN,
    ]


story(three_run_on_the_same_records)


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[None]]]:
    names = selected(request, STORIES)
    yield from tell_all(names, tmp_path_factory, QUICK_TO_GIVE_UP)


@pytest.mark.parametrize("name", STORIES)
def test_a_process_that_stops_or_dies_does_nothing_late(
    told: dict[str, Future[None]], name: str
) -> None:
    told[name].result()
