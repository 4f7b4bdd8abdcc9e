"""The verbs: each one call of the transport, its answer judged here."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import NoReturn

from dispatch.adapters.slurm.jobscript import output_path, render_job_script
from dispatch.adapters.slurm.reading.key import LAST_INSTANCE, Ref, encode_comment
from dispatch.adapters.slurm.writing.frame import Answer, Section, compose, read_answer
from dispatch.adapters.slurm.writing.options import sbatch_options
from dispatch.adapters.slurm.writing.refusals import object_refusal_of, refusal_of
from dispatch.adapters.slurm.writing.shown import Shown, read_shown
from dispatch.model.epoch import object_name
from dispatch.model.errors import (
    Conflict,
    Expired,
    Finished,
    Invalid,
    NotFound,
    OutcomeUnknown,
    Rejected,
    Unavailable,
)
from dispatch.model.quantity import Duration
from dispatch.model.status import ObjectKey
from dispatch.spi.adapter import CallMeta, StartOrder
from dispatch.spi.transport import Transport

_LOOK_BACK = "Read the object back once the landing bound has passed."
_MARGIN = Duration(seconds=5)
"""Beyond the bound of the commands: for the shell and the way there and back."""


class Writer:
    """Create, open, hold, release and stop objects.

    ``bound`` is the time within which all commands of one call must end, once it has begun; ``shared`` the directory
    of the start tickets.
    """

    def __init__(self, transport: Transport, *, bound: Duration, shared: str) -> None:
        self._transport = transport
        self._bound = bound
        self._shared = shared

    async def start(self, order: StartOrder, meta: CallMeta) -> Ref:
        """Create a gated object; see ``Backend.start``."""
        key = ObjectKey(
            job=order.id, store=order.store, submission=order.submission, attempt=order.attempt
        )
        comment = encode_comment(key, order.base, order.spec_hash)
        script = render_job_script(order, self._shared)
        output = output_path(order.job, ulid=order.id, submission=order.submission)
        name = object_name(order.id)
        args = [
            name,
            comment,
            str(order.base),
            order.job.workdir or "~",
            output,
            *sbatch_options(order),
        ]
        what = f"Submitting {name}"
        answer = await self._call(
            what=what, meta=meta, args=args, parts=("start",), stdin=script.encode()
        )
        number = _created(answer, what)
        seen = _read_back(answer, what)
        wrong = _changes(seen, name=name, comment=comment, order=order)
        if wrong or answer.section("changed") is not None:
            _refuse_changed(answer, what, number, wrong)
        return Ref(
            number=number,
            job=order.id,
            submission=order.submission,
            base=order.base,
            attempt=order.attempt,
        )

    async def open(self, ref: Ref, meta: CallMeta) -> None:
        """Lift the gate; see ``Backend.open``."""
        what = f"Opening Slurm job {ref.number} of {ref.job}"
        answer, before = await self._on_object("open", what, ref, meta)
        if before.ended:
            raise Finished(f"{what}: it has ended ({before.state}).")
        if before.pending and before.held and before.reason == "JobHeldAdmin":
            raise Conflict(
                f"{what}: an administrator holds it.",
                todo="Ask the administrator; the hold is never lifted by us.",
            )
        if before.state != "PENDING" or before.instance(ref) is None:
            return  # opened before: it runs, or waits with no gate of ours
        after = _last_shown(answer)
        # What reads back counts, not the return code: Slurm complains of a job that can never start, and releases it.
        instance = after.instance(ref) if after.pending else None
        if instance == 0 or (instance is not None and after.held):
            _succeeded(answer, what, "release", "clear")
            raise OutcomeUnknown(
                f"{what}: the gate is still closed after it was lifted.", todo=_LOOK_BACK
            )

    async def stop(self, ref: Ref, meta: CallMeta) -> None:
        """End it for good; see ``Backend.stop``."""
        what = f"Stopping Slurm job {ref.number} of {ref.job}"
        answer, before = await self._on_object("stop", what, ref, meta)
        if before.ended and answer.section("cancel") is None and not before.requeue:
            return
        if before.ended and before.state != "COMPLETING":
            return
        _succeeded(answer, what, "requeue", "cancel")
        after = _last_shown(answer)
        if after.requeue:
            raise OutcomeUnknown(
                f"{what}: its Requeue bit is still set, so it was not cancelled.", todo=_LOOK_BACK
            )
        if not after.ended:
            raise OutcomeUnknown(f"{what}: it is still {after.state}.", todo=_LOOK_BACK)

    async def hold(self, ref: Ref, instance: int, meta: CallMeta) -> None:
        """Place a hold on a pending object; see ``Holder.hold``."""
        what = f"Holding Slurm job {ref.number} of {ref.job}"
        if not 1 <= instance <= LAST_INSTANCE:
            raise Invalid(
                f"{what}: {instance} is no hold instance.", todo=f"Take 1 to {LAST_INSTANCE}."
            )
        answer, before = await self._on_object("hold", what, ref, meta, str(instance))
        if before.ended:
            raise Finished(f"{what}: it has ended ({before.state}).")
        if not before.pending:
            raise Conflict(
                f"{what}: it is {before.state}, not pending.", todo="Stop it, or wait for its end."
            )
        current = before.instance(ref)
        if current is not None and current > instance:
            raise Conflict(f"{what}: a later hold, {current}, is on it.", todo="Read again.")
        _succeeded(answer, what, "hold")
        after = _last_shown(answer)
        if after.instance(ref) != instance:
            raise OutcomeUnknown(f"{what}: the hold does not read back.", todo=_LOOK_BACK)

    async def release(self, ref: Ref, instance: int, meta: CallMeta) -> None:
        """Lift exactly that hold; see ``Holder.release``."""
        what = f"Releasing hold {instance} of Slurm job {ref.number} of {ref.job}"
        if not 1 <= instance <= LAST_INSTANCE:
            raise Invalid(
                f"{what}: {instance} is no hold instance.", todo=f"Take 1 to {LAST_INSTANCE}."
            )
        answer, before = await self._on_object("release", what, ref, meta, str(instance))
        if before.ended:
            raise Finished(f"{what}: it has ended ({before.state}).")
        current = before.instance(ref) if before.pending else None
        if current != instance:
            held = f"hold {current}" if current else "no hold of ours"
            raise Conflict(f"{what}: there is {held} on it.", todo="Read again.")
        _succeeded(answer, what, "lift")
        if _last_shown(answer).instance(ref) == instance:
            raise OutcomeUnknown(f"{what}: the hold still reads back.", todo=_LOOK_BACK)

    async def _on_object(
        self, verb: str, what: str, ref: Ref, meta: CallMeta, *args: str
    ) -> tuple[Answer, Shown]:
        keys = [
            str(ref.number),
            object_name(ref.job),
            str(ref.submission),
            ref.attempt,
            str(ref.base),
        ]
        answer = await self._call(what=what, meta=meta, args=[*keys, *args], parts=("key", verb))
        before = answer.section("before")
        if before is None:
            raise OutcomeUnknown(f"{what}: the answer broke off.", todo=_LOOK_BACK)
        if before.rc != 0:
            error = object_refusal_of(before, what)
            # Nothing but a read was sent yet, so nothing can have happened.
            raise (
                Unavailable(error.what, todo=error.todo)
                if isinstance(error, OutcomeUnknown)
                else error
            )
        shown = read_shown(before.out)
        if answer.section("foreign"):
            _refuse_foreign(what, ref, shown)
        return answer, shown

    async def _call(
        self,
        *,
        what: str,
        meta: CallMeta,
        args: Sequence[str],
        parts: Sequence[str],
        stdin: bytes = b"",
    ) -> Answer:
        mark = f"@@dispatch-{secrets.token_hex(8)}"
        deadline = int(meta.deadline.timestamp() * 1_000)
        bound = -(-self._bound.ms // 1_000)
        completed = await self._transport.run(
            compose(*parts),
            [mark, str(deadline), str(bound), *args],
            stdin=stdin,
            timeout=Duration.of_ms(self._bound.ms + _MARGIN.ms),
        )
        answer = read_answer(mark, completed)
        if answer.began is None:
            said = completed.err.strip()[:500]
            raise OutcomeUnknown(
                f"{what}: the script said nothing ({completed.returncode}). {said}".strip(),
                todo=_LOOK_BACK,
            )
        if answer.expired:
            raise Expired(
                f"{what}: the command would have begun after its deadline, so it did nothing."
            )
        return answer


def _created(answer: Answer, what: str) -> int:
    if (workdir := answer.section("workdir")) is not None:
        raise Rejected(
            f"{what}: its working directory {workdir.out.strip()} does not exist on the login host.",
            todo="Correct workdir or make it; or set an absolute output elsewhere, where workdir exists on the nodes only.",
        )
    directory = answer.section("directory")
    if directory is not None and directory.rc != 0:
        raise Rejected(
            f"{what}: the directory of its output cannot be made: {directory.err.strip()}",
            todo="Correct output or workdir.",
        )
    sbatch = answer.section("sbatch")
    if sbatch is None:
        raise OutcomeUnknown(f"{what}: the answer broke off.", todo=_LOOK_BACK)
    if sbatch.rc != 0:
        raise refusal_of(sbatch, what)
    number = job_number(sbatch.out)
    if number is None:
        raise OutcomeUnknown(
            f"{what}: sbatch succeeded, but named no job: {sbatch.out.strip()!r}.", todo=_LOOK_BACK
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
            f"{what}: accepted, but it could not be read back: {said}", todo=_LOOK_BACK
        )
    return read_shown(back.out)


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
            todo=_LOOK_BACK,
        )
    raise Rejected(
        f"{what}: a plugin of this cluster changed {', '.join(wrong)}; job {number} was stopped.",
        todo="Ask the administrators to leave jobs named dj-* as they are submitted (job_submit plugin, cli_filter).",
    )


def _refuse_foreign(what: str, ref: Ref, shown: Shown) -> NoReturn:
    if shown.name != object_name(ref.job):
        raise NotFound(f"{what}: that number now belongs to another job, {shown.name!r}.")
    raise Conflict(
        f"{what}: its comment is not of this attempt: {shown.comment!r}.", todo="Read again."
    )


def _succeeded(answer: Answer, what: str, *names: str) -> None:
    for name in names:
        section = answer.section(name)
        if section is not None and section.rc != 0:
            raise object_refusal_of(section, what)
    if answer.cut:
        raise OutcomeUnknown(f"{what}: the answer broke off.", todo=_LOOK_BACK)


def _last_shown(answer: Answer) -> Shown:
    shown = answer.section("after", "between", "before")
    assert shown is not None
    return read_shown(shown.out)


__all__ = ["Section", "Writer", "job_number"]
