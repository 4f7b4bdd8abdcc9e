"""The stories whose every point is tried: the standard life of a job, and what people and clusters do to it."""

from __future__ import annotations

from crash.story import (
    Act,
    End,
    Story,
    Tale,
    ask,
    at_once,
    befalls,
    happens,
    passes,
    recorded,
    runs,
    submit,
    turn,
)
from dispatch.model.answers import Action
from dispatch.model.errors import Rejected
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, State
from dispatch.model.view import JobView, Phase
from dispatch.shell.driving import Until, has_reached


def resubmit(limit: int = 3, seconds: int = 30) -> Policy:
    """A policy that goes on after what the infrastructure did."""
    rule = Rule(
        when=(Cause.PREEMPTED, Cause.NODE_LOST, Cause.LAUNCH_FAILED),
        do=Action.RESUBMIT,
        limit=limit,
        backoff=Backoff(initial=Duration(seconds=seconds), max=Duration(hours=2), jitter=0),
    )
    return Policy(rules=(rule,))


def is_open(view: JobView) -> bool:
    """Whether the current object's open has landed."""
    return view.current is not None and view.current.phase is Phase.OPEN


def seen_running(number: int) -> Act:
    """Wait until the record knows that the submission runs."""

    def holds(view: JobView) -> bool:
        return number in view.objects and view.objects[number].ran is not None

    return Act(when=recorded(holds), by_world=lambda _: None)


def acknowledged(tale: Tale) -> bool:
    """Whether what was asked for last is true."""
    return recorded(lambda view: has_reached(view, Until.ACKNOWLEDGED))(tale)


def is_held(number: int) -> Act:
    """Wait until that submission is open and shows its hold."""

    def holds(view: JobView) -> bool:
        known = view.objects.get(number)
        return bool(known and known.phase is Phase.OPEN and known.seen and known.seen.hold)

    return Act(when=recorded(holds), by_world=lambda _: None)


def awaits_cessation(view: JobView) -> bool:
    """Whether nodes are awaited."""
    return view.current is not None and bool(view.current.awaiting)


def backs_off(view: JobView) -> bool:
    """Whether it waits for the due time of its next submission."""
    return view.current is not None and view.current.phase is Phase.CEASED


def has_ended(view: JobView) -> bool:
    """Whether the job has its final verdict."""
    return view.verdict is not None


HOLD_RULE = Policy(rules=(Rule(when=(Cause.NON_ZERO_EXIT,), do=Action.HOLD),))
FULL = befalls(at_once, "set_capacity", 0)


