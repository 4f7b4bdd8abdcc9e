"""A controller that crashes, forgets what it acknowledged, hangs, and comes back."""

from __future__ import annotations

import pytest

from adapters.memory.bench import Bench, do, job_id, seconds
from dispatch.adapters.memory import Relaunch
from dispatch.model.errors import Invalid, NotFound, OutcomeUnknown, Unavailable
from dispatch.model.status import Cause, Gate, State


@pytest.fixture
def bench() -> Bench:
    return Bench(saveWindow="5s")


def crash(bench: Bench, *, partly: bool = False, relaunch: Relaunch = Relaunch.NONE) -> None:
    bench.env.crash(partly=partly)
    bench.env.reboot(relaunch=relaunch)


def test_a_dead_controller_answers_nothing_until_it_boots_again(bench: Bench) -> None:
    ref = bench.start()
    boot = do(bench.backend.find(job_id())).boot
    bench.pass_time(10)
    bench.env.crash()
    with pytest.raises(Unavailable):
        bench.see(ref)
    with pytest.raises(Unavailable):
        bench.open(ref)
    with pytest.raises(Unavailable):
        bench.env.cancel(ref)
    assert bench.env.reboot() != boot
    assert bench.see(ref).gate is Gate.CLOSED


def test_what_was_saved_survives_a_crash(bench: Bench) -> None:
    ref = bench.running()
    before = bench.see(ref)
    bench.pass_time(5)
    crash(bench)
    bench.pass_time(10)
    seen = bench.see(ref)
    assert (seen.state, seen.started, seen.nodes) == (State.RUNNING, before.started, before.nodes)
    assert len(bench.env.live()) == 1


def test_a_submission_can_be_forgotten_and_its_id_used_again(bench: Bench) -> None:
    bench.start(1)
    bench.pass_time(6)
    lost = bench.start(2)
    crash(bench)
    assert bench.count(2) == 0
    with pytest.raises(NotFound):
        bench.see(lost)
    assert bench.env.truth(lost).forgotten
    new = bench.start(3)
    assert new.split(":")[0] == lost.split(":")[0]
    with pytest.raises(NotFound):
        bench.see(lost)


def test_an_open_can_be_forgotten(bench: Bench) -> None:
    ref = bench.start()
    bench.pass_time(6)
    bench.open(ref)
    crash(bench)
    assert (bench.see(ref).gate, bench.cause(ref)) == (Gate.CLOSED, Cause.GATED)


def test_a_hold_a_release_and_a_stop_can_be_forgotten(bench: Bench) -> None:
    held, released, stopped = bench.queued(1), bench.queued(2), bench.start(3)
    bench.hold(released, 1)
    bench.pass_time(6)
    bench.hold(held, 1)
    bench.release(released, 1)
    bench.stop(stopped)
    crash(bench)
    assert bench.see(held).hold is None
    assert bench.see(released).hold is not None
    assert (bench.see(stopped).state, bench.see(stopped).gate) == (State.PENDING, Gate.CLOSED)


def test_no_more_is_forgotten_than_asked(bench: Bench) -> None:
    ref = bench.start()
    bench.pass_time(2)
    bench.open(ref)
    bench.pass_time(1)
    bench.env.crash(seconds(1))
    bench.env.reboot()
    assert bench.see(ref).gate is Gate.OPEN
    with pytest.raises(Invalid):
        bench.env.crash(seconds(6))


def test_a_forgotten_start_reads_as_pending_while_it_runs(bench: Bench) -> None:
    ref = bench.queued()
    bench.pass_time(6)
    bench.env.run(ref)
    crash(bench)
    seen = bench.see(ref)
    assert (seen.state, seen.gate, seen.restarts, bench.raw(ref)["state_reason"]) == (
        State.PENDING, Gate.OPEN, 0, "None",
    )  # fmt: skip
    assert (seen.cause, seen.verdict.detail.nodes) == (Cause.FORGOTTEN, ("n1",))
    assert bench.env.truth(ref).live == 1
    bench.pass_time(4)
    assert bench.env.truth(ref).live == 0
    assert bench.env.truth(ref).executions[0].cause is Cause.FORGOTTEN


def test_a_start_can_be_forgotten_and_the_release_kept(bench: Bench) -> None:
    ref = bench.start()
    bench.pass_time(6)
    bench.open(ref)
    bench.env.run(ref)
    crash(bench, partly=True)
    assert (bench.see(ref).state, bench.see(ref).gate, bench.env.truth(ref).live) == (
        State.PENDING, Gate.OPEN, 1,
    )  # fmt: skip


def test_a_partial_crash_forgets_no_submission_and_no_end(bench: Bench) -> None:
    ended, new = bench.running(1), bench.start(2)
    bench.env.finish(ended)
    crash(bench, partly=True)
    assert (bench.see(ended).state, bench.see(new).gate) == (State.SUCCEEDED, Gate.CLOSED)


def test_a_ghost_of_a_forgotten_submission_lives_until_its_node_registers(bench: Bench) -> None:
    ref = bench.running()
    crash(bench)
    assert bench.count() == 0
    assert bench.env.truth(ref).live == 1
    bench.pass_time(4)
    assert bench.env.truth(ref).live == 0


def test_slurm_may_launch_a_forgotten_start_again_where_it_is_refused(bench: Bench) -> None:
    ref = bench.queued()
    bench.pass_time(6)
    bench.env.run(ref)
    crash(bench, relaunch=Relaunch.SAME_NODES)
    bench.pass_time(4)
    verdict = bench.see(ref).verdict
    raw = bench.raw(ref)
    assert (raw["job_state"], raw["state_reason"], raw["exit_code"]) == (
        "FAILED",
        "NonZeroExitCode",
        "1:0",
    )
    assert (verdict.cause, verdict.proven, verdict.detail.suspected) == (
        Cause.UNKNOWN, False, Cause.NON_ZERO_EXIT,
    )  # fmt: skip
    assert bench.env.live() == ()
    assert bench.env.overlaps() == ()


