"""The memory scheduler of users' tests: what happens, what is asked, how time passes, and what it says when it goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dispatch.model.errors import DispatchError, Finished, Invalid, NotFound, Refused
from dispatch.model.job import Job
from dispatch.model.status import By, Cause, State
from dispatch.shell.supervisor import Supervisor
from dispatch.testing.clock import START
from dispatch.testing.loop import SimulationError
from dispatch.testing.memory_scheduler import SUBMITTING, MemoryScheduler, memory_scheduler

AGAIN: dict[str, Any] = {
    "command": ["train.py"],
    "nodes": 2,
    "recovery": {
        "rules": [
            {"when": ["Preempted", "NodeLost"], "do": "resubmit", "limit": 3},
            {"when": ["OutOfMemory"], "do": "hold"},
        ]
    },
}
HOUR = timedelta(hours=1)


@pytest.fixture
def cluster() -> Iterator[MemoryScheduler]:
    with memory_scheduler() as made:
        yield made


@pytest.fixture(params=["slurm", "kubeflow"])
def either(request: pytest.FixtureRequest) -> Iterator[MemoryScheduler]:
    with memory_scheduler(shape=request.param) as made:
        yield made


# ------------------------------------------------------------------------------ submitting


def test_a_job_is_a_file_or_what_stands_in_one_or_a_value(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text('{"command": ["a"], "cluster": "elsewhere"}')
    with memory_scheduler(base=tmp_path) as cluster:
        jobs = [
            cluster.submit("job.json"),
            cluster.submit(tmp_path / "job.json"),
            cluster.submit({"command": ["a"]}),
            cluster.submit(Job(command=("a",))),
        ]
        assert [job.view.job.command for job in jobs] == [("a",)] * 4
        assert cluster.jobs == jobs


def test_the_same_key_gives_the_same_job(cluster: MemoryScheduler) -> None:
    first = cluster.submit({"command": ["a"], "key": "nightly"})
    assert cluster.submit({"command": ["a"], "key": "nightly"}) is first
    assert cluster.jobs == [first]


def test_a_job_that_is_wrong_or_refused_is_told_as_by_submit(cluster: MemoryScheduler) -> None:
    with pytest.raises(Invalid, match="nodez"):
        cluster.submit({"command": ["a"], "nodez": 1})
    with pytest.raises(NotFound):
        cluster.submit("no-such.yaml")
    rule = {"when": ["Preempted"], "do": "restart"}
    with pytest.raises(Refused):
        cluster.submit({"command": ["a"], "recovery": {"rules": [rule]}})
    assert cluster.jobs == []


# --------------------------------------------------------------------------- what happens


@pytest.mark.parametrize(
    ("happening", "cause"),
    [
        ("preempt", Cause.PREEMPTED),
        ("out_of_memory", Cause.OUT_OF_MEMORY),
        ("time_out", Cause.TIMEOUT),
        ("cancel", Cause.CANCELLED),
    ],
)
def test_what_happens_to_a_program_is_the_cause_of_its_end(
    cluster: MemoryScheduler, happening: str, cause: Cause
) -> None:
    job = cluster.submit({"command": ["a"]})
    getattr(job, happening)()
    assert job.wait_ended().cause is cause


def test_a_program_ends_with_a_code_or_by_a_signal(cluster: MemoryScheduler) -> None:
    failed = cluster.submit({"command": ["a"]}).finish(3).wait_ended()
    killed = cluster.submit({"command": ["a"]}).finish(signal="SEGV").wait_ended()
    assert failed.verdict
    assert failed.verdict.detail.exit_code == 3
    assert killed.verdict
    assert killed.verdict.detail.signal == "SEGV"


def test_who_cancels_is_anybody(cluster: MemoryScheduler) -> None:
    accounts = {"AccountingHistory": {"value": "yes"}}
    with memory_scheduler(capabilities=accounts) as keeping:
        job = keeping.submit({"command": ["a"]}).cancel("root").wait_ended()
        assert job.verdict
        assert job.verdict.detail.by is By.ADMINISTRATOR


def test_each_happening_is_of_a_further_execution(either: MemoryScheduler) -> None:
    job = either.submit(AGAIN)
    for _ in range(3):
        job.preempt()
    job.finish(0)
    assert job.wait_ended().state is State.SUCCEEDED
    assert len(job.executions) == 4
    assert job.overlaps == ()


def test_a_program_that_is_waited_for_runs_in_the_record_too(either: MemoryScheduler) -> None:
    job = either.submit(AGAIN).wait_running()
    assert (job.state, job.submissions) == (State.RUNNING, 1)
    assert job.nodes == ("n1", "n2")


def test_the_one_that_runs_after_a_preemption_is_another(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN).wait_running()
    cluster.pass_time(hours=1)
    job.preempt().wait_running()
    assert (job.submissions, len(job.executions)) == (2, 2)


def test_a_lost_node_is_waited_for_until_it_returns(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN)
    lost = job.lose_node()
    job.wait_for(Cause.AWAITING_CESSATION)
    cluster.pass_time(HOUR)
    assert job.submissions == 1
    cluster.return_node(lost, rebooted=True)
    assert job.wait_running().submissions == 2


def test_what_lives_on_a_lost_node_is_not_what_happens_next(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN)
    lost = job.lose_node()
    job.wait_for(Cause.AWAITING_CESSATION)
    cluster.return_node(lost)
    job.finish(0).wait_ended()
    assert [one.end for one in job.executions] == [None, "0:0"]


def test_whoever_preempts_a_job_has_its_nodes_long_enough_to_be_seen() -> None:
    with memory_scheduler(shape="kubeflow") as cluster:
        job = cluster.submit(AGAIN).wait_running().preempt()
        job.wait_for(Cause.PREEMPTED, within=timedelta(minutes=3))
        assert job.state is State.PENDING


# --------------------------------------------------------------------------- what is asked


def test_a_person_holds_releases_and_stops(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN).hold("wait for the data")
    cluster.pass_time(HOUR)
    assert (job.cause, job.executions) == (Cause.HELD, ())
    job.release().wait_running()
    job.stop("enough").wait_ended()
    assert job.cause is Cause.STOPPED
    with pytest.raises(Finished):
        job.hold()


def test_a_hold_has_an_end(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN).hold(until=START + HOUR).wait_running()
    assert job.executions[0].started >= START + HOUR


def test_a_request_is_looked_at_at_once(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN).wait_running()
    cluster.pass_time(seconds=1)
    job.stop()
    cluster.pass_time(seconds=2)
    assert job.executions[0].ended is not None


# ------------------------------------------------------------------------------------ time


def test_time_passes_to_the_moment(cluster: MemoryScheduler) -> None:
    assert cluster.pass_time(days=1, hours=2, minutes=3, seconds=4) == cluster.clock.now()
    assert cluster.clock.now() - START == timedelta(days=1, hours=2, minutes=3, seconds=4)
    cluster.pass_time(HOUR, minutes=1)
    assert cluster.clock.now() - START == timedelta(days=1, hours=3, minutes=4, seconds=4)


def test_nobody_looks_while_the_supervisor_is_dead(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN).wait_running()
    cluster.kill_supervisor()
    cluster.kill_supervisor()
    job.preempt()
    cluster.pass_time(minutes=4)  # less than the evidence lasts
    assert job.state is State.RUNNING
    cluster.start_supervisor()
    cluster.start_supervisor()
    assert job.wait_running().submissions == 2


def test_any_other_thing_is_done_to_its_environment(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN).wait_running()
    cluster.env.make_unavailable(HOUR)
    cluster.pass_time(minutes=50)
    assert job.state is State.RUNNING
    cluster.pass_time(minutes=20)
    job.preempt()
    assert job.wait_running().submissions == 2


def test_jobs_are_started_in_their_order(cluster: MemoryScheduler) -> None:
    jobs = [cluster.submit(AGAIN) for _ in range(5)]
    serials = [job.wait_running().executions[0].serial for job in jobs]
    assert serials == [1, 2, 3, 4, 5]


def test_jobs_that_do_not_fit_wait_for_room() -> None:
    with memory_scheduler(nodes=3) as cluster:
        first, second = cluster.submit(AGAIN), cluster.submit(AGAIN)
        first.wait_running()
        second.wait_for(Cause.NO_CAPACITY)
        first.finish(0)
        second.wait_running()


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_seed_chooses_the_order(seed: int | None) -> None:
    with memory_scheduler(seed=seed) as cluster:
        jobs = [cluster.submit(AGAIN) for _ in range(3)]
        for job in jobs:
            job.preempt()
        assert [job.wait_running().submissions for job in jobs] == [2, 2, 2]


# --------------------------------------------------------------------------- what it says


def test_what_does_not_come_is_told_with_the_story(cluster: MemoryScheduler) -> None:
    job = cluster.submit({"command": ["a"], "name": "sft"})
    with pytest.raises(AssertionError) as error:
        job.wait_for(Cause.HELD, within=HOUR)
    assert "the job sft is Held: not within 1:00:00." in str(error.value)
    assert "2026-01-01 00:02:00  submission 1: running on n1" in str(error.value)
    assert cluster.clock.now() - START == HOUR + SUBMITTING


def test_what_can_no_longer_come_is_not_waited_for(cluster: MemoryScheduler) -> None:
    job = cluster.submit({"command": ["a"]}).finish(1)
    with pytest.raises(AssertionError, match="is running: never, since it has ended"):
        job.preempt()
    assert cluster.clock.now() - START < HOUR


def test_a_condition_of_a_view_is_waited_for(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN).hold().wait_until(lambda view: view.hold is not None, "held")
    assert cluster.clock.now() - START == SUBMITTING
    with pytest.raises(AssertionError, match="the job job is left alone: not within 0:01:00"):
        job.wait_until(lambda view: view.hold is None, "left alone", within=timedelta(minutes=1))
    with pytest.raises(AssertionError, match="pigs fly: not within"):
        cluster.wait_until(lambda: False, "pigs fly", within=timedelta(minutes=1))


def test_a_story_has_one_line_for_each_change(cluster: MemoryScheduler) -> None:
    job = cluster.submit(AGAIN).preempt().wait_running()
    told = [line.partition("  ")[2] for line in job.story.splitlines()]
    assert told[0] == "submission 1: waiting in the scheduler's queue"
    assert told[-1] == "submission 2: running on n1, n2"
    assert len(told) == len(set(told))
    assert "job (" in cluster.report()


def test_a_coroutine_lets_time_pass_itself(cluster: MemoryScheduler) -> None:
    async def impatient() -> None:
        cluster.pass_time(hours=1)

    with pytest.raises(SimulationError, match="by `await"):
        cluster._loop.run_until_complete(impatient())


def test_what_ends_the_supervisor_ends_the_wait(
    cluster: MemoryScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fall(_: Supervisor) -> None:
        raise ZeroDivisionError("a fault of its own")

    job = cluster.submit(AGAIN)
    monkeypatch.setattr(Supervisor, "round", fall)
    with pytest.raises(ZeroDivisionError):
        job.wait_running().stop().wait_ended()
    cluster.kill_supervisor()


def test_a_round_that_fails_is_tried_again(
    cluster: MemoryScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = Supervisor.round
    failures = [DispatchError("The disk is full.")]

    async def fail_once(supervisor: Supervisor) -> object:
        if failures:
            raise failures.pop()
        return await rounds(supervisor)

    monkeypatch.setattr(Supervisor, "round", fail_once)
    assert cluster.submit(AGAIN).wait_running().submissions == 1


def test_closing_twice_is_closing_once(cluster: MemoryScheduler) -> None:
    cluster.submit(AGAIN).wait_running()
    cluster.close()
    cluster.close()
