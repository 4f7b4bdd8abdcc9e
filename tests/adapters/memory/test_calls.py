"""Deadlines, and replies that are lost, late, twofold or refused."""

from __future__ import annotations

import pytest

from adapters.memory.bench import Bench, do, job_id, seconds
from dispatch.adapters.memory import call_start
from dispatch.model.errors import (
    Busy,
    Expired,
    OutcomeUnknown,
    ReadOnly,
    Rejected,
    Unavailable,
    Unsupported,
)
from dispatch.model.status import Cause, Gate, State
from dispatch.spi.adapter import (
    Backend,
    CallMeta,
    CessationSignal,
    Holder,
    HoldMeta,
    MultiFinder,
    OutputReader,
)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_call_that_begins_at_its_deadline_is_in_time_and_after_it_does_nothing(
    bench: Bench,
) -> None:
    ref = bench.start()
    deadline = bench.clock.now()
    with call_start(deadline + seconds(0.001)), pytest.raises(Expired):
        do(bench.backend.open(ref, CallMeta(deadline=deadline)))
    assert bench.see(ref).gate is Gate.CLOSED
    do(bench.backend.open(ref, CallMeta(deadline=deadline)))
    assert bench.see(ref).gate is Gate.OPEN


def test_every_write_expires(bench: Bench) -> None:
    gated, held = bench.start(1), bench.queued(2)
    bench.hold(held, 1)
    late = CallMeta(deadline=bench.clock.now() - seconds(1))
    hold = HoldMeta(deadline=late.deadline, instance=2)
    before = bench.env.truths()
    backend = bench.backend
    for call in (
        lambda: backend.start(bench.order(3), late),
        lambda: backend.open(gated, late),
        lambda: backend.stop(gated, late),
        lambda: backend.hold(gated, hold),
        lambda: backend.release(held, 1, late),
    ):
        with pytest.raises(Expired):
            do(call())
    assert bench.env.truths() == before


def test_an_expired_call_to_a_dead_cluster_is_expired(bench: Bench) -> None:
    ref = bench.start()
    bench.env.make_unavailable()
    late = CallMeta(deadline=bench.clock.now() - seconds(1))
    with pytest.raises(Expired):
        do(bench.backend.stop(ref, late))


def test_a_reading_says_when_it_was_sent_by_the_clock_of_its_host(bench: Bench) -> None:
    bench.start()
    assert do(bench.backend.find(job_id())).sent == bench.clock.now()
    off = bench.clock.now() + seconds(7)
    with call_start(off):
        assert do(bench.backend.find(job_id())).sent == off


def test_a_lost_reply_hides_an_effect(bench: Bench) -> None:
    bench.env.drop_next_reply()
    with pytest.raises(OutcomeUnknown):
        bench.start()
    (seen,) = do(bench.backend.find(job_id())).observations
    assert (seen.key.attempt, seen.gate) == ("a1", Gate.CLOSED)


def test_a_lost_reply_hides_a_refusal_too(bench: Bench) -> None:
    ref = bench.start()
    bench.stop(ref)
    bench.env.drop_next_reply()
    with pytest.raises(OutcomeUnknown):
        bench.open(ref)


def test_a_late_call_lands_when_the_clock_has_passed(bench: Bench) -> None:
    bench.env.delay_next_call(seconds(20))
    with pytest.raises(OutcomeUnknown):
        bench.start()
    bench.pass_time(19)
    assert bench.count() == 0
    bench.pass_time(1)
    assert bench.count() == 1


def test_a_late_start_is_dated_by_its_landing(bench: Bench) -> None:
    landing = bench.clock.now() + seconds(20)
    bench.env.delay_next_call(seconds(20))
    with pytest.raises(OutcomeUnknown):
        bench.start()
    bench.pass_time(300)
    assert do(bench.backend.find(job_id())).observations[0].submitted == landing


def test_a_late_open_of_an_object_that_was_stopped_changes_nothing(bench: Bench) -> None:
    ref = bench.start()
    bench.env.delay_next_call(seconds(20))
    with pytest.raises(OutcomeUnknown):
        bench.open(ref)
    bench.stop(ref)
    bench.pass_time(30)
    assert bench.see(ref).state is State.CANCELLED


def test_a_late_call_to_a_dead_controller_is_lost(bench: Bench) -> None:
    ref = bench.start()
    bench.pass_time(60)
    bench.env.delay_next_call(seconds(20))
    with pytest.raises(OutcomeUnknown):
        bench.open(ref)
    bench.env.crash()
    bench.pass_time(30)
    bench.env.reboot()
    assert bench.see(ref).gate is Gate.CLOSED


