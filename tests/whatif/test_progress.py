"""What a program keeps and loses of one execution."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dispatch.model.errors import Invalid
from dispatch.model.quantity import Duration
from dispatch.whatif.conditions import Program
from dispatch.whatif.progress import Spent, finishes_in, spend
from dispatch.whatif.weather import NEVER

MINUTE = 60_000


def program(every: int | None = 10, cost: int = 1, restart: int = 5) -> Program:
    """A program by its times in minutes."""
    return Program(
        checkpoint_every=None if every is None else Duration(minutes=every),
        checkpoint_cost=Duration(minutes=cost),
        restart_cost=Duration(minutes=restart),
    )


def minutes(spent: Spent) -> tuple[int, ...]:
    return tuple(part // MINUTE for part in spent)


@pytest.mark.parametrize(
    ("ran", "kept", "lost", "checkpoint", "restart"),
    [
        (0, 0, 0, 0, 0),
        (3, 0, 0, 0, 3),
        (5, 0, 0, 0, 5),
        (14, 0, 9, 0, 5),
        (15, 0, 10, 0, 5),
        (16, 10, 0, 1, 5),
        (20, 10, 4, 1, 5),
        (27, 20, 0, 2, 5),
    ],
)
def test_what_is_not_saved_is_lost(
    ran: int, kept: int, lost: int, checkpoint: int, restart: int
) -> None:
    found = spend(program(), ran * MINUTE, saved_at_end=False)
    assert minutes(found) == (kept, lost, checkpoint, restart)


def test_a_checkpoint_that_is_cut_off_keeps_nothing() -> None:
    found = spend(program(cost=2), 16 * MINUTE, saved_at_end=False)
    assert minutes(found) == (0, 10, 1, 5)


def test_what_is_saved_at_the_end_is_kept() -> None:
    assert minutes(spend(program(), 20 * MINUTE, saved_at_end=True)) == (14, 0, 1, 5)


def test_a_program_that_never_saves_loses_all_but_at_its_own_end() -> None:
    assert minutes(spend(program(every=None), 65 * MINUTE, saved_at_end=False)) == (0, 60, 0, 5)
    assert minutes(spend(program(every=None), 65 * MINUTE, saved_at_end=True)) == (60, 0, 0, 5)


def test_a_program_cannot_save_in_no_time_at_all() -> None:
    with pytest.raises(Invalid, match="checkpointEvery"):
        program(every=0)


times = st.integers(0, 10**7)
programs = st.builds(
    program,
    every=st.one_of(st.none(), st.integers(1, 200)),
    cost=st.integers(0, 20),
    restart=st.integers(0, 60),
)


@given(programs, times, st.booleans())
def test_the_parts_of_the_time_add_up(made: Program, ran: int, saved: bool) -> None:  # noqa: FBT001 - drawn
    found = spend(made, ran, saved_at_end=saved)
    assert sum(found) == ran
    assert min(found) >= 0


@given(programs, times)
def test_never_more_than_one_interval_is_lost(made: Program, ran: int) -> None:
    found = spend(made, ran, saved_at_end=False)
    assert made.checkpoint_every is None or found.lost <= made.checkpoint_every.ms


@given(programs, st.integers(1, 10**7))
def test_work_is_done_when_it_is_said_to_be(made: Program, work: int) -> None:
    ran = finishes_in(made, work)
    assert spend(made, ran, saved_at_end=True).kept == work
    assert spend(made, ran - 1, saved_at_end=True).kept < work


def test_work_without_an_end_is_never_done() -> None:
    assert finishes_in(program(), NEVER) == NEVER
