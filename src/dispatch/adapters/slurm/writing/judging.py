"""What an answer of a write means: the same for one object and for one of many."""

from __future__ import annotations

import re
from typing import NoReturn

from dispatch.adapters.slurm.reading.key import Ref, encode_comment
from dispatch.adapters.slurm.writing.frame import Answer, Section
from dispatch.adapters.slurm.writing.refusals import object_refusal_of, refusal_of
from dispatch.adapters.slurm.writing.shown import Shown, read_shown
from dispatch.model.epoch import object_name
from dispatch.model.errors import (
    Conflict,
    Finished,
    NotFound,
    OutcomeUnknown,
    Rejected,
    Unavailable,
)
from dispatch.model.status import ObjectKey
from dispatch.spi.adapter import StartOrder

LOOK_BACK = "Read the object back once the landing bound has passed."


def comment_of(order: StartOrder) -> str:
    """The comment that the object of the order carries."""
    key = ObjectKey(
        job=order.id, store=order.store, submission=order.submission, attempt=order.attempt
    )
    return encode_comment(key, order.base, order.spec_hash)


def judge_start(answer: Answer, order: StartOrder) -> Ref:
    """The ref of the object that was made. Raises what ``Backend.start`` raises."""
    name = object_name(order.id)
    what = f"Submitting {name}"
    number = _created(answer, what)
    seen = _read_back(answer, what)
    wrong = _changes(seen, name=name, comment=comment_of(order), order=order)
    if wrong or answer.section("changed") is not None:
        _refuse_changed(answer, what, number, wrong)
    return Ref(
        number=number,
        job=order.id,
        submission=order.submission,
        base=order.base,
        attempt=order.attempt,
    )


def what_opens(ref: Ref) -> str:
    """What an open does, in words."""
    return f"Opening Slurm job {ref.number} of {ref.job}"


def judge_before(answer: Answer, what: str) -> Shown:
    """The object as it was before the write. Raises what its reading says."""
    before = answer.section("before")
    if before is None or before.rc is None:
        # The script may have gone on where nobody hears it.
        raise OutcomeUnknown(f"{what}: the answer broke off.", todo=LOOK_BACK)
    if before.rc != 0:
        error = object_refusal_of(before, what)
        # Nothing but a read was sent yet, so nothing can have happened.
        raise (
            Unavailable(error.what, todo=error.todo) if isinstance(error, OutcomeUnknown) else error
        )
    return _shown(before)


def judge_open(answer: Answer, before: Shown, ref: Ref) -> None:
    """Raise what ``Backend.open`` raises of an object that was so before."""
    what = what_opens(ref)
    if before.ended:
        raise Finished(f"{what}: it has ended ({before.state}).")
    if before.pending and before.held and before.reason == "JobHeldAdmin":
        raise Conflict(
            f"{what}: an administrator holds it.",
            todo="Ask the administrator; the hold is never lifted by us.",
        )
    if before.state != "PENDING" or before.instance(ref) is None:
        return  # opened before: it runs, or waits with no gate of ours
    after = last_shown(answer)
    # What reads back counts, not the return code: Slurm complains of a job that can never start, and releases it.
    instance = after.instance(ref) if after.pending else None
    if instance == 0 or (instance is not None and after.held):
        succeeded(answer, what, "release", "clear")
        raise OutcomeUnknown(
            f"{what}: the gate is still closed after it was lifted.", todo=LOOK_BACK
        )


def _created(answer: Answer, what: str) -> int:
    if (workdir := answer.section("workdir")) is not None:
        raise Rejected(
            f"{what}: its working directory {workdir.out.strip()} does not exist on the login host.",
            todo="Correct workdir or make it; or set an absolute output elsewhere, where workdir exists on the nodes only.",
        )
    directory = answer.section("directory")
    # Broken off there, sbatch may have been run where nobody hears it.
    if directory is not None and directory.rc not in (None, 0):
        raise Rejected(
            f"{what}: the directory of its output cannot be made: {directory.err.strip()}",
            todo="Correct output or workdir.",
        )
    sbatch = answer.section("sbatch")
    if sbatch is None:
        raise OutcomeUnknown(f"{what}: the answer broke off.", todo=LOOK_BACK)
    if sbatch.rc != 0:
        raise refusal_of(sbatch, what)
    number = job_number(sbatch.out)
    if number is None:
        raise OutcomeUnknown(
            f"{what}: sbatch succeeded, but named no job: {sbatch.out.strip()!r}.", todo=LOOK_BACK
        )
    return number


def job_number(text: str) -> int | None:
    """Find the job's number in what sbatch printed: its last line that is one, whatever banners came before (F4)."""
    found = _NUMBER.findall(text)
    return int(found[-1]) if found else None


_NUMBER = re.compile(r"^(?:Submitted batch job )?(\d+)(?:;\S*| on cluster \S+)?\s*$", re.MULTILINE)


def _read_back(answer: Answer, what: str) -> Shown:
    back = answer.section("back")
    if back is None or back.rc != 0:
        said = back.err.strip() if back else "the answer broke off"
        raise OutcomeUnknown(
            f"{what}: accepted, but it could not be read back: {said}", todo=LOOK_BACK
        )
    return _shown(back)


def _changes(seen: Shown, *, name: str, comment: str, order: StartOrder) -> list[str]:
    checks = (
        (seen.name == name, f"its name to {seen.name!r}"),
        (seen.comment == comment, f"its comment to {seen.comment!r}"),
        (seen.held, "the hold, which is gone"),
        (seen.begin == order.base, f"its begin time to {seen.begin}"),
        (not seen.requeue, "the Requeue bit, which is set"),
        (seen.pending, f"its state, which is {seen.state}"),
    )
    return [text for is_right, text in checks if not is_right]


def _refuse_changed(answer: Answer, what: str, number: int, wrong: list[str]) -> NoReturn:
    changed = answer.section("changed")
    if changed is None or changed.rc != 0:
        raise OutcomeUnknown(
            f"{what}: job {number} was changed ({', '.join(wrong)}) and could not be stopped.",
            todo=LOOK_BACK,
        )
    raise Rejected(
        f"{what}: a plugin of this cluster changed {', '.join(wrong)}; job {number} was stopped.",
        todo="Ask the administrators to leave jobs named dj-* as they are submitted (job_submit plugin, cli_filter).",
    )


def refuse_foreign(what: str, ref: Ref, shown: Shown) -> NoReturn:
    if shown.name != object_name(ref.job):
        raise NotFound(f"{what}: that number now belongs to another job, {shown.name!r}.")
    raise Conflict(
        f"{what}: its comment is not of this attempt: {shown.comment!r}.", todo="Read again."
    )


def succeeded(answer: Answer, what: str, *names: str) -> None:
    for name in names:
        section = answer.section(name)
        if section is not None and section.rc != 0:
            raise object_refusal_of(section, what)
    if answer.cut:
        raise OutcomeUnknown(f"{what}: the answer broke off.", todo=LOOK_BACK)


def last_shown(answer: Answer) -> Shown:
    shown = answer.section("after", "between", "before")
    assert shown is not None
    return _shown(shown)


def _shown(section: Section) -> Shown:
    return read_shown(section.out) if section.shown is None else section.shown
