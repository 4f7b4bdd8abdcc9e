"""The opens of many jobs in one script, run against stand-ins for Slurm's commands: each as if it were made alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from adapters.slurm.writing.fake_many import FIRST, TWO_HOURS_LATER, FakeSlurm
from adapters.slurm.writing.test_many_starts import orders, ref_of, start, writer
from adapters.slurm.writing.verbs import PAST, SOON
from dispatch.adapters.slurm.reading import Ref
from dispatch.adapters.slurm.writing.many import OPENED_AT_ONCE, open_many
from dispatch.model.errors import (
    Conflict,
    DispatchError,
    Expired,
    Finished,
    NotFound,
    OutcomeUnknown,
    Unavailable,
)
from dispatch.spi.adapter import CallMeta


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm(tmp_path)
    monkeypatch.setenv("HOME", str(fake.home))
    monkeypatch.setenv("PATH", f"{fake.bin}:/usr/local/bin:/usr/bin:/bin")
    return fake


def started(count: int) -> list[Ref]:
    """So many gated objects."""
    asked = orders(count)
    refs = [ref_of(order, FIRST + at) for at, order in enumerate(asked)]
    assert start(*asked) == refs
    return refs


def open_(
    refs: Sequence[Ref], meta: CallMeta = SOON, seconds: int = 10
) -> list[DispatchError | None]:
    return asyncio.run(open_many(writer(seconds), refs, meta))


FOUR_HOURS = 4 * 3_600
"""A bound within which a look after two hours is still answered."""


def kinds(answers: Sequence[DispatchError | None]) -> list[type[DispatchError] | None]:
    return [None if one is None else type(one) for one in answers]


def writes(slurm: FakeSlurm, refs: Sequence[Ref]) -> list[str]:
    """What was written after those were created."""
    return slurm.writes[len(refs) :]


def numbers(*ats: int) -> str:
    return ",".join(str(FIRST + at) for at in ats)


def test_the_gates_of_all_are_lifted_by_two_commands(slurm: FakeSlurm) -> None:
    refs = started(3)
    assert open_(refs) == [None] * 3
    both = [
        f"scontrol release {numbers(0, 1, 2)}",
        f"scontrol update JobId={numbers(0, 1, 2)} StartTime=now",
    ]
    assert writes(slurm, refs) == both
    assert open_(refs) == [None] * 3
    assert writes(slurm, refs) == both


def test_what_a_crash_left_half_done_is_finished(slurm: FakeSlurm) -> None:
    refs = started(3)
    slurm.set(FIRST + 1, Priority="1", Reason="BeginTime")
    assert open_(refs) == [None] * 3
    assert writes(slurm, refs) == [
        f"scontrol release {numbers(0, 2)}",
        f"scontrol update JobId={numbers(0, 1, 2)} StartTime=now",
    ]


def test_a_hold_survives(slurm: FakeSlurm) -> None:
    refs = started(3)
    held = str(refs[1].base + 3)
    slurm.set(FIRST + 1, StartTime=held)
    assert open_(refs) == [None] * 3
    assert [slurm.field(FIRST + at, "StartTime") for at in range(3)] == ["Unknown", held, "Unknown"]


def test_a_persons_hold_is_never_lifted(slurm: FakeSlurm) -> None:
    refs = started(3)
    open_(refs)
    slurm.set(FIRST + 1, Priority="0", Reason="JobHeldUser")
    before = slurm.writes
    assert open_(refs) == [None] * 3
    assert slurm.writes == before


Change = Callable[[FakeSlurm, list[Ref]], None]


def ended(slurm: FakeSlurm, _: list[Ref]) -> None:
    slurm.set(FIRST + 1, JobState="FAILED")


def administered(slurm: FakeSlurm, _: list[Ref]) -> None:
    slurm.set(FIRST + 1, Reason="JobHeldAdmin")


def renumbered(slurm: FakeSlurm, _: list[Ref]) -> None:
    slurm.set(FIRST + 1, JobName="train")


def of_another_attempt(slurm: FakeSlurm, _: list[Ref]) -> None:
    path = slurm.home / "jobs" / str(FIRST + 1)
    path.write_text(path.read_text().replace(" a=tok1 ", " a=tok2 "))


def of_another_base(_: FakeSlurm, refs: list[Ref]) -> None:
    refs[1] = replace(refs[1], base=refs[1].base - 7)


def forgotten(slurm: FakeSlurm, _: list[Ref]) -> None:
    (slurm.home / "jobs" / str(FIRST + 1)).unlink()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (ended, Finished),
        (administered, Conflict),
        (renumbered, NotFound),
        (of_another_attempt, Conflict),
        (of_another_base, Conflict),
        (forgotten, NotFound),
    ],
)
def test_one_that_is_refused_is_not_touched_and_leaves_the_others_alone(
    slurm: FakeSlurm, change: Change, error: type[DispatchError]
) -> None:
    refs = started(3)
    change(slurm, refs)
    assert kinds(open_(refs)) == [None, error, None]
    assert writes(slurm, refs) == [
        f"scontrol release {numbers(0, 2)}",
        f"scontrol update JobId={numbers(0, 2)} StartTime=now",
    ]


def test_an_object_whose_comment_shows_another_object_makes_nobody_open_that(
    slurm: FakeSlurm,
) -> None:
    refs = started(3)
    slurm.set(FIRST + 2, JobName="train")
    path = slurm.home / "jobs" / str(FIRST + 1)
    shown = (
        (slurm.home / "jobs" / str(FIRST + 2))
        .read_text()
        .replace("JobName=train", f"JobName=dj-{refs[2].job}")
    )
    path.write_text(path.read_text().replace("   WorkDir=", f"\n{shown}\n   WorkDir=", 1))
    third = open_(refs)[2]
    assert isinstance(third, DispatchError)
    assert slurm.field(FIRST + 2, "Priority") == "0"


def test_an_object_that_is_shown_twice_is_not_believed(slurm: FakeSlurm) -> None:
    refs = started(3)
    slurm.before("squeue", f'set -- "${{@/--jobs=/--jobs={FIRST + 1},}}"')
    first, second, third = open_(refs)
    assert (first, third) == (None, None)
    assert isinstance(second, DispatchError)
    assert slurm.field(FIRST + 1, "Priority") == "0"


@pytest.mark.parametrize("command", ["release", "update"])
def test_a_complaint_about_one_is_told_of_that_one(slurm: FakeSlurm, command: str) -> None:
    """As Slurm does: the others of the list are released and updated."""
    refs = started(3)
    slurm.before(
        "scontrol",
        f"""
        if [ "$1" = {command} ]; then
          set -- "$1" "${{2//{FIRST + 1},/}}" "${{@:3}}"
          echo "slurm_update error: Access/permission denied for job {FIRST + 1}" >&2
          failed=1
          trap 'exit 1' EXIT
        fi
        """,
    )
    first, second, third = open_(refs)
    assert (first, third) == (None, None)
    assert isinstance(second, DispatchError)
    assert [slurm.field(FIRST + at, "StartTime") == "Unknown" for at in range(3)] == [
        True,
        False,
        True,
    ]


def test_an_open_without_effect_is_no_success(slurm: FakeSlurm) -> None:
    refs = started(3)
    slurm.before("scontrol", "exit 0")
    assert kinds(open_(refs)) == [OutcomeUnknown] * 3


def test_a_controller_that_is_away_before_the_write_did_nothing(slurm: FakeSlurm) -> None:
    refs = started(3)
    away = "echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 1"
    slurm.before("squeue", away)
    assert kinds(open_(refs)) == [Unavailable] * 3
    assert writes(slurm, refs) == []


def test_a_controller_that_is_away_after_the_write_leaves_its_outcome_unknown(
    slurm: FakeSlurm,
) -> None:
    refs = started(3)
    away = "echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 1"
    slurm.before(
        "squeue", f'looks=$(grep -c "^squeue " calls); [ "$looks" -le 2 ] || {{ {away}; }}'
    )
    assert kinds(open_(refs)) == [OutcomeUnknown] * 3


def test_many_that_come_too_late_do_nothing(slurm: FakeSlurm) -> None:
    refs = started(3)
    with pytest.raises(Expired):
        open_(refs, PAST)
    assert writes(slurm, refs) == []


def test_a_deadline_that_passes_between_the_groups_lets_the_second_expire(slurm: FakeSlurm) -> None:
    refs = started(OPENED_AT_ONCE + 2)
    slurm.before("scontrol", f'[ "$1" != update ] || {{ {TWO_HOURS_LATER}; }}')
    assert kinds(open_(refs, seconds=FOUR_HOURS)) == [None] * 2 + [Expired] * OPENED_AT_ONCE
    assert [call.split()[1] for call in writes(slurm, refs)] == ["release", "update"]


def test_a_deadline_that_passes_between_a_release_and_its_clearing_leaves_a_gate(
    slurm: FakeSlurm,
) -> None:
    """The begin time still gates it; that some of it was done is what is not known."""
    refs = started(OPENED_AT_ONCE + 2)
    slurm.before("scontrol", f'[ "$1" != release ] || {{ {TWO_HOURS_LATER}; }}')
    assert (
        kinds(open_(refs, seconds=FOUR_HOURS)) == [OutcomeUnknown] * 2 + [Expired] * OPENED_AT_ONCE
    )
    assert [slurm.field(FIRST + at, "StartTime") for at in range(2)] == [
        str(ref.base) for ref in refs[:2]
    ]


def test_nothing_of_a_ref_reaches_the_shell(slurm: FakeSlurm) -> None:
    refs = started(3)
    refs[1] = replace(refs[1], attempt="$(touch pwned)`touch pwned`'\"; touch pwned")
    assert kinds(open_(refs)) == [None, Conflict, None]
    assert not list(slurm.home.rglob("pwned"))