def test_a_doubled_start_makes_two_objects_of_one_attempt(bench: Bench) -> None:
    bench.env.duplicate_next_call(seconds(5))
    ref = bench.start()
    bench.pass_time(5)
    found = do(bench.backend.find(job_id())).observations
    assert [seen.key for seen in found] == [bench.see(ref).key] * 2
    assert len({seen.ref for seen in found}) == 2
    assert all(seen.gate is Gate.CLOSED for seen in found)


def test_a_doubled_release_does_not_lift_the_next_hold(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 1)
    bench.env.duplicate_next_call(seconds(5))
    bench.release(ref, 1)
    bench.hold(ref, 2)
    bench.pass_time(10)
    assert bench.cause(ref) is Cause.HELD


def test_a_stop_cut_between_its_steps_leaves_the_object_and_takes_its_requeue_bit() -> None:
    bench = Bench(revival=True)
    ref = bench.running()
    bench.env.cut_next_call(1)
    with pytest.raises(OutcomeUnknown):
        bench.stop(ref)
    assert (bench.see(ref).state, bench.see(ref).requeue) == (State.RUNNING, False)


def test_a_call_cut_before_its_first_step_does_nothing(bench: Bench) -> None:
    bench.env.cut_next_call(0)
    with pytest.raises(OutcomeUnknown):
        bench.start()
    assert bench.env.truths() == ()


@pytest.mark.parametrize("error", [None, Rejected("The partition does not exist.")])
def test_a_refused_call_does_nothing(bench: Bench, error: Rejected | None) -> None:
    bench.env.refuse_next(error)
    with pytest.raises(Rejected if error else Busy):
        bench.start()
    assert bench.env.truths() == ()
    bench.start()


def test_faults_are_taken_one_a_call_in_their_order(bench: Bench) -> None:
    bench.env.refuse_next()
    bench.env.drop_next_reply()
    with pytest.raises(Busy):
        bench.start()
    with pytest.raises(OutcomeUnknown):
        bench.start()
    bench.start()
    assert bench.count() == 2


def test_a_cluster_that_cannot_be_reached_goes_on(bench: Bench) -> None:
    ref = bench.running()
    bench.env.make_unavailable(seconds(60))
    with pytest.raises(Unavailable):
        bench.see(ref)
    with pytest.raises(Unavailable):
        bench.stop(ref)
    bench.env.finish(ref)
    bench.pass_time(60)
    assert bench.see(ref).state is State.SUCCEEDED
    bench.env.make_unavailable()
    bench.pass_time(60)
    with pytest.raises(Unavailable):
        do(bench.backend.find(job_id()))
    bench.env.make_available()
    assert bench.see(ref).state is State.SUCCEEDED


def test_one_read_can_fail(bench: Bench) -> None:
    ref = bench.start()
    bench.env.fail_next_read()
    with pytest.raises(Unavailable):
        bench.see(ref)
    assert bench.see(ref).gate is Gate.CLOSED


def test_a_read_only_view_refuses_every_write_and_reads_the_same_world(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 1)
    view = bench.env.view(read_only=True)
    before = bench.env.truths()
    hold = HoldMeta(deadline=bench.meta().deadline, instance=2)
    for call in (
        lambda: view.start(bench.order(2), bench.meta()),
        lambda: view.open(ref, bench.meta()),
        lambda: view.stop(ref, bench.meta()),
        lambda: view.hold(ref, hold),
        lambda: view.release(ref, 1, bench.meta()),
    ):
        with pytest.raises(ReadOnly):
            do(call())
    assert bench.env.truths() == before == view.env.truths()
    assert do(view.find(job_id())) == do(bench.backend.find(job_id()))
    assert do(view.nodes(["n1"], ref)) == do(bench.backend.nodes(["n1"], ref))


def test_a_backend_without_a_proven_gate_only_observes() -> None:
    bench = Bench(capabilities={"Gate": {"value": "unknown"}})
    with pytest.raises(Unsupported):
        bench.start()
    with pytest.raises(ReadOnly):
        bench.stop("1:x:1:1:a")
    assert bench.count() == 0


def test_a_backend_without_holds_refuses_them() -> None:
    bench = Bench(capabilities={"Hold": {"value": "no"}})
    ref = bench.queued()
    with pytest.raises(Unsupported):
        bench.hold(ref, 1)
    with pytest.raises(Unsupported):
        bench.release(ref, 1)


def test_a_closed_backend_answers_nothing_and_its_world_goes_on(bench: Bench) -> None:
    ref, view = bench.start(), bench.env.view()
    for _ in range(2):
        do(bench.backend.close())
    with pytest.raises(Unavailable):
        bench.see(ref)
    assert do(view.inspect(ref)).gate is Gate.CLOSED


def test_it_offers_what_it_says(bench: Bench) -> None:
    backend: Backend = bench.backend
    assert isinstance(backend, Holder)
    assert isinstance(backend, MultiFinder)
    assert isinstance(backend, CessationSignal)
    assert not isinstance(backend, OutputReader)
