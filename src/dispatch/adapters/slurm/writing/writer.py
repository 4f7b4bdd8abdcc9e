"""The verbs: each one call of the transport, its answer judged here."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from dispatch.adapters.slurm.jobscript import output_path, render_job_script
from dispatch.adapters.slurm.reading.key import LAST_INSTANCE, Ref
from dispatch.adapters.slurm.writing.frame import Answer, Section, compose, read_answer
from dispatch.adapters.slurm.writing.judging import (
    LOOK_BACK,
    comment_of,
    job_number,
    judge_before,
    judge_open,
    judge_start,
    last_shown,
    refuse_foreign,
    succeeded,
    what_opens,
)
from dispatch.adapters.slurm.writing.options import sbatch_options
from dispatch.adapters.slurm.writing.shown import Shown
from dispatch.model.epoch import object_name
from dispatch.model.errors import (
    Conflict,
    Expired,
    Finished,
    Invalid,
    OutcomeUnknown,
)
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import CallMeta, StartOrder
from dispatch.spi.transport import Transport

OPTIONS_FROM = 5
"""The place of the first option among the arguments of a start."""

_NO_TIME = Duration()
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
        what = f"Submitting {object_name(order.id)}"
        args, script = self.request(order)
        answer = await self.call(
            what=what, meta=meta, args=args, parts=("start",), stdin=script.encode()
        )
        return judge_start(answer, order)

    def request(self, order: StartOrder) -> tuple[list[str], str]:
        """The arguments of a start, and the job script. Raises ``Invalid`` where no object can be made."""
        script = render_job_script(order, self._shared)
        output = output_path(order.job, ulid=order.id, submission=order.submission)
        args = [
            object_name(order.id),
            comment_of(order),
            str(order.base),
            order.job.workdir or "~",
            output,
            *sbatch_options(order),
        ]
        return args, script

    async def open(self, ref: Ref, meta: CallMeta) -> None:
        """Lift the gate; see ``Backend.open``."""
        what = what_opens(ref)
        answer, before = await self._on_object("open", what, ref, meta)
        judge_open(answer, before, ref)

    async def stop(self, ref: Ref, meta: CallMeta) -> None:
        """End it for good; see ``Backend.stop``."""
        what = f"Stopping Slurm job {ref.number} of {ref.job}"
        answer, before = await self._on_object("stop", what, ref, meta)
        if before.ended and answer.section("cancel") is None and not before.requeue:
            return
        if before.ended and before.state != "COMPLETING":
            return
        succeeded(answer, what, "requeue", "cancel")
        after = last_shown(answer)
        if after.requeue:
            raise OutcomeUnknown(
                f"{what}: its Requeue bit is still set, so it was not cancelled.", todo=LOOK_BACK
            )
        if not after.ended:
            raise OutcomeUnknown(f"{what}: it is still {after.state}.", todo=LOOK_BACK)

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
        succeeded(answer, what, "hold")
        after = last_shown(answer)
        if after.instance(ref) != instance:
            raise OutcomeUnknown(f"{what}: the hold does not read back.", todo=LOOK_BACK)

    async def release(self, ref: Ref, instance: int, meta: CallMeta) -> None:
        """Lift exactly that hold; see ``Holder.release``."""
        what = f"Releasing hold {instance} of Slurm job {ref.number} of {ref.job}"
        if not 1 <= instance <= LAST_INSTANCE:
            raise Invalid(
                f"{what}: {instance} is no hold instance.", todo=f"Take 1 to {LAST_INSTANCE}."
            )
        knows = "opened" if meta.opened else "gated"
        answer, before = await self._on_object("release", what, ref, meta, str(instance), knows)
        if before.ended:
            raise Finished(f"{what}: it has ended ({before.state}).")
        current = before.instance(ref) if before.pending else None
        if current != instance:
            held = f"hold {current}" if current else "no hold of ours"
            raise Conflict(f"{what}: there is {held} on it.", todo="Read again.")
        if answer.section("held by others"):
            raise Conflict(f"{what}: somebody else holds it too.", todo="Ask for its release.")
        succeeded(answer, what, "lift")
        if last_shown(answer).instance(ref) == instance:
            raise OutcomeUnknown(f"{what}: the hold still reads back.", todo=LOOK_BACK)

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
        answer = await self.call(what=what, meta=meta, args=[*keys, *args], parts=("key", verb))
        shown = judge_before(answer, what)
        if answer.section("foreign"):
            refuse_foreign(what, ref, shown)
        return answer, shown

    async def call(
        self,
        *,
        what: str,
        meta: CallMeta,
        args: Sequence[str],
        parts: Sequence[str],
        stdin: bytes | None = None,
        longer: Duration = _NO_TIME,
    ) -> Answer:
        """Run a script with its prelude. ``longer`` is by how much the last of its commands may begin after the first.

        Standard input ends with the mark, so that the script can tell that it has all of it.
        """
        mark = f"@@dispatch-{secrets.token_hex(8)}"
        deadline = int(meta.deadline.timestamp() * 1_000)
        bound = -(-self._bound.ms // 1_000)
        completed = await self._transport.run(
            compose(*parts),
            [mark, str(deadline), str(bound), *args],
            stdin=b"" if stdin is None else stdin + mark.encode(),
            timeout=Duration.of_ms(self._bound.ms + longer.ms + _MARGIN.ms),
        )
        answer = read_answer(mark, completed)
        if answer.began is None:
            said = completed.err.strip()[:500]
            raise OutcomeUnknown(
                f"{what}: the script said nothing ({completed.returncode}). {said}".strip(),
                todo=LOOK_BACK,
            )
        if answer.expired:
            raise Expired(
                f"{what}: the command would have begun after its deadline, so it did nothing."
            )
        return answer


__all__ = ["Section", "Writer", "job_number"]
