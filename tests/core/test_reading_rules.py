"""Reading and settling: R1 to R4 of the hard cases, and what an absent object means."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.builders import (
    BOTH_UP,
    BOUND,
    DECLARED,
    at,
    calls,
    ceased,
    ended,
    gated,
    header,
    held,
    intent,
    kinds,
    listing,
    opened,
    opening,
    queued,
    ran,
    read,
    record,
    ref,
    row,
    running,
    seen,
    settled_step,
    started,
    step,
    succeeded,
    tell,
    waits,
)
from dispatch.core.deciding import next_step
from dispatch.core.landing import landing_bound
from dispatch.model.journal import (
    Decided,
    Ended,
    Forgot,
    Intended,
    Missed,
    Outcome,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.status import Cause, Evidence, Gate, Observation, Source, State, Verdict
from dispatch.model.steps import Append
from dispatch.model.view import Phase

# --- R1


def test_a_listing_older_than_the_fold_decides_nothing() -> None:
    view = record()
    stale = listing(view, version=view.version - 1)
    assert waits(next_step(view, stale, at(7))) == ("stale listing", 7)


def test_what_was_read_is_recorded_before_anything_is_decided_on_it() -> None:
    made = step(record(*opened()), queued())
    assert (row(made), kinds(made)) == ("record what was read", ["Observed"])


def test_the_same_read_again_is_not_recorded_again() -> None:
    view = record(*opened(), read(queued()))
    assert waits(step(view, queued())) == ("watch", None)


@pytest.mark.parametrize(
    "change",
    [
        {"restarts": 1},
        {"hold": held().hold},
        {"cleaning": True},
        {"requeue": True},
        {"nodes": ("n9",)},
        {"gate": Gate.CLOSED},
        {"final": True},
        {"started": at(5)},
        {"ended": at(5)},
        {"verdict": Verdict(state=State.PENDING, cause=Cause.HELD)},
        {"verdict": Verdict(state=State.PENDING, cause=Cause.NO_CAPACITY, proven=False)},
        {"verdict": Verdict(state=State.UNKNOWN, cause=Cause.NO_CAPACITY)},
    ],
)
def test_every_difference_that_tells_something_is_recorded(change: dict[str, object]) -> None:
    view = record(*opened(), read(queued()))
    assert "Observed" in kinds(step(view, replace(queued(), **change)))


# --- R2 and R3


def starting() -> tuple[Intended, ...]:
    return (Intended(intent=intent(Verb.START)),)


def test_the_landing_bound_is_deadline_and_call_bound_and_skew() -> None:
    # and a millisecond, since a call may still start at its deadline
    assert landing_bound(intent(Verb.START), DECLARED) == at(30 + 25 + 2 + 0.001)


def test_a_read_at_the_landing_bound_is_late_enough_to_count() -> None:
    view = record(*starting())
    assert kinds(step(view, sent=57.001)) == ["Missed"]


@pytest.mark.parametrize("sent", [0, 30, 56, 57])
def test_an_unanswered_start_is_awaited_until_its_landing_bound_has_passed(sent: float) -> None:
    assert waits(step(record(*starting()), sent=sent)) == ("await landing", 57.001)


def test_the_landing_bound_is_judged_by_the_clock_that_checked_the_deadline() -> None:
    view = record(*starting())
    behind = step(view, sent=50, requested=at(1000), now=1000)
    assert waits(behind) == ("await landing", 1007.001)  # the moment, on this host's clock
    assert kinds(step(view, sent=58, requested=at(1), now=1)) == ["Missed"]


def test_one_read_that_does_not_show_a_start_settles_nothing() -> None:
    view, made = settled_step(record(*starting()), sent=BOUND)
    assert view.intents[0].misses == 1
    assert waits(made) == ("await landing", BOUND + 25)


def test_two_reads_a_call_bound_apart_settle_a_start_as_not_landed() -> None:
    view, _ = settled_step(record(*starting()), sent=BOUND)
    assert waits(step(view, sent=BOUND + 24.9)) == ("await landing", BOUND + 25)
    made = step(view, sent=BOUND + 25)
    assert isinstance(made, Append)
    (settled,) = made.events
    assert isinstance(settled, Settled)
    assert settled.outcome is Outcome.NOT_LANDED


def test_reads_under_another_boot_start_the_count_again() -> None:
    view, _ = settled_step(record(*starting()), sent=BOUND)
    view, made = settled_step(view, sent=BOUND + 60, boot="b2")
    assert view.intents[0].misses == 1
    assert waits(made) == ("await landing", BOUND + 85)
    _, made = settled_step(view, sent=BOUND + 85, boot="b2")
    assert calls(made) == (Verb.START, 1)


def test_a_cluster_may_declare_that_it_takes_three_reads() -> None:
    head = header(declared=replace(DECLARED, settling_reads=3))
    view = record(*starting(), head=head)
    for k in range(2):
        view, made = settled_step(view, sent=BOUND + 25 * k)
        assert row(made) == "await landing"
    assert view.intents[0].misses == 2
    _, made = settled_step(view, sent=BOUND + 50)
    assert calls(made) == (Verb.START, 1)


def test_a_cluster_cannot_declare_that_one_read_is_enough() -> None:
    view = record(*starting(), head=header(declared=replace(DECLARED, settling_reads=1)))
    assert kinds(step(view, sent=BOUND)) == ["Missed"]


def test_a_start_is_read_back_by_its_attempt_as_soon_as_it_shows() -> None:
    view, made = settled_step(record(*starting()), gated(ref="77"), sent=1)
    assert view.objects[1].ref == "77"
    assert calls(made) == (Verb.OPEN, 1)


def test_another_attempt_of_the_same_number_does_not_show_that_a_start_landed() -> None:
    other = gated(key=replace(gated().key, attempt="older"))
    assert row(step(record(*starting()), other, sent=1)) == "await landing"


@pytest.mark.parametrize(
    ("verb", "before", "after"),
    [
        (Verb.OPEN, gated(), queued()),
        (Verb.OPEN, gated(), ended()),
        (Verb.STOP, running(), ended()),
        (Verb.HOLD, queued(), held(instance=1)),
        (Verb.RELEASE, held(instance=1), queued()),
        (Verb.RELEASE, held(instance=1), held(instance=2)),
        (Verb.RELEASE, held(instance=1), running()),
    ],
)
def test_a_read_shows_the_effect_of_each_write(verb: Verb, before: object, after: object) -> None:
    events = started() if verb is Verb.OPEN else opened()
    view = record(*events, read(before), Intended(intent=intent(verb, instance=1)))  # type: ignore[arg-type]
    assert waits(step(view, before, sent=1))[0] == "await landing"  # type: ignore[arg-type]
    view, _ = settled_step(view, after, sent=1)  # type: ignore[arg-type]
    assert not view.intents


@pytest.mark.parametrize(
    ("verb", "shown"),
    [
        (Verb.STOP, ended(final=False)),
        (Verb.HOLD, held(instance=2)),
        (Verb.HOLD, held(instance=None)),
        (Verb.RELEASE, held(instance=1)),
    ],
)
def test_what_is_not_the_effect_of_a_write_does_not_settle_it(verb: Verb, shown: object) -> None:
    view = record(*opened(), Intended(intent=intent(verb, instance=1)))
    view, made = settled_step(view, shown, sent=1)  # type: ignore[arg-type]
    assert waits(made)[0] == "await landing"


def test_the_earliest_of_two_awaited_moments_is_looked_at() -> None:
    view = record(
        *started(),
        read(gated()),
        Intended(intent=intent(Verb.HOLD, instance=1, at_=10)),
        Intended(intent=intent(Verb.STOP, at_=5)),
    )
    assert waits(step(view, gated(), sent=11)) == ("await landing", 62.001)


def test_a_stop_of_an_object_that_is_gone_is_settled_and_not_repeated() -> None:
    view = record(*ran(), StopAsked(by="alice"), Intended(intent=intent(Verb.STOP)))
    view, _ = settled_step(view, sent=BOUND)
    view, made = settled_step(view, sent=BOUND + 25)
    assert not view.intents
    assert waits(made)[0] == "await evidence"


# --- R4


def late(outcome: Outcome, *before: object) -> Phase:
    not_landed = Settled(intent="open-1", outcome=Outcome.NOT_LANDED)
    view = record(*opening(), not_landed, *before, Settled(intent="open-1", outcome=outcome))  # type: ignore[arg-type]
    return view.objects[1].phase


def test_landed_beats_not_landed_where_it_is_learnt_late() -> None:
    assert late(Outcome.LANDED) is Phase.OPEN
    assert late(Outcome.UNKNOWN) is Phase.TAINTED
    assert late(Outcome.NOT_LANDED) is Phase.GATED
    assert late(Outcome.BUSY) is Phase.GATED


def test_landed_beats_not_landed_beside_a_second_open() -> None:
    again = Intended(intent=intent(Verb.OPEN, id="open-1b"))
    assert late(Outcome.LANDED, again) is Phase.OPEN
    assert late(Outcome.UNKNOWN, again) is Phase.TAINTED


def test_an_open_learnt_late_to_have_landed_spends_its_number() -> None:
    view = record(
        *opening(),
        Settled(intent="open-1", outcome=Outcome.NOT_LANDED),
        Settled(intent="open-1", outcome=Outcome.LANDED),
    )
    view, made = settled_step(view, gated(), boot="b2")
    assert view.objects[1].phase is Phase.TAINTED
    assert calls(made) == (Verb.STOP, 1)


def test_a_late_outcome_of_an_open_that_a_read_showed_changes_nothing() -> None:
    view = record(*opened())
    assert tell(view, Settled(intent="open-1", outcome=Outcome.UNKNOWN)).objects == view.objects
    assert tell(view, Settled(intent="never", outcome=Outcome.LANDED)).objects == view.objects


def test_reads_that_missed_another_write_leave_an_intent_alone() -> None:
    view = record(*starting(), Missed(intent="other", sent=at(60), boot="b1"))
    assert view.intents[0].missed is None


# --- absence


def test_an_object_that_is_not_shown_is_noted_and_not_ended() -> None:
    view, made = settled_step(record(*ran()), sent=100)
    assert view.verdict is None
    assert waits(made) == ("await evidence", 100 + 300)


def test_an_object_that_shows_again_was_never_gone() -> None:
    view, _ = settled_step(record(*ran()), sent=100)
    view, made = settled_step(view, running(), sent=110)
    assert view.objects[1].missing is None
    assert row(made) == "watch"


def test_an_object_whose_evidence_is_gone_is_unknown_and_never_a_success() -> None:
    view, _ = settled_step(record(*ran()), sent=100)
    assert row(step(view, sent=399)) == "await evidence"
    view, _ = settled_step(view, sent=400)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.UNKNOWN, Cause.UNKNOWN)
    assert not view.verdict.proven
    assert view.verdict.detail.reason == "all evidence is gone"


def test_an_object_that_vanished_with_its_controller_just_after_it_was_read_is_forgotten() -> None:
    view, _ = settled_step(record(*ran(sent=0)), sent=299, boot="b2")
    view, _ = settled_step(view, sent=299 + 300, boot="b2")
    (_, decided) = view.decisions[-1]
    assert decided.verdict.cause is Cause.FORGOTTEN
    assert not decided.verdict.proven
    assert decided.verdict.state is State.UNKNOWN
    assert "no longer knows" in (decided.verdict.detail.reason or "")
    assert view.verdict is None


def test_an_object_that_is_gone_with_its_open_unknown_is_not_forgotten_under_the_same_boot() -> (
    None
):
    # Its open may have run it and its evidence has passed: nobody has forgotten anything.
    view, _ = settled_step(record(*opening()), sent=BOUND)
    view, _ = settled_step(view, sent=BOUND + 25)
    view, _ = settled_step(view, sent=BOUND + 25 + 300)
    decided = view.last_decision
    assert decided is not None
    assert decided.verdict.cause is Cause.UNKNOWN


@pytest.mark.parametrize(("sent", "boot"), [(300, "b2"), (10, "b1")])
def test_an_object_that_may_have_ended_and_been_purged_is_unknown(sent: float, boot: str) -> None:
    view, _ = settled_step(record(*ran(sent=0)), sent=sent, boot=boot)
    view, _ = settled_step(view, sent=sent + 300, boot=boot)
    assert view.decisions[-1][1].verdict.cause is Cause.UNKNOWN


def test_an_end_that_was_read_and_purged_is_judged_as_it_was_read() -> None:
    view = record(*ran(), read(succeeded(), sent=100))
    assert row(step(view, sent=129)) == "await save window"
    made = step(view, sent=130)
    assert isinstance(made, Append)
    assert [type(event) for event in made.events] == [Ended]
    assert made.row == "judge"


def test_a_failure_that_was_read_and_purged_is_decided_about() -> None:
    view, _ = settled_step(record(*ran(), read(ended(), sent=100)), sent=130)
    (_, decided) = view.decisions[-1]
    assert (decided.submission, decided.verdict) == (1, ended().verdict)


def test_a_gated_object_that_vanished_is_started_again_under_its_number() -> None:
    view, made = settled_step(record(*started(), read(gated())), sent=100)
    assert waits(made) == ("await evidence", 130)
    view, made = settled_step(view, sent=130)
    assert view.objects == {}
    assert calls(made) == (Verb.START, 1)


def test_a_gated_object_must_be_absent_for_a_save_window_under_one_boot() -> None:
    view, _ = settled_step(record(*started(), read(gated())), sent=100)
    view, made = settled_step(view, sent=140, boot="b2")
    assert waits(made) == ("await evidence", 170)


def test_the_start_that_was_lost_leaves_the_older_objects_alone() -> None:
    view = ceased(record(*ran()), ended())
    view = tell(view, *started(2), Forgot(submission=2, why="gone"))
    assert sorted(view.objects) == [1]
    assert view.next_submission == 2


def test_a_vanished_open_object_of_the_record_is_decided_about_once() -> None:
    view, _ = settled_step(record(*ran()), sent=100)
    made = step(view, sent=400)
    assert isinstance(made, Append)
    (decided, _) = made.events
    assert isinstance(decided, Decided)
    assert (decided.submission, decided.restarts) == (1, 0)


def test_an_object_of_another_store_is_never_taken_for_ours() -> None:
    view = record(*started(), read(gated()))
    foreign = seen(1, gated().verdict, ref=ref(1), key=replace(gated().key, store="other"))
    _, made = settled_step(view, foreign, nodes=BOTH_UP)
    assert row(made) == "blocked by another object"


def with_fact(seen: Observation, value: str) -> Observation:
    fact = Evidence(source=Source.TICKET, field="exit", value=value, read_at=at(0))
    return replace(seen, verdict=replace(seen.verdict, evidence=(fact,)))


def test_new_evidence_is_recorded_of_an_end_alone() -> None:
    view = record(*ran(), read(with_fact(ended(), "1")))
    assert kinds(step(view, with_fact(ended(), "2"))) == ["Observed"]
    assert row(step(view, with_fact(ended(), "1"))) == "await save window"
    view = record(*opened(), read(with_fact(queued(), "1")))
    assert row(step(view, with_fact(queued(), "2"))) == "watch"
