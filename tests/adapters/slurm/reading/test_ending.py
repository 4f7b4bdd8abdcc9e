"""Ends: what is concluded of them, what only suspected, and what not at all."""

from __future__ import annotations

import pytest

from adapters.slurm.reading.given import (
    BOOT,
    START,
    STARTED,
    ended,
    facts,
    row,
    run,
    seen,
    tickets,
)
from dispatch.adapters.slurm.reading.classify import classify
from dispatch.adapters.slurm.reading.documents import Exit, QueueRow, StepRow
from dispatch.model.status import By, Cause, Source, State

AFTER_START = START + 30
BATCH_FAILED_1 = (StepRow(name="batch", states=("FAILED",), exit=Exit(code=1)),)


# --- the queue and accounting


def test_a_waiting_job_that_accounting_does_not_show_yet_is_pending() -> None:
    found = seen(row("PENDING", reason="Priority"))
    assert (found.state, found.cause) == (State.PENDING, Cause.NO_CAPACITY)


def test_a_requeued_run_after_node_loss_is_running_in_its_second_run() -> None:
    found = seen(row("RUNNING", restarts=1), run("NODE_FAIL", 1), run("RUNNING", restarts=1))
    assert (found.state, found.cause, found.restarts) == (State.RUNNING, None, 1)
    before = [fact.value for fact in found.verdict.evidence if "before" in fact.field]
    assert before == ["NODE_FAIL"]


def test_a_preempted_job_that_left_the_queue_is_ended_for_good() -> None:
    found = seen(None, run("PREEMPTED"))
    assert (found.state, found.cause, found.final) == (State.FAILED, Cause.PREEMPTED, True)


@pytest.mark.parametrize(
    ("killer", "by"),
    [
        ("1234", By.OTHER),
        ("2001", By.OWNER),
        ("alice", By.OWNER),
        ("0", By.ADMINISTRATOR),
        ("root", By.ADMINISTRATOR),
    ],
)
def test_who_cancelled_is_told_by_accounting(killer: str, by: By) -> None:
    detail = seen(row("CANCELLED"), run("CANCELLED", killer=killer)).verdict.detail
    assert (detail.by, detail.who) == (by, killer)


def test_who_cancelled_is_not_guessed_without_accounting() -> None:
    found = seen(row("CANCELLED+"))
    assert (found.cause, found.verdict.detail.by) == (Cause.CANCELLED, None)


def test_a_job_that_accounting_alone_knows_as_running_is_not_seen() -> None:
    assert classify(facts(None, run("RUNNING"))) is None


def test_a_job_that_left_the_queue_before_accounting_knew_its_end_has_the_end_of_its_script() -> (
    None
):
    found = seen(None, run("RUNNING"), left=tickets(start_1000000=STARTED, end_1000000=ended(0)))
    assert (found.state, found.final, found.verdict.proven) == (State.SUCCEEDED, True, True)
    assert [fact.source for fact in found.verdict.evidence] == [Source.TICKET]


def test_a_success_that_only_the_script_knows_is_a_success() -> None:
    found = seen(left=tickets(start_1000000=STARTED, end_1000000=ended(0)))
    assert (found.state, found.final, found.nodes) == (State.SUCCEEDED, True, ("n1", "n2"))


def test_an_older_end_than_the_last_start_is_none() -> None:
    later = STARTED.replace("1000000", "1000001")
    left = tickets(start_1000000=STARTED, end_1000000=ended(0), start_1000001=later)
    assert classify(facts(left=left)) is None


def test_the_last_run_of_an_id_rules() -> None:
    found = seen(None, run("REQUEUED"), run("COMPLETED", restarts=1))
    assert (found.state, found.restarts) == (State.SUCCEEDED, 1)


def test_an_end_with_the_requeue_bit_is_not_final() -> None:
    assert not seen(row("COMPLETED", requeue=True)).final
    assert seen(row("COMPLETED", requeue=False)).final


def test_an_end_that_is_still_cleaned_up_says_so() -> None:
    found = seen(row("FAILED COMPLETING"))
    assert found.cleaning
    assert found.state is State.FAILED


def test_a_state_that_a_flag_hides_is_no_end() -> None:
    found = seen(row("COMPLETING"))
    assert (found.state, found.cleaning, found.final) == (State.RUNNING, True, False)


# --- memory, time, signals


def test_out_of_memory_with_exit_zero_is_out_of_memory() -> None:
    found = seen(row("OUT_OF_MEMORY", exit=Exit(signal=125)))
    assert (found.cause, found.verdict.proven) == (Cause.OUT_OF_MEMORY, True)


