"""How executions end, what Slurm says of it, and what is read from that."""

from __future__ import annotations

import pytest

from adapters.memory.bench import Bench, do, job_id, seconds
from dispatch.model.errors import Conflict, Finished, NotFound
from dispatch.model.status import By, Cause, Source, State


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(
    ("end", "state", "cause", "raw"),
    [
        ({"exit_code": 0}, State.SUCCEEDED, None, ("COMPLETED", "None", "0:0")),
        ({"exit_code": 3}, State.FAILED, Cause.NON_ZERO_EXIT, ("FAILED", "NonZeroExitCode", "3:0")),
        (
            {"signal": "SEGV"},
            State.FAILED,
            Cause.SIGNALLED,
            ("FAILED", "RaisedSignal:11(Segmentation fault)", "0:11"),
        ),
        ({"signal": 9}, State.FAILED, Cause.SIGNALLED, ("FAILED", "RaisedSignal:9(Killed)", "0:9")),
    ],
    ids=["success", "exit", "segv", "kill"],
)
def test_an_end_of_the_program_is_read_with_its_evidence(
    bench: Bench, end: dict[str, int], state: State, cause: Cause | None, raw: tuple[str, str, str]
) -> None:
    ref = bench.running()
    bench.env.finish(ref, **end)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.final, seen.cleaning) == (state, cause, True, False)
    said = bench.raw(ref)
    assert (said["job_state"], said["state_reason"], said["exit_code"]) == raw
    assert bench.env.truth(ref).executions[0].cause is cause
    assert bench.env.live() == ()


def test_the_exit_code_and_the_signal_are_kept(bench: Bench) -> None:
    first, second = bench.running(1), bench.running(2)
    bench.env.finish(first, 7)
    bench.env.finish(second, signal="SIGTERM")
    assert bench.see(first).verdict.detail.exit_code == 7
    assert bench.see(second).verdict.detail.signal == "TERM"


def test_exit_137_is_a_suspicion_of_memory_and_no_proof(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref, 137)
    assert (bench.cause(ref), bench.see(ref).verdict.detail.suspected) == (
        Cause.NON_ZERO_EXIT,
        Cause.OUT_OF_MEMORY,
    )


def test_a_kill_for_memory_is_told(bench: Bench) -> None:
    ref = bench.running()
    bench.env.out_of_memory(ref)
    assert bench.cause(ref) is Cause.OUT_OF_MEMORY
    assert (bench.raw(ref)["job_state"], bench.raw(ref)["exit_code"]) == ("OUT_OF_MEMORY", "0:125")


def test_a_time_limit_is_told(bench: Bench) -> None:
    ref = bench.running()
    bench.env.time_out(ref)
    assert (bench.cause(ref), bench.raw(ref)["job_state"]) == (Cause.TIMEOUT, "TIMEOUT")
    assert bench.env.live() == ()


def test_a_preemption_ends_an_object_whose_requeue_bit_is_off(bench: Bench) -> None:
    ref = bench.running()
    bench.env.preempt(ref)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.final, bench.raw(ref)["job_state"]) == (
        State.FAILED, Cause.PREEMPTED, True, "PREEMPTED",
    )  # fmt: skip
    assert bench.env.truth(ref).executions[0].cause is Cause.PREEMPTED


def test_a_failed_launch_runs_nothing(bench: Bench) -> None:
    ref = bench.queued()
    bench.env.fail_launch(ref)
    assert bench.cause(ref) is Cause.LAUNCH_FAILED
    assert bench.env.truth(ref).executions == ()
    assert bench.env.tickets(job_id()) == ()


def test_times_are_cut_to_the_second(bench: Bench) -> None:
    start = bench.clock.now()
    bench.pass_time(0.9)
    ref = bench.queued()
    bench.pass_time(1.3)
    bench.env.run(ref)
    bench.pass_time(1.4)
    bench.env.finish(ref)
    seen = bench.see(ref)
    assert (seen.submitted, seen.started, seen.ended) == (
        start,
        start + seconds(2),
        start + seconds(3),
    )


def test_a_stop_of_a_gated_object_ends_it_for_good(bench: Bench) -> None:
    ref = bench.start()
    bench.stop(ref)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.final, seen.started) == (
        State.CANCELLED,
        Cause.CANCELLED,
        True,
        None,
    )
    assert bench.raw(ref)["exit_code"] == "0:0"
    with pytest.raises(Finished):
        bench.env.requeue_externally(ref)


def test_a_stop_of_a_running_object_ends_its_processes(bench: Bench) -> None:
    ref = bench.running()
    bench.stop(ref)
    assert (bench.see(ref).state, bench.raw(ref)["exit_code"], bench.env.live()) == (
        State.CANCELLED,
        "0:15",
        (),
    )


def test_a_second_stop_is_no_error(bench: Bench) -> None:
    ref = bench.running()
    bench.env.finish(ref)
    bench.stop(ref)
    assert bench.see(ref).state is State.SUCCEEDED


def test_a_stop_ends_one_object_of_two(bench: Bench) -> None:
    first, second = bench.queued(), bench.queued(submission=2)
    bench.stop(first)
    assert (bench.see(first).state, bench.see(second).state) == (State.CANCELLED, State.PENDING)


def test_a_stop_of_an_object_that_slurm_would_revive_makes_it_final() -> None:
    bench = Bench(revival=True)
    ref = bench.queued()
    assert bench.see(ref).requeue
    bench.stop(ref)
    seen = bench.see(ref)
    assert (seen.requeue, seen.final) == (False, True)


