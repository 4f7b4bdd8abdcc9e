"""What Slurm, or a person, starts again on its own authority, and the start ticket that stops a second start."""

from __future__ import annotations

import pytest

from adapters.memory.bench import Bench, job_id, seconds
from dispatch.model.errors import Conflict, Finished
from dispatch.model.status import By, Cause, Gate, HoldSeen, Source, State


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_requeue_bit_left_set_lets_slurm_requeue_what_it_preempts(bench: Bench) -> None:
    ref = bench.running()
    assert bench.env.requeue_externally(ref)
    bench.pass_time(121)
    bench.env.run(ref)
    assert bench.see(ref).requeue
    bench.env.preempt(ref)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.restarts, seen.final) == (
        State.PENDING,
        Cause.REQUEUED,
        2,
        False,
    )
    assert [(e.epoch, e.cause) for e in bench.env.truth(ref).executions] == [
        (1_000_000, Cause.REQUEUED), (1_000_001, Cause.PREEMPTED),
    ]  # fmt: skip


def test_as_measured_a_requeue_moves_the_submit_time_and_waits_121_seconds() -> None:
    bench = Bench(submitTimeMoves=True)
    ref = bench.running()
    bench.pass_time(50)
    bench.env.requeue_externally(ref)
    assert bench.see(ref).submitted == bench.clock.now()
    bench.pass_time(120)
    assert bench.env.runnable() == ()
    bench.pass_time(1)
    assert bench.env.runnable() == (ref,)
    assert (bench.see(ref).gate, bench.cause(ref)) == (Gate.OPEN, Cause.REQUEUED)


def test_a_pending_object_refuses_a_requeue_and_keeps_the_bit(bench: Bench) -> None:
    ref = bench.start()
    assert not bench.env.requeue_externally(ref)
    seen = bench.see(ref)
    assert (seen.gate, seen.requeue, seen.restarts) == (Gate.CLOSED, True, 0)


def test_an_end_with_the_requeue_bit_off_is_final(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref)
    with pytest.raises(Finished):
        bench.env.requeue_externally(ref)


def test_an_end_with_the_requeue_bit_set_is_not_final() -> None:
    bench = Bench(revival=True)
    ref = bench.running()
    bench.env.finish(ref, 1)
    assert not bench.see(ref).final
    assert bench.env.requeue_externally(ref)
    assert (bench.see(ref).state, bench.see(ref).restarts) == (State.PENDING, 1)


def test_a_gate_survives_a_cancellation_and_a_requeue() -> None:
    bench = Bench(revival=True)
    ref = bench.start()
    bench.env.cancel(ref)
    bench.env.requeue_externally(ref)
    seen = bench.see(ref)
    assert (seen.gate, seen.restarts, bench.env.runnable()) == (Gate.CLOSED, 1, ())


def test_a_hold_on_a_running_object_gates_its_restart() -> None:
    bench = Bench(revival=True)
    ref = bench.running()
    bench.env.person_hold(ref)
    bench.env.preempt(ref)
    bench.pass_time(121)
    seen = bench.see(ref)
    assert (seen.cause, seen.hold, bench.env.runnable()) == (Cause.HELD, HoldSeen(by=By.OWNER), ())


def test_a_requeued_object_does_not_start_before_its_nodes_are_clean() -> None:
    bench = Bench(revival=True, cleaningTime="200s")
    ref = bench.running()
    bench.env.preempt(ref)
    bench.pass_time(130)
    seen = bench.see(ref)
    assert (seen.cleaning, seen.nodes, bench.env.runnable()) == (True, ("n1",), ())
    bench.pass_time(70)
    assert bench.env.runnable() == (ref,)
    assert bench.env.live() == ()


def test_each_start_leaves_a_ticket_and_each_end_is_written_beside_it(bench: Bench) -> None:
    ref = bench.running()
    (ticket,) = bench.env.tickets(job_id())
    assert (ticket.epoch, ticket.end) == (1_000_000, None)
    assert ticket.attempt == bench.env.truth(ref).executions[0].attempt
    bench.env.finish(ref, 3)
    assert bench.env.tickets(job_id())[0].end == "3:0"
    assert Source.TICKET in {item.source for item in bench.evidence(ref)}


def test_a_killed_execution_writes_no_end(bench: Bench) -> None:
    ref = bench.running()
    bench.stop(ref)
    assert bench.env.tickets(job_id())[0].end is None


def test_a_second_start_of_an_epoch_is_fenced(bench: Bench) -> None:
    first, second = bench.queued(), bench.queued()
    bench.env.run(first)
    assert bench.env.run(second) is None
    seen = bench.see(second)
    assert (seen.state, seen.cause, seen.final) == (State.FAILED, Cause.FENCED, True)
    assert Source.TICKET in {item.source for item in bench.evidence(second)}
    assert bench.env.truth(second).executions == ()
    assert bench.env.overlaps() == ()


def test_a_start_of_a_lower_epoch_than_the_highest_is_fenced(bench: Bench) -> None:
    late, newer = bench.queued(), bench.queued(submission=2)
    bench.env.run(newer)
    bench.env.finish(newer)
    assert bench.env.run(late) is None
    assert bench.cause(late) is Cause.FENCED


def test_a_fence_of_one_job_is_none_of_anothers(bench: Bench) -> None:
    bench.running(1, submission=5)
    assert bench.env.run(bench.queued(2)) is not None


def test_without_the_fence_two_copies_run() -> None:
    bench = Bench(fence=False)
    first, second = bench.running(), bench.running()
    (clash,) = bench.env.overlaps()
    assert (clash.first.ref, clash.second.ref) == (first, second)
    assert len({execution.attempt for execution in bench.env.live()}) == 2


def test_an_execution_that_is_gone_overlaps_nothing() -> None:
    bench = Bench(fence=False)
    bench.env.finish(bench.running())
    bench.running()
    assert bench.env.overlaps() == ()


def test_an_object_is_requeued_only_by_who_may(bench: Bench) -> None:
    ref = bench.running()
    bench.env.requeue_externally(ref)
    with pytest.raises(Conflict):
        bench.env.preempt(ref)
    bench.clock.advance(seconds(121))
    bench.env.run(ref)
    assert bench.see(ref).restarts == 1