def test_exit_137_is_a_hint_of_memory_and_no_more() -> None:
    failed = row("FAILED", reason="NonZeroExitCode", exit=Exit(code=137))
    found = seen(failed, left=tickets(start_1000000=STARTED, end_1000000=ended(137)))
    assert (found.cause, found.verdict.detail.suspected) == (
        Cause.NON_ZERO_EXIT,
        Cause.OUT_OF_MEMORY,
    )


def test_a_step_that_ran_out_of_memory_before_another_failed_is_a_hint_only() -> None:
    steps = (
        StepRow(name="batch", states=("FAILED",), exit=Exit(code=3)),
        StepRow(name="0", states=("OUT_OF_MEMORY",), exit=Exit(signal=125)),
        StepRow(name="1", states=("FAILED",), exit=Exit(code=3)),
    )
    failed = row("FAILED", exit=Exit(code=3), derived=Exit(signal=125))
    found = seen(failed, run("FAILED", 3, steps=steps))
    assert (found.cause, found.verdict.detail.suspected) == (
        Cause.NON_ZERO_EXIT,
        Cause.OUT_OF_MEMORY,
    )


def test_a_timeout_is_a_timeout() -> None:
    assert seen(None, run("TIMEOUT")).cause is Cause.TIMEOUT


def test_a_late_sigterm_is_suspected_to_be_a_timeout() -> None:
    failed = row("FAILED", exit=Exit(signal=15), limit=1, end=START + 62)
    found = seen(failed)
    assert (found.cause, found.verdict.detail.suspected) == (Cause.SIGNALLED, Cause.TIMEOUT)
    assert seen(row("FAILED", exit=Exit(signal=15), limit=60)).verdict.detail.suspected is None


def test_a_signal_that_the_script_was_told_is_named() -> None:
    left = tickets(start_1000000=STARTED, end_1000000=ended(143, "TERM"))
    found = seen(row("FAILED", exit=Exit(code=143)), left=left)
    assert (found.cause, found.verdict.detail.signal) == (Cause.SIGNALLED, "TERM")


# --- proof of an exit (12, E5)


def test_an_exit_of_the_scripts_own_record_is_proven() -> None:
    left = tickets(start_1000000=STARTED, end_1000000=ended(1))
    found = seen(row("FAILED", exit=Exit(code=1)), left=left, boot=AFTER_START)
    assert (found.cause, found.verdict.proven) == (Cause.NON_ZERO_EXIT, True)


def test_an_exit_of_the_batch_step_is_proven_under_one_boot_only() -> None:
    failed, accounted = row("FAILED", exit=Exit(code=1)), run("FAILED", 1, steps=BATCH_FAILED_1)
    assert seen(failed, accounted, boot=BOOT).cause is Cause.NON_ZERO_EXIT
    for boot in (AFTER_START, 0):
        found = seen(failed, accounted, boot=boot)
        assert (found.state, found.cause, found.verdict.proven) == (
            State.FAILED,
            Cause.UNKNOWN,
            False,
        )
        assert found.verdict.detail.suspected is Cause.NON_ZERO_EXIT


def test_a_refused_launch_after_a_forgotten_start_is_nobodys_exit() -> None:
    found = seen(
        row("FAILED", reason="NonZeroExitCode", exit=Exit(code=1)),
        left=tickets(start_1000000=STARTED),
    )
    assert (found.cause, found.verdict.proven) == (Cause.UNKNOWN, False)


def test_the_scripts_end_rules_where_the_controller_restarted_and_tells_another() -> None:
    left = tickets(start_1000000=STARTED, end_1000000=ended(0))
    found = seen(row("FAILED", exit=Exit(code=1)), left=left, boot=AFTER_START)
    assert (found.state, found.verdict.proven) == (State.SUCCEEDED, True)


CONTRADICTED = [
    row("FAILED", exit=Exit(code=1)),
    row("FAILED", exit=Exit(code=119)),
    row("CANCELLED", nodes=""),
    row("NODE_FAIL", failed_node="n2"),
]


@pytest.mark.parametrize("told_of", CONTRADICTED, ids=["refused", "fenced", "cancelled", "lost"])
@pytest.mark.parametrize("status", [0, 143])
def test_what_a_program_returns_while_slurm_kills_it_is_not_its_own_end(
    told_of: QueueRow, status: int
) -> None:
    fenced = {"fenced_1000000": "attempt=a1 jobid=7 node=n9 seen=1000000.start at=2050"}
    more = fenced if told_of.exit.code == 119 else {}
    left = tickets(start_1000000=STARTED, end_1000000=ended(status, at=told_of.end), **more)
    found = seen(told_of, left=left, boot=AFTER_START)
    assert found.state in {State.FAILED, State.CANCELLED}
    assert found.cause in {Cause.UNKNOWN, Cause.FENCED, Cause.FORGOTTEN, Cause.NODE_LOST}
    left = tickets(start_1000000=STARTED, end_1000000=ended(0), **more)
    assert seen(told_of, left=left, boot=AFTER_START).state is State.SUCCEEDED


