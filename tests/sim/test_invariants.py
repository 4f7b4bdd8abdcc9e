"""Each rule of safety sees what breaks it, and lets pass what keeps it. All on planted histories: nothing is run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from core.builders import (
    T0,
    at,
    ended,
    entry,
    header,
    intent,
    opened,
    read,
    started,
)
from dispatch.adapters.memory.records import Execution
from dispatch.model.answers import Action
from dispatch.model.epoch import Epoch
from dispatch.model.journal import (
    Accepted,
    AnyEvent,
    Ceased,
    Decided,
    Ended,
    HoldAsked,
    Intended,
    Proof,
    ReleaseAsked,
    StopAsked,
    Verb,
)
from dispatch.model.policy import (
    HOLD_BY_CESSATION,
    Backoff,
    Budget,
    Limits,
    Policy,
    Rule,
)
from dispatch.model.quantity import Duration
from dispatch.model.status import By, Cause, State, Verdict
from dispatch.sim import invariants
from dispatch.sim.history import Begun, History, Written

JOB = header().id
POLICY = Policy(
    rules=(
        Rule(
            when=(Cause.PREEMPTED,),
            do=Action.RESUBMIT,
            limit=1,
            backoff=Backoff(initial=Duration(seconds=60), max=Duration(seconds=60), jitter=0),
        ),
    ),
    limits=Limits(total=2),
)


def execution(serial: int = 1, n: int = 1, r: int = 0, **fields: Any) -> Execution:
    values: dict[str, Any] = {
        "serial": serial,
        "object": n,
        "job": JOB,
        "epoch": Epoch(n, r),
        "attempt": "a",
        "nodes": ("n1",),
        "alive": {"n1"},
        "started": T0,
        **fields,
    }
    return Execution(**values)


def hold(instance: int) -> HoldAsked:
    return HoldAsked(instance=instance, by="alice")


class Told:
    """A history in the making."""

    def __init__(self, *events: AnyEvent, head: Accepted | None = None) -> None:
        self.history = History(JOB, "j1", timedelta(seconds=1))
        self.last: Written | None = None
        self.write(head or header(POLICY), *events)

    def write(self, *events: AnyEvent, seconds: float = 0) -> Written:
        for event in events:
            self.last = self.history.write(entry(self.history.length + 1, event), at(seconds))
        assert self.last is not None
        return self.last

    def begin(self, n: int = 1, r: int = 0, **fields: Any) -> Begun:
        serial = len(self.history.begun) + 1
        return self.history.begin(f"ref-{n}", execution(serial, n, r, **fields), T0)


def decided(n: int = 1, cause: Cause = Cause.PREEMPTED, **fields: Any) -> Decided:
    values: dict[str, Any] = {
        "submission": n,
        "restarts": 0,
        "verdict": Verdict(state=State.FAILED, cause=cause),
        "action": Action.RESUBMIT,
        "rule": 0,
        "budget": Budget.INFRASTRUCTURE,
        "due": at(160),
        **fields,
    }
    return Decided(**values)


# --- S1


def test_s1_sees_two_live_executions() -> None:
    told = Told(*opened())
    assert invariants.two_live(told.history, execution(1, 1), execution(2, 2))


def test_s1_counts_apart_what_the_policy_assumed_and_what_the_scheduler_ran_again() -> None:
    told = Told(*opened())
    told.write(Ceased(submission=1, proof=Proof.ASSUMED_GONE))
    assert invariants.two_live(told.history, execution(1, 1), execution(2, 2)) is None
    again = execution(2, 1, 1)
    assert invariants.two_live(Told(*opened()).history, execution(1, 1), again) is None
    same = execution(2, 1, 0)
    assert invariants.two_live(Told(*opened()).history, execution(1, 1), same)


@pytest.mark.parametrize("proof", [Proof.CLEANED, Proof.NODES_BACK, Proof.NEVER_RAN])
def test_s1_accepts_no_wrong_proof(proof: Proof) -> None:
    told = Told(*opened(), Ceased(submission=1, proof=proof))
    assert invariants.two_live(told.history, execution(1, 1), execution(2, 2))


# --- S2


def test_s2_sees_what_runs_without_an_open() -> None:
    told = Told(*started())
    assert invariants.began_without_an_open(told.history, told.begin())
    told = Told(*opened())
    assert invariants.began_without_an_open(told.history, told.begin()) is None
    assert invariants.began_without_an_open(told.history, told.begin(2))


def test_s2_leaves_to_people_what_they_have_opened_themselves() -> None:
    told = Told(*started())
    told.history.opened_by_hand.add("ref-1")
    assert invariants.began_without_an_open(told.history, told.begin()) is None


# --- S3


def test_s3_sees_what_was_opened_and_runs_while_a_hold_stands() -> None:
    told = Told(*started(), hold(1), Intended(intent=intent(Verb.OPEN)))
    assert invariants.began_while_held(told.history, told.begin())
    told.write(ReleaseAsked(instance=1, by="alice"))
    assert invariants.began_while_held(told.history, told.begin()) is None


def test_s3_allows_what_was_opened_before_the_hold() -> None:
    told = Told(*opened(), hold(1))
    assert invariants.began_while_held(told.history, told.begin()) is None


def test_s3_sees_a_release_of_another_hold_only() -> None:
    told = Told(*started(), hold(1), hold(2), Intended(intent=intent(Verb.OPEN)))
    told.write(ReleaseAsked(instance=1, by="alice"))
    assert invariants.began_while_held(told.history, told.begin())


def test_s3_leaves_the_hold_for_proof_to_the_cessation() -> None:
    own = replace(hold(1), by=HOLD_BY_CESSATION)
    told = Told(*started(), own, Intended(intent=intent(Verb.OPEN)))
    assert invariants.began_while_held(told.history, told.begin()) is None


def test_s3_sees_a_hold_lifted_that_was_not_named() -> None:
    admin = (By.ADMINISTRATOR, None)
    assert invariants.lifted_another_hold(admin, (None, None), None)
    assert invariants.lifted_another_hold(admin, admin, None) is None
    assert invariants.lifted_another_hold((None, 2), (None, None), 1)
    assert invariants.lifted_another_hold((None, 1), (None, None), 1) is None
    assert invariants.lifted_another_hold((None, 2), (None, 2), 1) is None


# --- S4


def test_s4_sees_a_limit_that_is_exceeded() -> None:
    told = Told(*opened())
    assert invariants.spent_too_much(told.history, told.write(decided(1))) is None
    assert "limit" in (invariants.spent_too_much(told.history, told.write(decided(2))) or "")


def test_s4_sees_a_total_that_is_exceeded() -> None:
    told = Told(*opened(), decided(1, rule=None), decided(2, rule=None))
    assert told.last is not None
    assert invariants.spent_too_much(told.history, told.last) is None
    third = told.write(decided(3, rule=None))
    assert "total" in (invariants.spent_too_much(told.history, third) or "")


def test_s4_sees_an_execution_that_is_decided_about_twice() -> None:
    told = Told(*opened(), decided(1))
    assert invariants.spent_too_much(told.history, told.write(decided(1)))


def test_s4_sees_a_wait_that_is_too_short() -> None:
    told = Told(*opened(), read(ended(), sent=100))
    assert invariants.waited_too_short(told.history, told.write(decided(due=at(160)))) is None
    told = Told(*opened(), read(ended(), sent=100))
    assert invariants.waited_too_short(told.history, told.write(decided(due=at(159))))
    told = Told(*opened(), read(ended(), sent=100))
    assert invariants.waited_too_short(told.history, told.write(decided(due=None)))


def test_s4_sees_a_start_before_its_time_by_the_true_time() -> None:
    start = Intended(intent=intent(Verb.START, 2))
    told = Told(*opened(), decided(due=at(160)))
    assert invariants.started_early(told.history, told.write(start, seconds=158.9))
    told = Told(*opened(), decided(due=at(160)))
    assert invariants.started_early(told.history, told.write(start, seconds=159)) is None
    told = Told(*opened(), decided(due=at(160)))
    told.history.set_back.append(told.history.length)  # by a person, to before the decision
    assert invariants.started_early(told.history, told.write(start, seconds=1)) is None


# --- S5


@pytest.mark.parametrize("epoch", [(1, 1), (1, 0), (0, 9)])
def test_s5_sees_an_epoch_that_is_not_higher(epoch: tuple[int, int]) -> None:
    told = Told(*opened())
    assert invariants.epoch_is_not_higher(told.history, told.begin(1, 1)) is None
    assert invariants.epoch_is_not_higher(told.history, told.begin(*epoch))
    told.history.set_back.append(1)
    assert invariants.epoch_is_not_higher(told.history, told.history.begun[-1])  # a ticket tells


# --- S6 and S7


def test_s6_sees_a_second_end() -> None:
    end = Ended(verdict=Verdict(state=State.SUCCEEDED))
    told = Told(*opened())
    assert invariants.ended_twice(told.history, told.write(end)) is None
    assert invariants.ended_twice(told.history, told.write(end))
    told.history.set_back.append(told.history.length)
    assert invariants.ended_twice(told.history, told.write(end)) is None


def test_s7_sees_an_event_that_is_lost() -> None:
    told = Told(*opened())
    nonces = tuple(one.entry.nonce for one in told.history.written)
    assert invariants.lost_events(told.history, nonces) is None
    assert invariants.lost_events(told.history, (*nonces, "more")) is None
    assert invariants.lost_events(told.history, nonces[:-1])
    assert invariants.lost_events(told.history, ("other", *nonces[1:]))
    told.history.set_back.append(3)
    assert invariants.lost_events(told.history, nonces[:-1]) is None


# --- S8


def true_end(**fields: Any) -> Told:
    told = Told(*opened())
    told.begin(alive=set(), **fields)
    return told


def test_s8_sees_a_cause_that_is_not_the_true_one() -> None:
    told = true_end(cause=Cause.PREEMPTED)
    assert invariants.wrong_cause(told.history, told.write(decided())) is None
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.TIMEOUT)))
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.UNKNOWN))) is None


def test_s8_sees_an_end_of_what_lives() -> None:
    told = Told(*opened())
    told.begin()
    assert invariants.wrong_cause(told.history, told.write(decided()))


def test_s8_sees_a_success_that_is_none_and_a_failure_that_is_a_success() -> None:
    success = Ended(verdict=Verdict(state=State.SUCCEEDED))
    told = true_end(cause=Cause.NON_ZERO_EXIT, end="1:0")
    assert invariants.wrong_cause(told.history, told.write(success))
    told = true_end(end="0:0")
    assert invariants.wrong_cause(told.history, told.write(success)) is None
    assert invariants.wrong_cause(told.history, told.write(decided()))


@pytest.mark.parametrize("cause", [Cause.FORGOTTEN, Cause.FENCED])
def test_s8_sees_a_controller_that_is_blamed_and_forgot_nothing(cause: Cause) -> None:
    told = true_end(cause=Cause.CANCELLED)
    assert invariants.wrong_cause(told.history, told.write(decided(cause=cause)))
    told.history.forgetful = True
    assert invariants.wrong_cause(told.history, told.write(decided(cause=cause))) is None


def test_s8_sees_a_launch_that_is_said_to_be_refused_and_was_not() -> None:
    told = Told(*opened())
    fenced = told.write(decided(cause=Cause.FENCED))
    told.history.forgetful = True
    assert invariants.wrong_cause(told.history, fenced)
    told.history.forgetful = False
    told.history.begin(
        "another", execution(1, 1, 0), T0
    )  # as where a person has opened it, and nobody saw
    assert invariants.wrong_cause(told.history, fenced) is None
    older = Told(*opened(), *opened(2))
    older.begin(1)
    assert invariants.wrong_cause(older.history, older.write(decided(2, cause=Cause.FENCED)))


def test_s8_knows_that_a_stop_is_what_ends_a_job_whose_launch_was_refused() -> None:
    # It was preempted, and the controller forgot that and the start of it (busy, seed 50066).
    told = Told(*opened(), read(ended(cause=Cause.FENCED)), StopAsked(by="alice"))
    stopped = told.write(decided(cause=Cause.STOPPED))
    assert invariants.wrong_cause(told.history, stopped)
    told.begin(alive=set(), cause=Cause.PREEMPTED)
    assert invariants.wrong_cause(told.history, stopped)
    told.history.forgetful = True
    assert invariants.wrong_cause(told.history, stopped) is None


def test_s8_knows_of_launches_that_failed_and_of_cancellations_before_a_start() -> None:
    ref = "ref-1"
    told = Told(*opened())
    told.history.unlaunched.add(ref)
    failed = told.write(decided(cause=Cause.LAUNCH_FAILED))
    assert invariants.wrong_cause(told.history, failed) is None
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.CANCELLED)))
    told.history.cancelled.add(ref)
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.CANCELLED))) is None


def test_s8_knows_the_object_that_is_judged_from_another_of_its_number() -> None:
    # A record that was set back met another one; what had become of that is no cause of this one (set-back, seed 50182).
    told = Told(*opened(), read(ended(ref="twin")), StopAsked(by="alice"))
    told.begin(alive=set(), end="0:0")
    told.history.stopped.add("twin")
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.STOPPED))) is None
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.PREEMPTED)))
    told.history.stopped.clear()
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.STOPPED)))


def test_s8_calls_stopped_only_what_a_stop_has_ended() -> None:
    told = true_end(cause=Cause.CANCELLED)
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.STOPPED)))
    told.write(StopAsked(by="alice"))
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.STOPPED))) is None
    told = true_end(cause=Cause.NON_ZERO_EXIT, end="1:0")
    told.write(StopAsked(by="alice"))
    assert invariants.wrong_cause(told.history, told.write(decided(cause=Cause.STOPPED)))


# --- S9


def test_s9_sees_what_begins_after_the_end() -> None:
    told = Told(*opened())
    assert invariants.began_after_the_end(told.history, told.begin()) is None
    told.write(Ended(verdict=Verdict(state=State.CANCELLED)))
    assert invariants.began_after_the_end(told.history, told.begin())


@pytest.mark.parametrize(
    ("verb", "allowed"),
    [
        (Verb.START, False),
        (Verb.OPEN, False),
        (Verb.RELEASE, False),
        (Verb.STOP, True),
    ],
)
def test_s9_sees_what_is_intended_after_a_stop(verb: Verb, allowed: bool) -> None:  # noqa: FBT001
    told = Told(*opened())
    written = Intended(intent=intent(verb))
    assert invariants.wrote_after_a_stop(told.history, told.write(written)) is None
    told.write(StopAsked(by="alice"))
    assert (invariants.wrote_after_a_stop(told.history, told.write(written)) is None) is allowed
