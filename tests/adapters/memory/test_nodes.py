"""Nodes that are lost and come back, and what becomes of the processes on them."""

from __future__ import annotations

import pytest

from adapters.memory.bench import Bench, do, job_id
from dispatch.model.errors import Invalid, Unsupported
from dispatch.model.status import Cause, NodeReport, State


@pytest.fixture
def bench() -> Bench:
    return Bench(slurmdTimeout="40s", nodes=4)


def report(bench: Bench, name: str, ref: str) -> NodeReport:
    (told,) = do(bench.backend.nodes([name], ref))
    return told


def test_a_lost_node_ends_the_object_after_the_timeout_and_not_its_processes(bench: Bench) -> None:
    ref = bench.running(nodes=2)
    bench.env.lose_node("n2")
    bench.pass_time(39)
    assert bench.see(ref).state is State.RUNNING
    bench.pass_time(1)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.final) == (State.FAILED, Cause.NODE_LOST, True)
    assert seen.verdict.detail.nodes == ("n2",)
    assert (bench.raw(ref)["job_state"], bench.raw(ref)["state_reason"]) == (
        "NODE_FAIL",
        "NodeDown",
    )
    (execution,) = bench.env.live()
    assert (execution.alive, execution.cause) == (("n2",), Cause.NODE_LOST)


@pytest.mark.parametrize(
    ("nodes", "cause", "proven"), [(1, Cause.NON_ZERO_EXIT, True), (2, Cause.UNKNOWN, False)]
)
def test_a_program_that_failed_before_the_controller_found_its_node_lost_is_no_proven_loss(
    bench: Bench, nodes: int, cause: Cause, *, proven: bool
) -> None:
    # The controller hung as it ended, and its node died meanwhile (seed 71181): on several nodes nothing says which was first.
    ref = bench.running(nodes=nodes)
    bench.env.lose_node("n1")
    bench.env.finish(ref, 3)
    bench.pass_time(60)
    assert bench.raw(ref)["job_state"] == "NODE_FAIL"
    verdict = bench.see(ref).verdict
    assert (verdict.cause, verdict.proven, verdict.detail.exit_code) == (cause, proven, 3)
    assert verdict.detail.suspected is (None if proven else Cause.NODE_LOST)
    assert any(fact.value == "ended 3:0" for fact in verdict.evidence)


def test_the_end_of_a_lost_node_is_dated_by_the_timeout_however_late_it_is_read(
    bench: Bench,
) -> None:
    ref = bench.running()
    lost = bench.clock.now()
    bench.env.lose_node("n1")
    bench.pass_time(3000)
    assert bench.env.truth(ref).observation is None
    bench = Bench(slurmdTimeout="40s", minJobAge="2h")
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(3000)
    ended = bench.see(ref).ended
    assert ended is not None
    assert (ended - lost).total_seconds() == 40