@pytest.mark.parametrize("told_of", CONTRADICTED, ids=["refused", "fenced", "cancelled", "lost"])
@pytest.mark.parametrize(
    ("nodes", "end", "its_own"),
    [
        ("n1", "status=0", True),
        ("n1", "status=0 told=TERM", False),
        ("n1", "status=143", False),
        ("n1", "status=0 signal=TERM", False),
        ("n1", "status=0 launch=failed", False),
        ("n[1-2]", "status=0", False),
        ("", "status=0", False),
    ],
)
def test_a_forgotten_run_on_one_node_that_succeeds_untold_while_slurm_tells_of_an_end_has_succeeded(
    told_of: QueueRow, nodes: str, end: str, *, its_own: bool
) -> None:
    fenced = {"fenced_1000000": "attempt=a1 jobid=7 node=n9 seen=1000000.start at=2050"}
    more = fenced if told_of.exit.code == 119 else {}
    left = tickets(
        start_1000000=f"jobid=7 attempt=a1 nodes={nodes} started={START}",
        end_1000000=f"{end} ended={told_of.end + 30} attempt=a1",
        **more,
    )
    found = seen(told_of, left=left, boot=AFTER_START)
    assert (found.state is State.SUCCEEDED) == its_own


def test_another_end_of_the_script_under_one_boot_is_a_conflict_and_stays_unknown() -> None:
    left = tickets(start_1000000=STARTED, end_1000000=ended(0))
    found = seen(row("FAILED", exit=Exit(code=1)), left=left)
    assert (found.state, found.cause) == (State.FAILED, Cause.UNKNOWN)
    assert {fact.source for fact in found.verdict.evidence} == {Source.QUEUE, Source.TICKET}


def test_a_success_that_the_script_contradicts_is_none() -> None:
    left = tickets(start_1000000=STARTED, end_1000000=ended(3))
    found = seen(row("COMPLETED"), left=left)
    assert (found.state, found.cause, found.verdict.proven) == (
        State.FAILED,
        Cause.NON_ZERO_EXIT,
        False,
    )


def test_a_success_well_before_the_loss_of_a_node_is_a_success() -> None:
    left = tickets(start_1000000=STARTED, end_1000000=ended(0))
    lost = row("NODE_FAIL", end=START + 300, failed_node="n2")
    assert seen(lost, left=left).state is State.SUCCEEDED
    # Told to end when the node was lost, the program saved its state and exited with 0.
    lost = row("NODE_FAIL", end=START + 42, failed_node="n2")
    assert seen(lost, left=left).cause is Cause.NODE_LOST


@pytest.mark.parametrize(
    ("nodes", "status", "cause", "proven"),
    [
        ("n1", "status=3", Cause.NON_ZERO_EXIT, True),
        ("n1", "status=139 signal=SEGV", Cause.SIGNALLED, True),
        ("n1", "status=137", Cause.NODE_LOST, True),
        ("n1", "status=143 signal=TERM", Cause.NODE_LOST, True),
        ("n1", "status=137 signal=KILL", Cause.NODE_LOST, True),
        ("n[1-2]", "status=3", Cause.UNKNOWN, False),
        ("n[1-2]", "status=137", Cause.NODE_LOST, True),
    ],
)
def test_an_end_of_the_script_well_before_the_loss_of_its_node_is_its_own_unless_it_was_killed(
    nodes: str, status: str, cause: Cause, *, proven: bool
) -> None:
    """A controller that has forgotten the completion tells of a lost node when that registers anew (12, E6)."""
    left = tickets(
        start_1000000=f"jobid=7 attempt=a1 nodes={nodes} started={START}",
        end_1000000=f"{status} ended={START + 40} attempt=a1",
    )
    found = seen(row("NODE_FAIL", end=START + 300, failed_node="n1"), left=left)
    assert (found.cause, found.verdict.proven) == (cause, proven)
    assert found.verdict.detail.suspected == (Cause.NODE_LOST if cause is Cause.UNKNOWN else None)
    # From the loss on, no end is the program's own.
    lost = row("NODE_FAIL", end=START + 42, failed_node="n1")
    assert seen(lost, left=left).cause is Cause.NODE_LOST


def test_a_first_task_that_was_killed_in_a_step_out_of_memory_is_proof_without_accounting() -> None:
    failed = row("FAILED", exit=Exit(code=137), derived=Exit(signal=125))
    left = tickets(start_1000000=STARTED, end_1000000=ended(137))
    assert seen(failed, left=left).cause is Cause.OUT_OF_MEMORY


def test_a_timeout_stays_one_whatever_the_script_returned() -> None:
    left = tickets(start_1000000=STARTED, end_1000000=ended(0))
    assert seen(row("TIMEOUT"), left=left).cause is Cause.TIMEOUT