@pytest.mark.parametrize(
    ("who", "by"), [("root", By.ADMINISTRATOR), ("owner", By.OWNER), ("bob", By.OTHER)]
)
def test_accounting_alone_knows_who_cancelled(who: str, by: By) -> None:
    blind, seeing = Bench(), Bench(capabilities={"AccountingHistory": {"value": "yes"}})
    for bench in (blind, seeing):
        bench.env.cancel(bench.running(), who=who)
    told = [bench.see(bench.env.truths()[0].ref).verdict for bench in (blind, seeing)]
    assert [(verdict.detail.by, verdict.detail.who) for verdict in told] == [
        (None, None),
        (by, who),
    ]
    assert Source.ACCOUNTING in {item.source for item in told[1].evidence}


def test_what_was_killed_lives_while_it_is_cleaned_up() -> None:
    bench = Bench(cleaningTime="10s")
    ref = bench.running(nodes=2)
    bench.stop(ref)
    assert (bench.see(ref).cleaning, bench.env.truth(ref).live) == (True, 1)
    bench.pass_time(10)
    assert (bench.see(ref).cleaning, bench.env.truth(ref).live) == (False, 0)


def test_a_program_that_ended_by_itself_is_gone_while_its_nodes_clean_up() -> None:
    bench = Bench(cleaningTime="10s")
    ref = bench.running()
    bench.env.finish(ref)
    assert (bench.see(ref).cleaning, bench.env.truth(ref).live) == (True, 0)


def test_a_purged_object_is_not_found_any_more() -> None:
    bench = Bench(minJobAge="5m")
    ref = bench.running()
    bench.env.finish(ref)
    bench.pass_time(299)
    assert bench.count() == 1
    bench.pass_time(1)
    assert bench.count() == 0
    with pytest.raises(NotFound):
        bench.see(ref)
    assert not bench.env.truth(ref).queued


def test_a_purge_counts_from_the_end_itself_and_not_from_the_last_look() -> None:
    bench = Bench(minJobAge="1m")
    ref = bench.running()
    bench.env.finish(ref)
    bench.pass_time(3600)
    bench.start(2)
    assert bench.count() == 0
    assert bench.env.truth(ref).observation is None


def test_an_object_is_purged_by_hand_only_after_its_end(bench: Bench) -> None:
    ref = bench.running()
    with pytest.raises(Conflict):
        bench.env.purge_now(ref)
    bench.env.finish(ref)
    bench.env.purge_now(ref)
    assert bench.count() == 0


def test_what_is_still_being_cleaned_up_is_not_purged_even_if_it_ended_since_anybody_looked() -> (
    None
):
    # Found by the simulator (climate forgotten, seed 10138): its cleaning then never ended.
    bench = Bench(slurmdTimeout="60s")
    ref = bench.running(nodes=2)
    lost, left = bench.env.truth(ref).executions[0].nodes
    bench.env.lose_node(lost)
    bench.env.lose_node(left)
    bench.env.return_node(left, kill_fails=True)
    bench.pass_time(70)
    with pytest.raises(Conflict, match="cleaned up"):
        bench.env.purge_now(ref)
    assert bench.see(ref).cleaning
    bench.env.return_node(left)
    bench.pass_time(60)
    bench.env.purge_now(ref)
    assert bench.count() == 0


def test_accounting_remembers_a_purged_object_and_calls_it_final() -> None:
    bench = Bench(capabilities={"AccountingHistory": {"value": "yes"}})
    ref = bench.running()
    bench.env.finish(ref, 4)
    bench.env.purge_now(ref)
    seen = bench.see(ref)
    assert (seen.state, seen.verdict.detail.exit_code, seen.final) == (State.FAILED, 4, True)
    assert bench.evidence(ref)[0].source is Source.ACCOUNTING
    with pytest.raises(Finished):
        bench.open(ref)
    bench.stop(ref)
    assert do(bench.backend.find(job_id())).observations == (seen,)


def test_an_opened_object_that_finds_no_room_waits_for_capacity() -> None:
    bench = Bench(capacity=1)
    first, second = bench.running(1), bench.queued(2)
    assert (bench.cause(second), bench.raw(second)["state_reason"]) == (
        Cause.NO_CAPACITY,
        "Resources",
    )
    bench.env.finish(first)
    assert (bench.cause(second), bench.env.run_all()) == (None, (second,))


def test_nodes_are_given_to_one_object_at_a_time() -> None:
    bench = Bench(nodes=3)
    bench.running(1, nodes=2)
    second, third = bench.queued(2, nodes=2), bench.queued(3, exclude=("n3",))
    assert bench.cause(second) is Cause.NO_CAPACITY
    assert bench.cause(third) is Cause.NO_CAPACITY
    assert bench.env.runnable() == ()


def test_an_object_too_large_for_the_cluster_can_never_run() -> None:
    bench = Bench(nodes=2)
    assert bench.cause(bench.queued(nodes=3)) is Cause.UNSATISFIABLE


def test_nodes_can_be_chosen_for_a_start(bench: Bench) -> None:
    ref = bench.queued(nodes=2)
    with pytest.raises(Conflict):
        bench.env.run(ref, nodes=("n7",))
    bench.env.run(ref, nodes=("n7", "n9"))
    assert bench.see(ref).nodes == ("n7", "n9")
