"""Starting, opening, holding: O1 to O7, T1, B6 and the verbs of the contract."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.builders import (
    BOUND,
    at,
    calls,
    cancelled,
    ended,
    gated,
    held,
    intent,
    key,
    nodes,
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
    waits,
)
from dispatch.model.journal import (
    Adopted,
    AnyEvent,
    Forgot,
    Intended,
    Outcome,
    Proof,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.status import By, Cause, HoldSeen, Observation, State
from dispatch.model.steps import Append, Call
from dispatch.model.view import JobView, Phase

# --- the order of the protocol


def test_the_first_object_is_started_then_opened_once_its_reference_is_recorded() -> None:
    view = record()
    assert calls(step(view)) == (Verb.START, 1)
    view = tell(view, Intended(intent=intent(Verb.START)))
    assert row(step(view)) == "await landing"
    view = tell(view, Settled(intent="start-1", outcome=Outcome.LANDED, ref="ref-1"))
    view, made = settled_step(view, gated())
    assert calls(made) == (Verb.OPEN, 1)
    assert isinstance(made, Call)
    assert made.ref == "ref-1"


def test_nothing_is_written_while_an_open_is_not_settled() -> None:
    _, made = settled_step(record(*opening()), gated())
    assert waits(made) == ("await landing", 57.001)


def test_an_object_that_was_opened_is_never_opened_again() -> None:
    _, made = settled_step(record(*opened()), queued())
    assert row(made) == "watch"


# --- O1: other objects


def foreign(seen: Observation) -> Observation:
    return replace(seen, key=replace(seen.key, store="other"), ref="foreign")


@pytest.mark.parametrize(
    "other",
    [gated(), queued(), running(), ended(final=False), ended(cleaning=True)],
)
def test_another_object_that_may_live_blocks_start_and_open(other: Observation) -> None:
    for view, mine in ((record(), ()), (record(*started(), read(gated())), (gated(),))):
        made = step(view, *mine, foreign(other))
        assert waits(made) == ("blocked by another object", None)


def test_another_object_that_is_final_does_not_block() -> None:
    assert calls(step(record(), foreign(ended()))) == (Verb.START, 1)


def test_an_object_of_ours_that_the_record_does_not_know_is_adopted() -> None:
    view, made = settled_step(record(), running())
    assert view.objects[1].adopted
    assert view.objects[1].phase is Phase.OPEN
    assert view.objects[1].ran_on == ("n1", "n2")
    assert row(made) == "watch"


def test_an_adopted_object_that_is_gated_is_stopped_since_it_may_have_been_opened() -> None:
    view, made = settled_step(record(), gated())
    assert view.objects[1].phase is Phase.TAINTED
    assert view.objects[1].why == "the record did not know it"
    assert calls(made) == (Verb.STOP, 1)


def test_a_job_that_succeeded_while_the_record_was_behind_does_not_run_again() -> None:
    view, _ = settled_step(record(), succeeded())
    view, _ = settled_step(view, succeeded(), sent=31)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED


def test_an_orphan_that_was_stopped_before_it_ran_does_not_spend_its_number() -> None:
    assert calls(step(record(), cancelled(ref="orphan"))) == (Verb.START, 1)


def test_an_unknown_live_object_with_a_known_number_blocks() -> None:
    view = record(*ran())
    _, made = settled_step(view, running(), running(ref="twin"))
    assert waits(made) == ("blocked by another object", None)


# --- O2: an open that may have been sent


def test_an_open_is_not_landed_only_by_reads_under_its_own_boot() -> None:
    view, _ = settled_step(record(*opening()), gated(), sent=BOUND)
    view, made = settled_step(view, gated(), sent=BOUND + 25)
    assert view.objects[1].phase is Phase.GATED
    assert calls(made) == (Verb.OPEN, 1)


def test_an_open_of_unknown_outcome_under_another_boot_may_have_run() -> None:
    view, made = settled_step(record(*opening()), gated(), sent=10, boot="b2")
    assert row(made) == "await landing"
    view, made = settled_step(view, gated(), sent=BOUND, boot="b2")
    assert view.objects[1].phase is Phase.TAINTED
    assert calls(made) == (Verb.STOP, 1)


def test_a_tainted_object_that_never_showed_a_node_may_live_on_every_node() -> None:
    view, _ = settled_step(record(*opening()), gated(), sent=BOUND, boot="b2")
    view, _ = settled_step(view, cancelled(), sent=70, boot="b2")
    view, made = settled_step(
        view, cancelled(), sent=101, boot="b2", nodes=nodes(n1=True, n9=False)
    )
    assert view.objects[1].awaiting == ("n9",)
    assert row(made) == "await cessation"
    view, made = settled_step(view, cancelled(), sent=200, boot="b2", nodes=nodes(n1=True, n9=True))
    assert waits(made) == ("await cessation", 240)
    view, made = settled_step(view, cancelled(), sent=240, boot="b2", nodes=nodes(n1=True, n9=True))
    assert view.objects[1].proof is Proof.NODES_BACK
    assert calls(made) == (Verb.START, 2)


def test_an_open_whose_object_was_read_to_have_ended_before_it_went_has_landed() -> None:
    # Its end is its own. An open of unknown outcome would make it one that the controller had forgotten.
    view = record(*opening(), read(cancelled()))
    view, _ = settled_step(view, sent=31)
    assert view.objects[1].phase is Phase.JUDGED
    (_, decided), *_ = view.decisions
    assert (decided.verdict.cause, decided.verdict.proven) == (Cause.CANCELLED, True)


def test_a_stop_whose_object_was_read_to_have_ended_before_it_went_has_landed() -> None:
    stop = Intended(intent=intent(Verb.STOP))
    view, _ = settled_step(record(*ran(), StopAsked(by="alice"), stop, read(cancelled())), sent=31)
    assert not view.intents
    assert view.objects[1].stopped is not None


@pytest.mark.parametrize("before", [(), (read(gated()),)], ids=["never_read", "read_gated_before"])
def test_an_open_whose_object_went_before_its_effect_was_read_is_awaited(
    before: tuple[AnyEvent, ...],
) -> None:
    _, made = settled_step(record(*opening(), *before), sent=31)
    assert waits(made) == ("await landing", 57.001)


def test_an_open_whose_object_is_gone_is_of_unknown_outcome() -> None:
    view, _ = settled_step(record(*opening()), sent=BOUND)
    view, made = settled_step(view, sent=BOUND + 25)
    assert view.objects[1].phase is Phase.TAINTED
    assert view.objects[1].why == "its object is gone"
    assert row(made) == "await evidence"


def test_an_unknown_outcome_without_a_reason_taints_all_the_same() -> None:
    view = record(*opening(), Settled(intent="open-1", outcome=Outcome.UNKNOWN))
    assert view.objects[1].why


# --- O5: the gate and people


def test_an_administrators_hold_on_the_gated_object_is_left_to_him() -> None:
    view = record(*started())
    _, made = settled_step(view, gated(hold=HoldSeen(by=By.ADMINISTRATOR)))
    assert waits(made) == ("held by an administrator", None)


def test_an_administrators_hold_on_the_opened_object_is_never_lifted() -> None:
    _, made = settled_step(record(*opened()), held(instance=None, by=By.ADMINISTRATOR))
    assert row(made) == "watch"


def test_a_persons_hold_in_the_scheduler_is_never_lifted() -> None:
    _, made = settled_step(record(*opened()), held(instance=None, by=By.OWNER))
    assert row(made) == "watch"


def test_a_gated_object_that_a_person_opened_has_spent_its_number() -> None:
    view, made = settled_step(record(*started(), read(gated())), queued())
    assert view.objects[1].phase is Phase.OPEN
    assert view.objects[1].spent
    assert row(made) == "watch"


# --- O6


def test_a_start_that_did_not_land_is_made_again_under_the_same_number() -> None:
    view = record(
        Intended(intent=intent(Verb.START)),
        Settled(intent="start-1", outcome=Outcome.NOT_LANDED),
    )
    assert calls(step(view)) == (Verb.START, 1)


def test_a_late_start_of_the_same_number_is_swept_once_the_second_is_recorded() -> None:
    late = gated(ref="late", key=key(attempt="older"))
    view = record(*started(), read(gated()))
    made = step(view, gated(), late)
    assert isinstance(made, Call)
    assert (made.verb, made.ref, made.why) == (Verb.STOP, "late", "superseded, and never opened")


def test_a_number_is_spent_by_an_open_that_may_have_landed() -> None:
    view = record(*opening())
    assert view.next_submission == 2
    assert tell(view, Settled(intent="open-1", outcome=Outcome.NOT_LANDED)).next_submission == 1


# --- T1: sweeping


def test_a_gated_object_is_not_swept_while_a_start_is_intended() -> None:
    view = record(*started(), read(gated()), Forgot(submission=1, why="gone"))
    view = tell(view, Intended(intent=intent(Verb.START, id="again", attempt="try-1b")))
    assert row(step(view, gated())) == "await landing"


def test_a_superseded_gated_object_is_swept() -> None:
    view = record(*opened(2))
    orphan = gated(1, ref="orphan")
    _, made = settled_step(view, queued(2), orphan)
    assert isinstance(made, Call)
    assert (made.verb, made.ref) == (Verb.STOP, "orphan")


@pytest.mark.parametrize("other", [gated(), queued(), running()])
def test_an_object_of_another_store_is_shown_and_never_stopped(other: Observation) -> None:
    for events in ((), (StopAsked(by="alice"),), (*ran(),)):
        made = step(record(*events), foreign(other))
        assert calls(made) is None


@pytest.mark.parametrize("left", [gated(ref="orphan"), queued(), running(), running(ref="orphan")])
def test_whatever_lives_of_an_ended_job_is_stopped(left: Observation) -> None:
    view, _ = settled_step(record(*ran()), succeeded(), sent=10)
    view, made = settled_step(view, succeeded(), sent=41)
    assert row(made) == "rest"
    view, made = settled_step(view, left, sent=50, boot="b2")
    assert calls(made) == (Verb.STOP, 1)
    verdict = view.verdict
    busy = Settled(intent="s", outcome=Outcome.BUSY, reason="full", retry_at=at(90))
    view = tell(view, Intended(intent=intent(Verb.STOP, id="s", ref=left.ref)), busy)
    assert waits(step(view, left, sent=60, boot="b2")) == ("await stop", 90)
    assert view.verdict == verdict


# --- refusals


def refused(verb: Verb, outcome: Outcome, **fields: object) -> JobView:
    events = {Verb.START: (), Verb.OPEN: started()}[verb]
    return record(
        *events,
        Intended(intent=intent(verb)),
        Settled(intent=f"{verb}-1", outcome=outcome, reason="no room", **fields),  # type: ignore[arg-type]
    )


def test_a_start_that_was_refused_for_now_is_tried_again_at_its_time() -> None:
    view = refused(Verb.START, Outcome.BUSY, retry_at=at(30))
    assert waits(step(view, sent=29.9)) == ("await retry", 30)
    assert calls(step(view, sent=30)) == (Verb.START, 1)
    assert view.retry_why == "no room"


def test_a_start_that_was_refused_for_good_ends_the_job_as_rejected() -> None:
    view, _ = settled_step(refused(Verb.START, Outcome.REJECTED))
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.FAILED, Cause.REJECTED)
    assert view.verdict.detail.reason == "no room"


def test_a_refused_start_that_a_person_stopped_ends_as_stopped() -> None:
    view = tell(refused(Verb.START, Outcome.REJECTED), StopAsked(by="alice"))
    assert row(step(view)) == "end refused"
    view, _ = settled_step(view)
    assert view.verdict is not None
    assert view.verdict.cause is Cause.STOPPED


def test_a_refused_start_does_not_end_a_job_of_which_an_object_lives() -> None:
    view = refused(Verb.START, Outcome.REJECTED)
    view, made = settled_step(view, running(key=key(attempt="older")))
    assert view.verdict is None
    assert row(made) == "watch"


@pytest.mark.parametrize("outcome", [Outcome.BUSY, Outcome.REJECTED, Outcome.NOT_LANDED])
def test_an_open_that_was_refused_leaves_the_object_gated(outcome: Outcome) -> None:
    view = refused(Verb.OPEN, outcome, retry_at=at(5))
    assert view.objects[1].phase is Phase.GATED
    _, made = settled_step(view, gated(), sent=4)
    assert waits(made) == ("await retry", 5)


def test_the_next_write_forgets_what_was_to_be_tried_again() -> None:
    view = tell(
        refused(Verb.START, Outcome.BUSY, retry_at=at(30)), Intended(intent=intent(Verb.START))
    )
    assert (view.retry_at, view.retry_why) == (None, "")


def test_an_adopted_object_keeps_its_attempt() -> None:
    made = step(record(), running(key=key(attempt="mine")))
    assert isinstance(made, Append)
    (adopted,) = made.events
    assert isinstance(adopted, Adopted)
    assert (adopted.submission, adopted.attempt) == (1, "mine")
    assert row(made) == "adopt"
