"""The reference page, sentence by sentence: the Slurm shape as it is by default, and as real ones were measured."""

from __future__ import annotations

import pytest

from adapters.memory.bench import HOLD_BASE, Bench, do, job_id, seconds
from dispatch.adapters.memory import Crashed, crash_between_steps
from dispatch.model.errors import Busy, Conflict, Finished, OutcomeUnknown, Unsupported
from dispatch.model.status import By, Cause, Gate, HoldSeen, State


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_every_object_of_a_job_has_its_one_constant_name(bench: Bench) -> None:
    refs = [bench.start(), bench.start(submission=2)]
    assert [bench.env.truth(ref).name for ref in refs] == [f"dj-{job_id()}"] * 2


def test_ids_wrap_and_pass_over_those_in_use() -> None:
    bench = Bench(maxJobId=2)
    first, second = bench.start(1), bench.start(2)
    with pytest.raises(Busy):
        bench.start(3)
    bench.stop(first)
    bench.env.purge_now(first)
    third = bench.start(3)
    assert [ref.split(":")[0] for ref in (first, second, third)] == ["1", "2", "1"]


def test_a_submit_time_is_truncated_to_the_second(bench: Bench) -> None:
    bench.pass_time(0.75)
    submitted = bench.see(bench.start()).submitted
    assert submitted == bench.clock.now() - seconds(0.75)


def test_a_start_is_gated(bench: Bench) -> None:
    ref = bench.start()
    assert (bench.see(ref).gate, bench.cause(ref), bench.env.runnable()) == (
        Gate.CLOSED, Cause.GATED, (),
    )  # fmt: skip


def test_an_open_of_an_object_that_ended_is_finished(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref)
    with pytest.raises(Finished):
        bench.open(ref)


def test_an_administrators_hold_refuses_an_open(bench: Bench) -> None:
    ref = bench.start()
    bench.env.admin_hold(ref)
    with pytest.raises(Conflict):
        bench.open(ref)
    bench.env.admin_release(ref)
    bench.open(ref)
    assert bench.env.runnable() == (ref,)


def test_a_stop_acts_on_one_object_even_where_another_has_its_id() -> None:
    bench = Bench(maxJobId=1, capabilities={"AccountingHistory": {"value": "yes"}})
    old = bench.start(1)
    bench.stop(old)
    bench.env.purge_now(old)
    new = bench.start(2)
    assert old.split(":")[0] == new.split(":")[0]
    bench.stop(old)
    assert bench.see(new).state is State.PENDING


def test_a_hold_is_a_start_time_of_the_submit_time_and_the_hold_base_and_the_instance(
    bench: Bench,
) -> None:
    ref = bench.start()
    bench.hold(ref, 7)
    submitted = bench.see(ref).submitted
    assert submitted is not None
    assert bench.env.truth(ref).begin == int(submitted.timestamp()) + HOLD_BASE + 7


def test_a_hold_is_refused_on_a_running_job(bench: Bench) -> None:
    ref = bench.running()
    with pytest.raises(Conflict):
        bench.hold(ref, 1)


def test_a_hold_survives_the_open_and_only_its_release_lifts_it(bench: Bench) -> None:
    ref = bench.start()
    bench.hold(ref, 2)
    bench.open(ref)
    with pytest.raises(Conflict):
        bench.release(ref, 1)
    assert (bench.see(ref).hold, bench.env.runnable()) == (HoldSeen(instance=2), ())
    bench.release(ref, 2)
    assert bench.env.runnable() == (ref,)


def test_only_the_instance_of_a_hold_is_kept(bench: Bench) -> None:
    ref = bench.start()
    bench.hold(ref, 2)
    truth = bench.env.truth(ref)
    assert (truth.hold_instance, truth.held_for, truth.held_until, truth.hold_reason) == (
        2, "", None, "",
    )  # fmt: skip


@pytest.mark.parametrize("end", ["finish", "cancel", "time_out", "preempt"])
def test_a_requeue_revives_what_has_ended_ungated_with_its_restart_count_raised(
    bench: Bench, end: str
) -> None:
    ref = bench.running()
    getattr(bench.env, end)(ref)
    bench.requeue(ref)
    assert bench.waiting(ref) == (State.PENDING, Cause.REQUEUED, 1)
    assert (bench.see(ref).gate, bench.see(ref).requeue) == (Gate.OPEN, False)
    execution = bench.env.run(ref)
    assert execution is not None
    assert execution.epoch == 1_000_001


def test_a_requeue_opens_what_was_cancelled_behind_its_gate(bench: Bench) -> None:
    ref = bench.start()
    bench.stop(ref)
    bench.requeue(ref)
    assert (bench.see(ref).gate, bench.env.runnable()) == (Gate.OPEN, (ref,))


def test_a_requeue_lifts_no_hold(bench: Bench) -> None:
    held, kept = bench.queued(1), bench.queued(2)
    bench.hold(held, 3)
    bench.env.person_hold(kept)
    for ref in (held, kept):
        bench.stop(ref)
        bench.requeue(ref)
    assert (bench.see(held).hold, bench.see(kept).hold) == (
        HoldSeen(instance=3),
        HoldSeen(by=By.OWNER),
    )
    assert bench.env.runnable() == ()


def test_a_requeue_is_refused_where_an_administrator_holds(bench: Bench) -> None:
    ref = bench.queued()
    bench.env.admin_hold(ref)
    bench.stop(ref)
    with pytest.raises(Conflict):
        bench.requeue(ref)
    assert bench.see(ref).state is State.CANCELLED