def test_the_fence_refuses_a_second_launch_on_another_node(bench: Bench) -> None:
    ref = bench.queued()
    bench.pass_time(6)
    bench.env.run(ref)
    crash(bench, relaunch=Relaunch.OTHER_NODES)
    bench.pass_time(2)
    seen = bench.see(ref)
    assert (seen.cause, seen.verdict.detail.nodes, seen.nodes) == (Cause.FENCED, ("n1",), ("n2",))
    assert (bench.env.truth(ref).live, bench.env.overlaps()) == (1, ())


def test_without_the_fence_the_second_launch_overlaps_the_first() -> None:
    bench = Bench(saveWindow="5s", fence=False, relaunch="otherNodes")
    ref = bench.queued()
    bench.pass_time(6)
    bench.env.run(ref)
    bench.env.crash()
    bench.env.reboot()
    bench.pass_time(2)
    (clash,) = bench.env.overlaps()
    assert (clash.first.epoch, clash.second.epoch) == (1_000_000, 1_000_000)
    bench.pass_time(2)
    assert [execution.nodes for execution in bench.env.live()] == [("n2",)]


def test_a_stop_of_a_forgotten_start_tells_where_processes_may_live(bench: Bench) -> None:
    ref = bench.queued()
    bench.pass_time(6)
    bench.env.run(ref)
    crash(bench)
    bench.stop(ref)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.verdict.detail.nodes) == (
        State.CANCELLED, Cause.FORGOTTEN, ("n1",),
    )  # fmt: skip
    assert bench.env.truth(ref).live == 1


@pytest.mark.parametrize(("code", "state"), [(0, State.SUCCEEDED), (3, State.FAILED)])
def test_a_forgotten_end_is_told_by_the_job_scripts_own_record(
    bench: Bench, code: int, state: State
) -> None:
    ref = bench.running()
    bench.pass_time(6)
    bench.env.finish(ref, code)
    crash(bench)
    assert bench.see(ref).state is State.RUNNING
    bench.pass_time(4)
    assert (bench.see(ref).state, bench.see(ref).verdict.detail.exit_code) == (state, code)
    assert bench.raw(ref)["job_state"] == "NODE_FAIL"


def test_a_forgotten_end_is_unknown_without_that_record() -> None:
    bench = Bench(saveWindow="5s", fence=False)
    ref = bench.running()
    bench.pass_time(6)
    bench.env.finish(ref)
    crash(bench)
    bench.pass_time(4)
    verdict = bench.see(ref).verdict
    assert (verdict.cause, verdict.proven) == (Cause.UNKNOWN, False)


def test_an_end_while_the_controller_is_dead_is_heard_after_its_boot(bench: Bench) -> None:
    ref = bench.running()
    bench.pass_time(6)
    bench.env.crash()
    bench.env.finish(ref, 9)
    bench.env.reboot()
    bench.pass_time(4)
    assert bench.see(ref).verdict.detail.exit_code == 9


def test_a_purge_can_be_forgotten_and_is_made_up_for(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref)
    bench.pass_time(299)
    bench.env.purge_now(ref)
    assert bench.count() == 0
    crash(bench)
    assert bench.count() == 1
    bench.pass_time(1)
    assert bench.count() == 0


def test_a_node_lost_while_the_controller_is_dead_is_given_up_after_its_boot() -> None:
    bench = Bench(slurmdTimeout="40s", saveWindow="5s")
    ref = bench.running()
    bench.pass_time(6)
    bench.env.crash()
    bench.env.lose_node("n1")
    bench.pass_time(100)
    bench.env.reboot()
    assert bench.see(ref).state is State.RUNNING
    bench.pass_time(40)
    assert bench.cause(ref) is Cause.NODE_LOST


def test_a_clean_restart_changes_the_boot_and_forgets_nothing(bench: Bench) -> None:
    running, queued = bench.running(1), bench.queued(2)
    before = [bench.see(running), bench.see(queued)]
    boot = bench.env.reboot()
    assert do(bench.backend.find(job_id())).boot == boot
    assert [bench.see(running), bench.see(queued)] == before
    bench.pass_time(10)
    assert bench.env.truth(running).live == 1


def test_a_hung_controller_carries_out_later_what_it_was_sent(bench: Bench) -> None:
    ref = bench.start()
    bench.env.hang()
    with pytest.raises(OutcomeUnknown):
        bench.open(ref)
    with pytest.raises(Unavailable):
        bench.see(ref)
    bench.pass_time(3600)
    bench.env.resume()
    assert bench.see(ref).gate is Gate.OPEN


def test_a_hung_controller_keeps_no_order(bench: Bench) -> None:
    ref = bench.queued()
    bench.env.hang()
    for instance in (1, 2):
        with pytest.raises(OutcomeUnknown):
            bench.hold(ref, instance)
    bench.env.resume(reverse=True)
    hold = bench.see(ref).hold
    assert hold is not None
    assert hold.instance == 2


def test_nothing_ends_or_is_purged_while_the_controller_hangs(bench: Bench) -> None:
    ended, running = bench.running(1), bench.running(2)
    bench.env.finish(ended)
    bench.env.hang()
    bench.env.finish(running, 1)
    bench.pass_time(3600)
    bench.env.resume()
    assert bench.see(running).verdict.detail.exit_code == 1
    assert bench.see(running).ended == bench.clock.now()
