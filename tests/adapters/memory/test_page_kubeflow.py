"""The reference page, sentence by sentence: the Kubeflow shape."""

from __future__ import annotations

import pytest

from adapters.memory.bench import Bench, do, job_id, kubeflow, seconds
from dispatch.adapters.memory import Crashed, crash_between_steps
from dispatch.model.answers import Capability
from dispatch.model.errors import Conflict, Finished, Invalid, NotFound, Unsupported
from dispatch.model.status import By, Cause, Gate, HoldSeen, State
from dispatch.spi.adapter import HoldMeta


@pytest.fixture
def bench() -> Bench:
    return kubeflow()


def test_a_name_is_that_of_the_job_and_the_submission(bench: Bench) -> None:
    assert bench.env.truth(bench.start(submission=3)).name == f"dj-{job_id().lower()}-s3"


def test_a_duplicate_is_refused(bench: Bench) -> None:
    bench.start()
    with pytest.raises(Conflict):
        bench.start()
    bench.start(submission=2)
    assert bench.count() == 2


def test_a_name_is_free_again_once_its_object_was_deleted(bench: Bench) -> None:
    first = bench.start()
    bench.stop(first)
    second = bench.start()
    assert first != second
    assert bench.count() == 1
    assert do(bench.backend.weakness(first)) is None


def test_a_start_is_gated_until_its_open(bench: Bench) -> None:
    ref = bench.start()
    assert (bench.see(ref).gate, bench.cause(ref), bench.env.runnable()) == (
        Gate.CLOSED, Cause.GATED, (),
    )  # fmt: skip
    with pytest.raises(Conflict):
        bench.env.run(ref)
    bench.open(ref)
    bench.open(ref)
    assert (bench.see(ref).gate, bench.env.runnable()) == (Gate.OPEN, (ref,))


def test_a_stop_deletes(bench: Bench) -> None:
    ref = bench.running()
    bench.stop(ref)
    with pytest.raises(NotFound):
        bench.see(ref)
    with pytest.raises(NotFound):
        bench.stop(ref)
    assert (bench.count(), bench.env.live()) == (0, ())
    truth = bench.env.truth(ref)
    assert (truth.observation, truth.queued, truth.executions[0].cause) == (
        None, False, Cause.CANCELLED,
    )  # fmt: skip


def test_a_stop_of_an_ended_object_deletes_nothing(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref)
    bench.stop(ref)
    assert (bench.see(ref).state, bench.see(ref).final) == (State.SUCCEEDED, True)


def test_a_stopped_object_is_shown_until_its_last_pod_is_gone(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.stop(ref)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.cleaning) == (State.CANCELLED, Cause.CANCELLED, True)
    bench.pass_time(3600)
    assert bench.env.truth(ref).live == 1
    bench.env.return_node("n1")
    bench.pass_time(4)
    assert (bench.count(), bench.env.live()) == (0, ())