@pytest.mark.parametrize("revival", [False, True])
def test_a_pending_object_refuses_a_requeue_and_its_bit_is_restored(revival: bool) -> None:  # noqa: FBT001
    bench = Bench(revival=revival)
    ref = bench.queued()
    with pytest.raises(Conflict):
        bench.requeue(ref)
    assert (bench.see(ref).requeue, bench.see(ref).restarts) == (revival, 0)


def test_a_running_object_refuses_a_requeue(bench: Bench) -> None:
    ref = bench.running()
    with pytest.raises(Conflict):
        bench.requeue(ref)
    assert (bench.see(ref).state, bench.see(ref).requeue) == (State.RUNNING, False)


def test_a_requeue_keeps_the_submit_time(bench: Bench) -> None:
    ref = bench.running()
    submitted = bench.see(ref).submitted
    bench.pass_time(50)
    bench.env.finish(ref, 1)
    bench.requeue(ref)
    assert bench.see(ref).submitted == submitted


def test_as_measured_an_end_with_the_bit_off_is_never_requeued_and_a_submit_time_moves() -> None:
    bench = Bench(reviveEnded=False, submitTimeMoves=True)
    ref = bench.running()
    bench.env.finish(ref, 1)
    with pytest.raises(Finished):
        bench.requeue(ref)
    assert bench.see(ref).final
    set_before = Bench(reviveEnded=False, submitTimeMoves=True, revival=True)
    ref = set_before.running()
    set_before.env.finish(ref, 1)
    set_before.pass_time(10)
    set_before.requeue(ref)
    assert set_before.waiting(ref) == (State.PENDING, Cause.REQUEUED, 1)
    assert set_before.see(ref).submitted == set_before.clock.now()


def test_a_bit_left_set_makes_a_preemption_a_requeue_until_it_is_restored(bench: Bench) -> None:
    ref = bench.running()
    bench.env.requeue_externally(ref)
    bench.pass_time(121)
    bench.env.run(ref)
    bench.env.preempt(ref)
    assert bench.waiting(ref) == (State.PENDING, Cause.REQUEUED, 2)
    bench.pass_time(121)
    bench.env.run(ref)
    bench.restore(ref)
    bench.env.preempt(ref)
    assert bench.waiting(ref) == (State.FAILED, Cause.PREEMPTED, 2)


def test_an_ended_object_refuses_the_update_of_its_bit(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref)
    with pytest.raises(Finished):
        bench.restore(ref)


def test_a_process_that_dies_within_a_requeue_leaves_the_bit_set_and_nothing_else(
    bench: Bench,
) -> None:
    ref = bench.queued()
    with crash_between_steps(), pytest.raises(Crashed):
        bench.requeue(ref)
    assert (bench.see(ref).requeue, bench.see(ref).state) == (True, State.PENDING)
    bench.restore(ref)
    assert not bench.see(ref).requeue


def test_a_process_that_dies_within_a_start_an_open_or_a_stop_has_done_its_first_step(
    bench: Bench,
) -> None:
    with crash_between_steps(), pytest.raises(Crashed):
        bench.start()
    (truth,) = bench.env.truths()
    with crash_between_steps(), pytest.raises(Crashed):
        bench.open(truth.ref)
    assert bench.see(truth.ref).gate is Gate.CLOSED
    bench.open(truth.ref)
    with crash_between_steps(), pytest.raises(Crashed):
        bench.stop(truth.ref)
    assert bench.see(truth.ref).state is State.PENDING


def test_a_reply_to_a_requeue_can_be_lost(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref)
    bench.env.drop_next_reply()
    with pytest.raises(OutcomeUnknown):
        bench.requeue(ref)
    assert bench.see(ref).restarts == 1


def test_a_cluster_without_requeue_refuses_both_verbs() -> None:
    bench = Bench(capabilities={"Requeue": {"value": "no"}})
    ref = bench.start()
    with pytest.raises(Unsupported):
        bench.requeue(ref)
    with pytest.raises(Unsupported):
        bench.restore(ref)


def test_a_ref_is_weak_once_its_id_has_been_given_again() -> None:
    bench = Bench(maxJobId=1)
    old = bench.start(1)
    assert do(bench.backend.weakness(old)) is None
    bench.stop(old)
    bench.env.purge_now(old)
    new = bench.start(2)
    for ref, other in ((old, new), (new, old)):
        reason = do(bench.backend.weakness(ref))
        assert reason is not None
        assert other in reason
        assert "within the same second" in reason


def test_an_object_that_somebody_renamed_is_found_by_its_ref_alone(bench: Bench) -> None:
    ref, other = bench.start(), bench.start(submission=2)
    bench.env.rename(ref, "mine")
    found = do(bench.backend.find(job_id())).observations
    assert [seen.ref for seen in found] == [other]
    found = do(bench.backend.find(job_id(), [ref])).observations
    assert [seen.ref for seen in found] == [ref, other]
    found = do(bench.backend.find_many([job_id()], [ref])).observations
    assert [seen.ref for seen in found] == [ref, other]
    assert [living.ref for living in do(bench.backend.list_living())] == [other]
    assert bench.env.truth(ref).name == "mine"


def test_two_stores_of_one_account_see_each_others_objects(bench: Bench) -> None:
    bench.start(store="laptop")
    bench.start(store="login")
    seen = do(bench.backend.find(job_id())).observations
    assert {item.key.store for item in seen} == {"laptop", "login"}
    assert {item.store for item in do(bench.backend.list_living())} == {"laptop", "login"}