def test_a_node_that_returns_kills_what_it_should_not_run(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(600)
    assert not report(bench, "n1", ref).responding
    bench.env.return_node("n1")
    assert report(bench, "n1", ref).responding
    assert len(bench.env.live()) == 1
    bench.pass_time(4)
    assert bench.env.live() == ()


def test_the_controller_notices_a_silent_node_before_it_gives_it_up(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    assert report(bench, "n1", ref).responding
    bench.pass_time(10)
    assert report(bench, "n1", ref) == NodeReport(name="n1", responding=False, state="UP*")
    bench.pass_time(30)
    assert report(bench, "n1", ref) == NodeReport(name="n1", responding=False, state="DOWN*")


def test_a_node_that_returns_in_time_harms_nothing(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(30)
    bench.env.return_node("n1")
    bench.pass_time(60)
    assert bench.see(ref).state is State.RUNNING
    assert len(bench.env.live()) == 1


def test_a_node_lost_twice_is_given_up_only_after_its_second_silence(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(30)
    bench.env.return_node("n1")
    bench.env.lose_node("n1")
    bench.pass_time(39)
    assert bench.see(ref).state is State.RUNNING
    bench.pass_time(1)
    assert bench.cause(ref) is Cause.NODE_LOST


def test_a_fenced_node_runs_nothing_any_more(bench: Bench) -> None:
    ref = bench.running(nodes=2)
    bench.env.lose_node("n1")
    bench.pass_time(40)
    bench.env.fence_node("n1")
    assert bench.env.live() == ()
    assert report(bench, "n1", ref) == NodeReport(name="n1", responding=False, state="POWERED_DOWN")


def test_a_node_that_restarts_under_an_execution_ends_it(bench: Bench) -> None:
    ref = bench.running(nodes=2)
    bench.env.lose_node("n2")
    bench.env.return_node("n2", rebooted=True)
    bench.pass_time(4)
    assert (bench.cause(ref), bench.env.live()) == (Cause.NODE_LOST, ())


def test_processes_that_cannot_be_killed_are_told_of(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(40)
    bench.env.return_node("n1", kill_fails=True)
    bench.pass_time(60)
    assert len(bench.env.live()) == 1
    assert report(bench, "n1", ref).kill_failed
    assert "n1" not in bench.env.run(bench.queued(2)).nodes  # type: ignore[union-attr]


def test_an_end_on_a_silent_node_is_heard_when_it_returns(bench: Bench) -> None:
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.env.finish(ref, 5)
    assert (bench.see(ref).state, bench.env.live()) == (State.RUNNING, ())
    bench.pass_time(20)
    bench.env.return_node("n1")
    bench.pass_time(4)
    assert (bench.cause(ref), bench.see(ref).verdict.detail.exit_code) == (Cause.NON_ZERO_EXIT, 5)


def test_a_stopped_object_is_cleaned_up_only_once_its_silent_node_is_down_or_back(
    bench: Bench,
) -> None:
    ref = bench.running(nodes=2)
    bench.env.lose_node("n2")
    bench.stop(ref)
    assert (bench.see(ref).cleaning, bench.env.live()[0].alive) == (True, ("n2",))
    bench.pass_time(40)
    assert not bench.see(ref).cleaning
    assert not report(bench, "n2", ref).responding
    assert bench.env.live()[0].alive == ("n2",)


def test_a_lost_node_is_not_used(bench: Bench) -> None:
    bench.queued(nodes=4)
    assert len(bench.env.runnable()) == 1
    bench.env.lose_node("n3")
    bench.pass_time(40)
    assert bench.env.runnable() == ()


def test_every_node_is_told_where_none_is_named(bench: Bench) -> None:
    ref = bench.start()
    told = do(bench.backend.nodes([], ref))
    assert [(item.name, item.responding) for item in told] == [(f"n{n}", True) for n in range(1, 5)]


def test_an_unknown_node_does_not_respond(bench: Bench) -> None:
    ref = bench.start()
    assert report(bench, "gone", ref) == NodeReport(name="gone", responding=False, state="UNKNOWN")
    with pytest.raises(Invalid):
        bench.env.lose_node("gone")


@pytest.mark.parametrize("ceased", [True, False])
def test_the_settings_can_fix_what_the_cessation_signal_says(*, ceased: bool) -> None:
    bench = Bench(cessation={"ceased": ceased, "detail": "node fenced"})
    ref = bench.start()
    assert report(bench, "n1", ref) == NodeReport(name="n1", responding=ceased, state="node fenced")


def test_no_cessation_signal_is_offered_where_the_settings_say_no() -> None:
    bench = Bench(capabilities={"Cessation": {"value": "no"}})
    with pytest.raises(Unsupported):
        do(bench.backend.nodes([], bench.start()))


def test_slurm_restarts_a_lost_object_itself_where_the_requeue_bit_is_set() -> None:
    bench = Bench(revival=True, slurmdTimeout="40s")
    ref = bench.running()
    bench.env.lose_node("n1")
    bench.pass_time(40)
    seen = bench.see(ref)
    assert (seen.state, seen.cause, seen.restarts, seen.verdict.detail.nodes) == (
        State.PENDING, Cause.REQUEUED, 1, ("n1",),
    )  # fmt: skip
    bench.pass_time(120)
    assert bench.env.runnable() == ()
    bench.pass_time(1)
    bench.env.run(ref)
    (clash,) = bench.env.overlaps(job_id())
    assert (clash.first.epoch, clash.second.epoch) == (1_000_000, 1_000_001)
    assert bench.env.truth(ref).overlaps == 1
