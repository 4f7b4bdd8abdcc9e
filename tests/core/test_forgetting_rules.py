"""What a controller that crashed forgets, and what it brings back: O3, O4, E1 and E4 of the hard cases."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.builders import (
    BOTH_UP,
    DECLARED,
    at,
    calls,
    cancelled,
    ceased,
    ended,
    gated,
    header,
    held,
    nodes,
    nodes_wanted,
    opened,
    opening,
    queued,
    ran,
    read,
    record,
    row,
    running,
    s,
    seen,
    settled_step,
    started,
    tell,
    waits,
)
from dispatch.model.answers import Action
from dispatch.model.journal import (
    HoldAsked,
    StopAsked,
    Verb,
)
from dispatch.model.policy import Policy, Rule
from dispatch.model.status import Cause, Detail, Gate, Observation, State, Verdict
from dispatch.model.steps import Step
from dispatch.model.view import JobView, Phase


def hold(instance: int = 1, until: float | None = None) -> HoldAsked:
    return HoldAsked(
        instance=instance, by="alice", why="wait", until=None if until is None else at(until)
    )


# --- O3: what a controller forgot


def forgotten(view: JobView, *seen: Observation, boot: str = "b2") -> tuple[JobView, Step]:
    return settled_step(view, *seen, sent=60, boot=boot)


def test_a_forgotten_open_is_stopped_and_not_repeated() -> None:
    view, made = forgotten(record(*opened(), read(queued())), gated())
    assert view.objects[1].why == "the controller forgot the open"
    assert calls(made) == (Verb.STOP, 1)


def test_a_forgotten_start_is_stopped_before_it_runs_again() -> None:
    view, made = forgotten(record(*ran()), queued())
    assert view.objects[1].why == "the controller forgot the start"
    assert calls(made) == (Verb.STOP, 1)


@pytest.mark.parametrize("cause", [Cause.PREEMPTED, Cause.EVICTED, Cause.AWAITING_READMISSION])
def test_an_object_that_its_scheduler_has_put_back_without_counting_it_is_not_forgotten(
    cause: Cause,
) -> None:
    back = queued(verdict=Verdict(state=State.PENDING, cause=cause))
    view, made = settled_step(record(*ran()), back, sent=60)
    assert view.objects[1].phase is Phase.OPEN
    assert row(made) == "watch"


def test_a_controller_that_forgets_nothing_has_run_it_again_between_two_reads() -> None:
    durable = header(declared=replace(DECLARED, save_window=s("0s")))
    view, made = settled_step(record(*ran(), head=durable), running(start=50), sent=60)
    assert view.objects[1].phase is Phase.OPEN
    assert row(made) == "watch"


def test_a_start_that_only_its_ticket_tells_of_is_as_forgotten_and_not_waited_for() -> None:
    started_once = Verdict(
        state=State.PENDING, cause=Cause.FORGOTTEN, detail=Detail(nodes=("n1",)), proven=True
    )
    told = seen(1, started_once, gate=Gate.OPEN)
    for before in (opened(), (*opened(), read(queued())), opening()):
        view, made = forgotten(record(*before), told)
        assert view.objects[1].why == "the controller forgot the start"
        assert view.objects[1].phase is Phase.TAINTED
        assert calls(made) == (Verb.STOP, 1) or made.row == "await landing"
    view, _ = forgotten(record(*opened(), read(queued())), queued())
    assert not view.objects[1].why


def test_an_execution_that_was_started_twice_under_one_epoch_is_stopped() -> None:
    view, made = forgotten(record(*ran()), running(start=50, nodes=("n3",)))
    assert view.objects[1].why == "the controller forgot the start and started it again"
    assert view.objects[1].ran_on == ("n1", "n2", "n3")
    assert calls(made) == (Verb.STOP, 1)


def test_a_restart_count_that_fell_is_a_requeue_forgotten() -> None:
    for shown in (queued(restarts=1), running(restarts=1), ended(restarts=1)):
        view, _ = forgotten(record(*ran(restarts=2)), shown)
        assert view.objects[1].why == "the controller forgot a requeue"


def test_a_forgotten_end_that_waits_again_is_stopped() -> None:
    view, made = forgotten(record(*opened(), read(ended())), queued())
    assert view.objects[1].phase is Phase.TAINTED
    assert calls(made) == (Verb.STOP, 1)


def test_a_forgotten_end_that_is_gated_again_is_no_cancellation_of_the_job() -> None:
    view, made = forgotten(record(*opened(), read(ended())), gated())
    assert view.objects[1].why == "the controller forgot its end"
    assert calls(made) == (Verb.STOP, 1)
    view, _ = settled_step(view, cancelled(), sent=70, boot="b2")
    view, _ = settled_step(view, cancelled(), sent=101, boot="b2")
    assert view.verdict is None
    assert view.decisions[-1][1].verdict.cause is Cause.FORGOTTEN


def test_what_somebody_puts_back_after_its_end_is_stopped_and_blames_no_controller() -> None:
    # Cancelled before its open, with its requeue bit set by hand, and requeued: it is gated again, under the same boot.
    view = record(*started(), read(gated()), read(cancelled(final=False)))
    view, made = settled_step(view, gated(), sent=60)
    assert view.objects[1].why == "somebody has put it back after its end"
    assert calls(made) == (Verb.STOP, 1)
    view, _ = settled_step(view, cancelled(), sent=70)
    view, _ = settled_step(view, cancelled(), sent=101)
    assert view.decisions[-1][1].verdict.cause is Cause.CANCELLED


def test_an_external_requeue_is_a_new_epoch_and_not_forgotten() -> None:
    view, made = settled_step(record(*ran()), queued(restarts=1), sent=60)
    assert row(made) == "watch"
    view, made = settled_step(view, running(restarts=1, start=70), sent=80)
    assert view.objects[1].phase is Phase.OPEN
    epoch = view.epoch()
    assert epoch is not None
    assert str(epoch) == "1.1"
    assert row(made) == "watch"


def test_a_run_whose_start_time_is_not_known_is_not_a_second_run() -> None:
    view, _ = settled_step(record(*ran(started=None)), running(start=5), sent=60)
    assert view.objects[1].phase is Phase.OPEN
    view, _ = settled_step(record(*ran(start=5)), running(started=None), sent=60)
    assert view.objects[1].phase is Phase.OPEN


def test_a_second_start_that_has_ended_already_leaves_its_end_and_a_taint() -> None:
    view, _ = settled_step(record(*ran()), ended(started=at(50)), sent=60)
    assert view.objects[1].phase is Phase.ENDED
    assert view.objects[1].why == "the controller forgot the start and started it again"


def test_a_start_forgotten_while_its_open_is_not_settled_is_noticed_too() -> None:
    view, _ = settled_step(record(*opening(), read(running())), queued(), sent=1, boot="b2")
    assert view.objects[1].phase is Phase.TAINTED


def test_a_persons_hold_beside_ours_is_no_forgotten_open_under_the_boot_of_the_open() -> None:
    view = record(*opened(), hold(), read(held()))
    both = held(gate=Gate.CLOSED)
    kept, made = settled_step(view, both)
    assert kept.objects[1].phase is Phase.OPEN
    assert row(made) == "watch"
    for shown, boot in ((both, "b2"), (gated(), "b1")):
        lost, _ = settled_step(view, shown, boot=boot)
        assert lost.objects[1].phase is Phase.TAINTED


# --- O4: Fenced


def fenced(**fields: object) -> Observation:
    return ended(cause=Cause.FENCED, ran_for=1, **fields)  # type: ignore[arg-type]


def test_fenced_charges_nobody_and_goes_on() -> None:
    view, _ = settled_step(record(*opened()), fenced(), sent=10)
    view, made = settled_step(view, fenced(), sent=41)
    (_, decided) = view.decisions[-1]
    assert (decided.budget, decided.rule) == (None, None)
    assert view.verdict is None
    assert row(made) == "await cessation"


def test_fenced_awaits_every_node_since_nobody_may_have_seen_the_first_launch() -> None:
    view, _ = settled_step(record(*opened()), fenced(), sent=10)
    view, _ = settled_step(view, fenced(), sent=41)
    assert nodes_wanted(view) == ()
    named = fenced(detail=Detail(nodes=("n7",)))
    view, _ = settled_step(record(*opened()), named, sent=10)
    view, _ = settled_step(view, named, sent=41)
    assert nodes_wanted(view) == ("n1", "n2", "n7")


def test_fenced_without_any_node_is_not_taken_for_never_run() -> None:
    bare = ended(cause=Cause.FENCED, ran_for=None)
    view, _ = settled_step(record(*opened()), bare, sent=10)
    view, made = settled_step(view, bare, sent=41)
    assert row(made) == "await cessation"


# --- older objects that come back


def test_an_ended_copy_of_a_known_number_is_not_adopted() -> None:
    view = second()
    _, made = settled_step(view, ended(), ended(ref="copy"), gated(2), sent=900)
    assert calls(made) == (Verb.OPEN, 2)


def test_an_older_object_that_was_revived_is_stopped_before_the_newer_is_opened() -> None:
    view = second()
    view, made = settled_step(view, running(), gated(2), sent=900, boot="b2")
    assert calls(made) == (Verb.STOP, 1)
    for shown in (ended(cleaning=True), ended(final=False)):
        _, made = settled_step(view, shown, gated(2), sent=910, boot="b2")
        assert row(made) == "blocked by another object"
    view, made = settled_step(
        view, ended(), gated(2), sent=910, boot="b2", nodes=nodes(n1=True, n2=False)
    )
    assert row(made) == "await cessation"
    view, made = settled_step(view, ended(), gated(2), sent=920, boot="b2", nodes=BOTH_UP)
    assert waits(made) == ("await cessation", 960)
    _, made = settled_step(view, ended(), gated(2), sent=960, boot="b2", nodes=BOTH_UP)
    assert calls(made) == (Verb.OPEN, 2)


def second() -> JobView:
    policy = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.RESUBMIT),))
    view = ceased(record(*ran(), policy=policy), ended())
    return tell(view, *started(2), read(gated(2)))


def test_an_older_object_that_was_superseded_unjudged_is_proven_gone_before_the_next() -> None:
    policy = Policy(rules=(Rule(when=(Cause.PREEMPTED,), do=Action.RESUBMIT),))
    view, made = settled_step(record(*ran(), policy=policy), running(), running(2))
    assert calls(made) == (Verb.STOP, 1)  # the record was behind: submission 2 was adopted
    one, two = ended(), ended(2, nodes=("n3",))
    view, made = settled_step(view, one, running(2), sent=10)
    assert row(made) == "watch"  # what runs is left alone meanwhile
    view, _ = settled_step(view, one, two, sent=20)
    view, made = settled_step(view, one, two, sent=60, nodes=nodes(n1=True, n2=False))
    assert view.objects[2].phase is Phase.JUDGED
    assert view.objects[1].awaiting == ("n2",)
    assert nodes_wanted(view) == ("n1", "n2")
    for sent in (70, 110):
        view, _ = settled_step(view, one, two, sent=sent, nodes=BOTH_UP)
    assert view.objects[1].phase is Phase.CEASED
    assert nodes_wanted(view) == ("n1", "n2", "n3")
    stopped, _ = settled_step(tell(view, StopAsked(by="alice")), one, two, sent=120)
    assert stopped.verdict is not None
    up = nodes(n1=True, n2=True, n3=True)
    for sent in (120, 160):
        view, made = settled_step(view, one, two, sent=sent, nodes=up)
    assert calls(made) == (Verb.START, 3)
