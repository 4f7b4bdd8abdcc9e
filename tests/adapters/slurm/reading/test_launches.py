"""Launches: those that failed, were refused, or of which only a ticket tells."""

from __future__ import annotations

import pytest

from adapters.slurm.reading.given import START, STARTED, ended, row, run, seen, tickets
from dispatch.adapters.slurm.reading.documents import Exit
from dispatch.model.status import Cause, State


def test_an_exit_of_the_script_before_its_ticket_is_a_failed_launch() -> None:
    found = seen(row("FAILED", exit=Exit(code=118)))
    assert found.cause is Cause.LAUNCH_FAILED
    command = seen(
        row("FAILED", exit=Exit(code=118)),
        left=tickets(start_1000000=STARTED, end_1000000=ended(118)),
    )
    assert command.cause is Cause.NON_ZERO_EXIT


def test_a_script_that_says_that_it_could_not_launch_is_believed() -> None:
    left = tickets(start_1000000=STARTED, end_1000000=ended(118, more=" launch=failed"))
    assert seen(row("FAILED", exit=Exit(code=118)), left=left).cause is Cause.LAUNCH_FAILED


@pytest.mark.parametrize(("signal", "code"), [(105, 233), (106, 234)])
def test_an_error_of_srun_is_a_failed_launch_though_slurm_calls_it_an_exit(
    signal: int, code: int
) -> None:
    failed = row("FAILED", exit=Exit(code=code), derived=Exit(signal=signal))
    found = seen(failed, left=tickets(start_1000000=STARTED))
    assert (found.cause, found.verdict.proven) == (Cause.LAUNCH_FAILED, True)
    # The program's own exit with that number, and a death by a signal, are told apart.
    own = row("FAILED", exit=Exit(code=code), derived=Exit(code=code))
    assert seen(own, left=tickets(start_1000000=STARTED)).cause is not Cause.LAUNCH_FAILED
    died = row("FAILED", exit=Exit(code=139), derived=Exit(signal=11))
    assert seen(died, left=tickets(start_1000000=STARTED)).cause is not Cause.LAUNCH_FAILED
    left = tickets(start_1000000=STARTED, end_1000000=ended(code))
    assert seen(failed, left=left).cause is Cause.NON_ZERO_EXIT


def test_a_refused_second_launch_is_fenced_and_names_where_the_first_may_live() -> None:
    left = tickets(
        start_1000000=STARTED,
        fenced_1000000="epoch=1000000 attempt=a1 jobid=7 node=n9 seen=1000000.start at=2050",
    )
    found = seen(row("FAILED", exit=Exit(code=119)), left=left)
    assert (found.cause, found.verdict.proven) == (Cause.FENCED, True)
    assert found.verdict.detail.nodes == ("n1", "n2")


def test_a_refused_second_launch_does_not_hide_the_end_of_the_first() -> None:
    left = tickets(
        start_1000000=STARTED,
        end_1000000=ended(0),
        fenced_1000000="epoch=1000000 attempt=a1 jobid=7 node=n9 seen=1000000.start at=2050",
    )
    assert seen(row("FAILED", exit=Exit(code=119)), left=left).state is State.SUCCEEDED


def test_exit_119_without_a_ticket_is_not_fenced() -> None:
    assert seen(row("FAILED", exit=Exit(code=119))).cause is Cause.UNKNOWN


def test_a_waiting_job_whose_script_had_started_was_forgotten() -> None:
    left = tickets(start_1000000=STARTED)
    found = seen(row("PENDING", reason="None"), left=left, before=left)
    assert (found.state, found.cause) == (State.PENDING, Cause.FORGOTTEN)
    assert found.verdict.detail.nodes == ("n1", "n2")


def test_a_start_that_is_younger_than_the_row_makes_nothing_forgotten() -> None:
    found = seen(row("PENDING", reason="None"), left=tickets(start_1000000=STARTED))
    assert found.cause is None


def test_a_start_before_a_requeue_makes_nothing_forgotten() -> None:
    left = tickets(start_1000000=STARTED)
    found = seen(row("PENDING", reason="BeginTime", restarts=1), left=left, before=left)
    assert found.cause is Cause.REQUEUED


def test_a_run_that_is_being_cleaned_up_is_not_forgotten() -> None:
    left = tickets(start_1000000=STARTED)
    found = seen(row("PENDING COMPLETING", nodes="n1"), left=left, before=left)
    assert (found.cause, found.cleaning) == (Cause.REQUEUED, True)


def test_a_forgotten_run_that_ended_is_judged_by_its_script_after_the_object_was_stopped() -> None:
    stopped = row("CANCELLED", nodes="")
    left = tickets(start_1000000=STARTED, end_1000000=ended(0))
    assert seen(stopped, left=left).state is State.SUCCEEDED
    lost = seen(stopped, left=tickets(start_1000000=STARTED))
    assert (lost.state, lost.cause, lost.verdict.detail.nodes) == (
        State.CANCELLED,
        Cause.FORGOTTEN,
        ("n1", "n2"),
    )


def test_tickets_of_another_attempt_or_object_prove_nothing() -> None:
    for other in (STARTED.replace("a1", "a2"), STARTED.replace("jobid=7", "jobid=8")):
        left = tickets(start_1000000=other)
        assert seen(row("PENDING", reason="None"), left=left, before=left).cause is None


# --- launches that slurmd refused, and had cancelled as root (seen: a node that still held another job of the same id)


def test_a_cancellation_by_root_before_the_script_began_may_be_a_refused_launch() -> None:
    for run_of_it in ([], [run("CANCELLED", killer="root")]):
        found = seen(row("CANCELLED", end=START + 1), *run_of_it)
        assert (found.cause, found.verdict.proven) == (Cause.UNKNOWN, False)
        assert found.verdict.detail.suspected is Cause.LAUNCH_FAILED


def test_a_cancellation_that_cannot_be_a_refused_launch_is_one() -> None:
    soon = START + 1
    started = tickets(start_1000000=STARTED)
    for found in (
        seen(row("CANCELLED", end=soon, exit=Exit(signal=15))),  # the script was ended by it
        seen(row("CANCELLED", end=soon), run("CANCELLED", killer="alice")),
        seen(row("CANCELLED", end=soon), left=started, before=started),
        seen(row("CANCELLED", end=START + 60)),
        seen(row("CANCELLED", end=soon, nodes="", start=0)),  # it was cancelled in the queue
    ):
        assert (found.cause, found.verdict.proven) == (Cause.CANCELLED, True)