def test_a_fenced_node_lets_a_stopped_object_go(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.stop(ref)
    bench.env.fence_node("n1")
    assert (bench.count(), bench.env.live()) == (0, ())


def test_a_process_that_dies_within_a_stop_leaves_a_suspended_object(bench: Bench) -> None:
    ref = bench.running()
    with crash_between_steps(), pytest.raises(Crashed):
        bench.stop(ref)
    assert (bench.see(ref).state, bench.env.runnable(), bench.env.live()) == (State.PENDING, (), ())
    bench.stop(ref)
    assert bench.count() == 0


def test_a_preemption_sends_it_back_to_pending_and_leaves_its_restart_counter(bench: Bench) -> None:
    ref = bench.running()
    bench.env.preempt(ref)
    assert bench.waiting(ref) == (State.PENDING, Cause.PREEMPTED, 0)
    assert bench.env.live() == ()
    assert bench.env.run(ref) is not None
    assert bench.waiting(ref) == (State.RUNNING, None, 0)


def test_the_epoch_counts_executions_where_the_restart_counter_does_not(bench: Bench) -> None:
    ref = bench.running(submission=2)
    for _ in range(2):
        bench.env.preempt(ref)
        bench.env.run(ref)
    executions = bench.env.truth(ref).executions
    assert [execution.epoch for execution in executions] == [2_000_000, 2_000_001, 2_000_002]
    assert len({execution.attempt for execution in executions}) == 3
    assert bench.see(ref).restarts == 0


def test_a_lost_node_wedges_it_running_and_it_never_ends_on_its_own(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(299)
    assert bench.waiting(ref) == (State.RUNNING, None, 0)
    bench.pass_time(1)
    assert bench.waiting(ref) == (State.RUNNING, Cause.NODE_LOST, 0)
    assert bench.see(ref).verdict.detail.nodes == ("n1",)
    bench.pass_time(1_000_000)
    assert bench.see(ref).state is State.RUNNING


def test_a_node_that_comes_back_with_its_pods_unwedges_it(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(300)
    bench.env.return_node("n1")
    bench.pass_time(4)
    assert bench.waiting(ref) == (State.RUNNING, None, 0)
    bench.env.finish(ref)
    assert bench.see(ref).state is State.SUCCEEDED


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_node_that_comes_back_without_its_pods_ends_it(bench: Bench, nodes: int) -> None:
    ref = bench.running(nodes=nodes)
    bench.env.lose_node("n1")
    bench.pass_time(300)
    bench.env.return_node("n1", rebooted=True)
    bench.pass_time(4)
    assert bench.waiting(ref) == (State.FAILED, Cause.NODE_LOST, 0)
    assert bench.env.live() == ()


@pytest.mark.parametrize(
    ("end", "cause"),
    [("oom", Cause.OUT_OF_MEMORY), ("exit", Cause.NON_ZERO_EXIT), ("signal", Cause.NON_ZERO_EXIT)],
)
def test_what_only_a_pod_tells_is_unknown_once_the_evidence_window_has_passed(
    end: str, cause: Cause
) -> None:
    bench = kubeflow(evidenceWindow="30s")
    ref = bench.running()
    match end:
        case "oom":
            bench.env.out_of_memory(ref)
        case "exit":
            bench.env.finish(ref, 3)
        case _:
            bench.env.finish(ref, signal="SEGV")
    bench.pass_time(29.9)
    assert bench.cause(ref) is cause
    bench.pass_time(0.1)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.verdict.proven) == (State.FAILED, Cause.UNKNOWN, False)


def test_a_wedge_is_unknown_too_once_the_evidence_window_has_passed() -> None:
    bench = kubeflow(evidenceWindow="30s", slurmdTimeout="40s")
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(69)
    assert bench.cause(ref) is Cause.NODE_LOST
    bench.pass_time(1)
    assert bench.waiting(ref) == (State.RUNNING, Cause.UNKNOWN, 0)


@pytest.mark.parametrize(
    ("end", "state", "cause"),
    [("finish", State.SUCCEEDED, None), ("time_out", State.FAILED, Cause.TIMEOUT)],
)
def test_what_the_train_job_itself_tells_stays_known(
    bench: Bench, end: str, state: State, cause: Cause | None
) -> None:
    ref = bench.running()
    getattr(bench.env, end)(ref)
    bench.pass_time(1_000_000)
    assert bench.waiting(ref) == (state, cause, 0)


@pytest.mark.parametrize(
    ("signal", "code", "hint"), [("KILL", 137, Cause.OUT_OF_MEMORY), ("SEGV", 139, Cause.SIGNALLED)]
)
def test_a_signal_reads_as_an_exit_code_that_only_hints_at_it(
    bench: Bench, signal: str, code: int, hint: Cause
) -> None:
    ref = bench.running()
    bench.env.finish(ref, signal=signal)
    detail = bench.see(ref).verdict.detail
    assert (bench.cause(ref), detail.exit_code, detail.suspected) == (
        Cause.NON_ZERO_EXIT, code, hint,
    )  # fmt: skip


def test_a_hold_deactivates_the_workload_and_ends_a_running_execution_as_held(
    bench: Bench,
) -> None:
    ref = bench.running()
    bench.hold(ref, 2)
    assert bench.waiting(ref) == (State.PENDING, Cause.HELD, 0)
    assert bench.see(ref).hold == HoldSeen(instance=2)
    assert (bench.env.live(), bench.env.runnable()) == ((), ())
    assert bench.env.truth(ref).executions[0].cause is Cause.HELD
    bench.release(ref, 2)
    assert bench.env.runnable() == (ref,)


def test_a_hold_before_the_open_survives_it(bench: Bench) -> None:
    ref = bench.start()
    bench.hold(ref, 1)
    assert (bench.see(ref).gate, bench.cause(ref)) == (Gate.CLOSED, Cause.HELD)
    bench.open(ref)
    assert (bench.see(ref).gate, bench.see(ref).hold) == (Gate.OPEN, HoldSeen(instance=1))
    with pytest.raises(Conflict):
        bench.release(ref, 2)
    bench.release(ref, 1)
    assert bench.env.runnable() == (ref,)


def test_a_release_does_not_open_the_gate(bench: Bench) -> None:
    ref = bench.start()
    bench.hold(ref, 1)
    bench.release(ref, 1)
    assert (bench.see(ref).gate, bench.env.runnable()) == (Gate.CLOSED, ())


def test_an_instance_is_never_used_twice(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 2)
    bench.release(ref, 2)
    with pytest.raises(Conflict):
        bench.hold(ref, 2)
    with pytest.raises(Invalid):
        bench.hold(ref, 0)
    bench.hold(ref, 3)


def test_who_holds_it_until_when_and_why_stands_beside_it_until_its_release(bench: Bench) -> None:
    ref, until = bench.queued(), bench.clock.now() + seconds(600)
    meta = HoldMeta(deadline=bench.meta().deadline, instance=1, by="ada", until=until, why="a look")
    do(bench.backend.hold(ref, meta))
    truth = bench.env.truth(ref)
    assert (truth.held_for, truth.held_until, truth.hold_reason) == ("ada", until, "a look")
    bench.release(ref, 1)
    truth = bench.env.truth(ref)
    assert (truth.held_for, truth.held_until, truth.hold_reason) == ("", None, "")


def test_what_has_ended_is_neither_opened_nor_held_nor_released(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref)
    with pytest.raises(Finished):
        bench.open(ref)
    with pytest.raises(Finished):
        bench.hold(ref, 1)
    with pytest.raises(Finished):
        bench.release(ref, 1)


@pytest.mark.parametrize("value", ["no", "yes"])
def test_requeue_and_restoring_the_bit_are_unsupported(value: str) -> None:
    bench = kubeflow(capabilities={"Requeue": {"value": value}})
    ref = bench.running()
    bench.env.finish(ref)
    for call in (bench.requeue, bench.restore, bench.env.requeue_externally):
        with pytest.raises(Unsupported):
            call(ref)


def test_an_administrator_deactivates_the_workload_and_refuses_the_open(bench: Bench) -> None:
    ref = bench.start()
    bench.env.admin_hold(ref)
    assert (bench.cause(ref), bench.see(ref).hold) == (
        Cause.ADMIN_HELD, HoldSeen(by=By.ADMINISTRATOR),
    )  # fmt: skip
    with pytest.raises(Conflict):
        bench.open(ref)
    with pytest.raises(Conflict):
        bench.env.person_release(ref)
    bench.env.admin_release(ref)
    bench.open(ref)
    bench.env.run(ref)
    bench.env.person_hold(ref)
    assert (bench.cause(ref), bench.env.live()) == (Cause.HELD, ())


def test_no_hold_of_ours_is_lifted_by_hand(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 1)
    bench.env.person_release(ref)
    assert (bench.see(ref).hold, bench.env.runnable()) == (HoldSeen(instance=1), ())


def test_somebody_who_cancels_deletes_it(bench: Bench) -> None:
    ref = bench.running()
    bench.env.cancel(ref, who="bob")
    assert (bench.count(), bench.env.truth(ref).cancelled_by) == (0, "bob")


def test_readmission_waits_for_the_pods_of_the_last_execution(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.env.preempt(ref)
    assert (bench.see(ref).cleaning, bench.see(ref).nodes) == (True, ("n1",))
    assert bench.env.runnable() == ()
    bench.pass_time(10_000)
    assert bench.env.runnable() == ()
    bench.env.fence_node("n1")
    assert bench.env.runnable() == (ref,)


def test_without_a_readmission_gate_two_executions_can_overlap() -> None:
    bench = kubeflow(capabilities={"ReadmissionGate": {"value": "no"}})
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.env.preempt(ref)
    bench.env.run(ref)
    assert len(bench.env.overlaps()) == 1


def test_it_tells_what_it_cannot_do(bench: Bench) -> None:
    answers = bench.backend.answers
    no = {name for name in Capability if not answers.capability(name).yes}
    assert no == {
        Capability.REQUEUE, Capability.ACCOUNTING_HISTORY, Capability.OUTPUT, Capability.FENCE,
    }  # fmt: skip
    assert all(answers.capability(name).reason for name in no)
    assert bench.backend.identity.version == "kubeflow"


def test_what_slurm_alone_can_do_is_unsupported(bench: Bench) -> None:
    ref = bench.start()
    with pytest.raises(Unsupported):
        bench.env.person_begin(ref, None)
    with pytest.raises(Unsupported):
        bench.env.rename(ref, "mine")
    with pytest.raises(Invalid):
        bench.env.crash(seconds(1))


def test_a_crash_of_the_api_server_forgets_nothing_and_starts_nothing(bench: Bench) -> None:
    ref, gated = bench.running(), bench.start(2)
    bench.env.crash()
    boot = bench.env.reboot()
    bench.pass_time(10)
    assert (boot, bench.see(ref).state, bench.see(gated).gate) == (
        "boot-2", State.RUNNING, Gate.CLOSED,
    )  # fmt: skip
    assert bench.backend.declarations.save_window == seconds(0)


def test_a_pod_that_cannot_start_is_a_failed_launch(bench: Bench) -> None:
    ref = bench.queued()
    bench.env.fail_launch(ref)
    assert bench.waiting(ref) == (State.FAILED, Cause.LAUNCH_FAILED, 0)


def test_what_waits_says_for_what() -> None:
    bench = kubeflow(nodes=1, cleaningTime="10s")
    big, first, second = bench.queued(1, nodes=2), bench.queued(2), bench.queued(3)
    bench.env.run(first)
    assert (bench.cause(big), bench.cause(second)) == (Cause.UNSATISFIABLE, Cause.NO_CAPACITY)
    bench.hold(first, 1)
    bench.release(first, 1)
    assert bench.cause(first) is Cause.AWAITING_READMISSION
    bench.pass_time(10)
    assert bench.cause(first) is None


def test_uids_do_not_wrap() -> None:
    bench = kubeflow(maxJobId=1)
    refs = [bench.start(number) for number in range(1, 4)]
    assert [ref.split(":")[0] for ref in refs] == ["uid-1", "uid-2", "uid-3"]
