"""The listing of all that lives under the account, as squeue prints it (12, T1)."""

from __future__ import annotations

import asyncio

import pytest

from adapters.slurm.reading.given import BASE, COMMENT, JOB, STORE, Here
from adapters.slurm.reading.played import OTHER, SETTINGS, Slurm
from dispatch.adapters.slurm.reading import list_living
from dispatch.adapters.slurm.reading.legacy import SEPARATOR
from dispatch.adapters.slurm.reading.listing import living_in
from dispatch.model.errors import Unavailable
from dispatch.spi.adapter import Living

MINE = Living(ref=f"7:{JOB}:1:{BASE}:a1", job=JOB, store=STORE)


def line(number: str, name: str, state: str, comment: str = COMMENT) -> str:
    return SEPARATOR.join((number, name, state, comment))


def test_what_waits_runs_or_is_suspended_lives_and_what_has_ended_does_not() -> None:
    alive = ("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "REQUEUE_HOLD")
    over = (
        "COMPLETED",
        "CANCELLED",
        "CANCELLED by 2001",
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
    )
    for state in alive:
        assert living_in(line("7", f"dj-{JOB}", state)) == (MINE,), state
    for state in over:
        assert living_in(line("7", f"dj-{JOB}", state)) == (), state


def test_a_state_that_nobody_knows_counts_as_living() -> None:
    assert living_in(line("7", f"dj-{JOB}", "HIBERNATING")) == (MINE,)


def test_what_does_not_carry_a_name_of_ours_is_not_listed() -> None:
    text = "\n".join(
        [line("7", "train", "RUNNING"), line("8", f"dp-{JOB}", "RUNNING"), "", "half a line"]
    )
    assert living_in(text) == ()


def test_an_object_whose_comment_somebody_has_changed_is_of_no_store() -> None:
    (found,) = living_in(line("7", f"dj-{JOB}", "RUNNING", "call me back"))
    assert found.job == JOB
    assert found.store != STORE


def test_one_listing_asks_for_all_of_the_account_and_names_no_job(slurm: Slurm) -> None:
    rows = [
        line("7", f"dj-{JOB}", "PENDING"),
        line("8", "other", "RUNNING"),
        line("9", f"dj-{OTHER}", "FAILED"),
    ]
    slurm.answer("squeue", "\n".join(rows) + "\n")
    assert asyncio.run(list_living(Here(slurm.bin), SETTINGS)) == (MINE,)
    (asked,) = [call for call in slurm.calls if call.startswith("squeue") and "version" not in call]
    assert "--me" in asked
    assert "--states=all" in asked
    assert JOB not in asked


def test_an_error_is_never_an_empty_listing(slurm: Slurm) -> None:
    slurm.play(
        "squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
    )
    with pytest.raises(Unavailable, match="Unable to contact"):
        asyncio.run(list_living(Here(slurm.bin), SETTINGS))


def test_nothing_of_ours_is_an_empty_listing(slurm: Slurm) -> None:
    slurm.answer("squeue", "")
    assert asyncio.run(list_living(Here(slurm.bin), SETTINGS)) == ()