STORIES = (
    Story(
        name="success",
        acts=(submit(nodes=2), seen_running(1), happens(runs(1), "finish")),
        ends=(End(State.SUCCEEDED, None, 1),),
        points=55,
    ),
    Story(
        name="preempted, resubmitted, success",
        acts=(
            submit(resubmit(), nodes=2),
            seen_running(1),
            happens(runs(1), "preempt"),
            seen_running(2),
            happens(runs(2), "finish"),
        ),
        ends=(End(State.SUCCEEDED, None, 2, 1),),
        points=117,
    ),
    Story(
        name="node lost and back, resubmitted, success",
        acts=(
            submit(resubmit(), nodes=2),
            seen_running(1),
            befalls(runs(1), "lose_node", "n2"),
            Act(when=recorded(awaits_cessation), by_world=lambda _: None),
            passes(2),
            befalls(at_once, "return_node", "n2"),
            happens(runs(2), "finish"),
        ),
        ends=(End(State.SUCCEEDED, None, 2, 1),),
        points=144,
    ),
    Story(
        name="preempted beyond its limit",
        acts=(
            submit(resubmit(limit=1)),
            happens(runs(1), "preempt"),
            happens(runs(2), "preempt"),
        ),
        ends=(End(State.FAILED, Cause.PREEMPTED, 2, 1),),
        points=97,
    ),
    Story(
        name="failed by its policy",
        acts=(submit(resubmit()), happens(runs(1), "finish", 3)),
        ends=(End(State.FAILED, Cause.NON_ZERO_EXIT, 1),),
        points=45,
    ),
    Story(
        name="held before its open, released, success",
        acts=(
            FULL,
            submit(drive=False),
            ask("hold", at_once),
            is_held(1),
            befalls(at_once, "set_capacity", None),
            passes(2),
            ask("release", at_once),
            happens(runs(1), "finish"),
        ),
        ends=(End(State.SUCCEEDED, None, 1),),
        points=89,
    ),
    Story(
        name="held while pending, released, success",
        acts=(
            FULL,
            submit(),
            ask("hold", at_once),
            befalls(acknowledged, "set_capacity", None),
            passes(2),
            ask("release", at_once),
            happens(runs(1), "finish"),
        ),
        ends=(End(State.SUCCEEDED, None, 1),),
        points=96,
    ),
    Story(
        name="held by its policy, released, success",
        acts=(
            submit(HOLD_RULE),
            happens(runs(1), "finish", 3),
            is_held(2),
            passes(2),
            ask("release", at_once),
            happens(runs(2), "finish"),
        ),
        ends=(End(State.SUCCEEDED, None, 2, 1),),
        points=131,
    ),
    Story(
        name="stopped while gated",
        acts=(
            FULL,
            submit(drive=False),
            turn(),
            ask("stop", at_once),
            befalls(recorded(has_ended), "set_capacity", None),
        ),
        ends=(End(State.CANCELLED, Cause.STOPPED, 0),),
        points=41,
    ),
    Story(
        name="stopped while pending",
        acts=(
            FULL,
            submit(),
            ask("stop", at_once),
            befalls(recorded(has_ended), "set_capacity", None),
        ),
        ends=(End(State.CANCELLED, Cause.STOPPED, 0),),
        points=59,
    ),
    Story(
        name="stopped while running",
        acts=(submit(resubmit()), seen_running(1), ask("stop", at_once)),
        ends=(End(State.CANCELLED, Cause.STOPPED, 1),),
        points=66,
    ),
    Story(
        name="stopped while backing off",
        acts=(
            submit(resubmit(seconds=3600)),
            happens(runs(1), "preempt"),
            ask("stop", recorded(backs_off)),
        ),
        ends=(End(State.CANCELLED, Cause.STOPPED, 1, 1),),
        points=61,
    ),
    Story(
        name="stopped while awaiting cessation",
        acts=(
            submit(resubmit(), nodes=2),
            seen_running(1),
            befalls(runs(1), "lose_node", "n2"),
            ask("stop", recorded(awaits_cessation)),
        ),
        ends=(End(State.CANCELLED, Cause.STOPPED, 1, 1),),
        points=81,
    ),
    Story(
        name="refused for now, twice",
        acts=(
            befalls(at_once, "refuse_next"),
            submit(drive=False),
            turn(),
            turn(),
            befalls(at_once, "refuse_next"),
            happens(runs(1), "finish"),
        ),
        ends=(End(State.SUCCEEDED, None, 1),),
        points=81,
    ),
    Story(
        name="refused for good",
        acts=(
            *[befalls(at_once, "refuse_next", Rejected("Invalid partition name specified"))] * 9,
            submit(resubmit()),
        ),
        ends=(End(State.FAILED, Cause.REJECTED, 0),),
        points=17,
    ),
    Story(
        name="three together, success",
        acts=(
            submit(),
            seen_running(1),
            *[happens(runs(1, job), "finish", to=job) for job in range(3)],
        ),
        ends=(End(State.SUCCEEDED, None, 1),) * 3,
        points=71,
    ),
    Story(
        name="three together, one stopped while gated",
        acts=(
            FULL,
            submit(drive=False),
            turn(),
            ask("stop", at_once, of=1),
            befalls(recorded(has_ended, of=1), "set_capacity", None),
            *[happens(runs(1, job), "finish", to=job) for job in (0, 2)],
        ),
        ends=(
            End(State.SUCCEEDED, None, 1),
            End(State.CANCELLED, Cause.STOPPED, 0),
            End(State.SUCCEEDED, None, 1),
        ),
        points=80,
    ),
)
BY_NAME = {story.name: story for story in STORIES}
