"""Many objects in one script: what is asked is packed, and the answer of each is cut out and judged as if it were alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile

from msgspec.structs import replace

from dispatch.adapters.slurm.reading.key import Ref
from dispatch.adapters.slurm.writing.frame import Answer, Section
from dispatch.adapters.slurm.writing.judging import (
    job_number,
    judge_before,
    judge_open,
    judge_start,
    refuse_foreign,
    what_opens,
)
from dispatch.adapters.slurm.writing.shown import Shown, read_rows
from dispatch.adapters.slurm.writing.writer import OPTIONS_FROM, Writer
from dispatch.model.base import Value
from dispatch.model.epoch import object_name
from dispatch.model.errors import DispatchError, Expired
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import CallMeta, StartOrder

MOST_ARGUMENTS = 64 * 1024
"""Bytes of all arguments of a script: half of what one argument may have, as which a remote shell is given all of them."""

MOST_OF_ONE = 16 * 1024
"""Bytes of the arguments of one object; one that has more, such as a large environment, is made by a script of its own."""

OPENED_AT_ONCE = 25
"""As in open_many.sh."""

Looks = Mapping[str, Mapping[int, Shown]]
"""What each section shows, by the numbers of the objects."""

_OF_ANY = re.compile(r"\bjob \d+")


class Request(Value):
    """One start: its place in what was asked for, its order, and its arguments."""

    place: int
    order: StartOrder
    args: list[str]

    @property
    def size(self) -> int:
        """The bytes of its arguments, each with its end."""
        return sum(len(arg.encode("utf-8", "surrogatepass")) + 1 for arg in self.args)


async def start_many(
    writer: Writer, orders: Sequence[StartOrder], meta: CallMeta
) -> list[Ref | DispatchError]:
    """Create gated objects; see ``MultiWriter.start_many``."""
    made: dict[int, Ref | DispatchError] = {}
    prepared: dict[int, tuple[list[str], str]] = {}
    for place, order in enumerate(orders):
        try:
            prepared[place] = writer.request(order)
        except DispatchError as error:
            made[place] = error
    rest = _common_end([script for _, script in prepared.values()])
    requests = [
        Request(place=place, order=orders[place], args=_with_script(args, script, rest))
        for place, (args, script) in prepared.items()
    ]
    for some in _packed([one for one in requests if one.size <= MOST_OF_ONE]):
        made |= await _start_some(writer, some, rest, meta)
    for one in requests:
        if one.size > MOST_OF_ONE:
            made[one.place] = await _start_alone(writer, one.order, meta)
    return [made[place] for place in range(len(orders))]


def _common_end(scripts: Sequence[str]) -> str:
    """What all of them end with: the same body, most of each, which then needs to travel only once."""
    if not scripts:
        return ""
    backwards = sorted(script[::-1] for script in scripts)
    # What the first and the last of an order begin with, all that are between them do.
    alike = takewhile(
        lambda pair: pair[0] == pair[1], zip(backwards[0], backwards[-1], strict=False)
    )
    return "".join(letter for letter, _ in alike)[::-1]


def _with_script(args: list[str], script: str, rest: str) -> list[str]:
    """The arguments, with the beginning of the job script before the options."""
    return [*args[:OPTIONS_FROM], script.removesuffix(rest), *args[OPTIONS_FROM:]]


async def _start_alone(writer: Writer, order: StartOrder, meta: CallMeta) -> Ref | DispatchError:
    try:
        return await writer.start(order, meta)
    except DispatchError as error:
        return error


def _packed(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Cut so that each script's arguments stay in their bound."""
    some: list[Request] = []
    for one in requests:
        if sum(each.size for each in [*some, one]) > MOST_ARGUMENTS:
            yield some
            some = []
        some.append(one)
    if some:
        yield some


async def _start_some(
    writer: Writer, some: Sequence[Request], rest: str, meta: CallMeta
) -> dict[int, Ref | DispatchError]:
    args = [text for one in some for text in (str(len(one.args)), *one.args)]
    try:
        answer = await writer.call(
            what=f"Submitting {len(some)} jobs",
            meta=meta,
            args=args,
            parts=("many", "start_many"),
            stdin=rest.encode(),
            longer=_until(meta),
        )
    except DispatchError as error:
        # Of other scripts of the same call the outcome is known, and is not lost.
        return {one.place: error for one in some}
    backs = [one for one in answer.sections if one.name.startswith("back ")]
    shown = {number: one for back in backs for number, one in _rows(answer, back).items()}
    return {one.place: _started(answer, index, one.order, shown) for index, one in enumerate(some)}


def _started(
    answer: Answer, index: int, order: StartOrder, shown: Mapping[int, Shown]
) -> Ref | DispatchError:
    alone = _alone(answer, index, ("workdir", "directory", "sbatch"))
    if not alone and answer.section("late"):
        return _late(f"Submitting {object_name(order.id)}")
    said = next((one.out for one in alone if one.name == "sbatch" and one.rc == 0), "")
    number = job_number(said)
    back = None if number is None else shown.get(number)
    if back is not None:
        alone.append(Section(name="back", out="", err="", rc=0, shown=back))
    changed = answer.section(f"changed {number}")
    if changed is not None:
        alone.append(Section(name="changed", out=changed.out, err=changed.err, rc=changed.rc))
    try:
        return judge_start(_answer(answer, alone), order)
    except DispatchError as error:
        return error


async def open_many(
    writer: Writer, refs: Sequence[Ref], meta: CallMeta
) -> list[DispatchError | None]:
    """Lift gates; see ``MultiWriter.open_many``."""
    args = [
        text
        for ref in refs
        for text in (
            str(ref.number),
            object_name(ref.job),
            str(ref.submission),
            ref.attempt,
            str(ref.base),
        )
    ]
    answer = await writer.call(
        what=f"Opening {len(refs)} Slurm jobs",
        meta=meta,
        args=args,
        parts=("many", "open_many"),
        longer=_until(meta),
    )
    # The script takes those first that leave whole groups behind, so that only its first group may be smaller.
    groups = [
        (len(refs) - 1) // OPENED_AT_ONCE - (len(refs) - 1 - at) // OPENED_AT_ONCE
        for at in range(len(refs))
    ]
    looks = {one.name: _rows(answer, one) for one in answer.sections}
    return [_opened(answer, looks, group, ref) for group, ref in zip(groups, refs, strict=True)]


def _opened(answer: Answer, looks: Looks, group: int, ref: Ref) -> DispatchError | None:
    what = what_opens(ref)
    alone = _alone(answer, group, ("before", "release", "between", "clear", "after"))
    if not alone and answer.section("late"):
        return _late(what)
    shown = [(one, looks[f"{one.name} {group}"].get(ref.number)) for one in alone]
    told = [_of_object(one, block, ref.number) for one, block in shown]
    own = _answer(answer, [one for one in told if one is not None])
    try:
        before = judge_before(own, what)
        if before.name != object_name(ref.job) or not _is_of(before.comment, ref):
            refuse_foreign(what, ref, before)
        judge_open(own, before, ref)
    except DispatchError as error:
        return error
    return None


def _is_of(comment: str, ref: Ref) -> bool:
    marks = f" n={ref.submission} a={ref.attempt} base={ref.base} "
    return comment.startswith("dispatch/1 ") and marks in f"{comment} "


def _of_object(section: Section, shown: Shown | None, number: int) -> Section | None:
    """What a section says of one object; ``None`` where a later look does not show it."""
    if section.name in ("release", "clear"):
        return replace(section, err=_told_of(section.err, number), out="")
    if shown is not None:
        return replace(section, out="", rc=0, shown=shown)
    if section.name != "before":
        return None
    if section.rc == 0:
        # squeue passes over those of several that the controller does not have.
        return replace(section, out="", err="Invalid job id specified", rc=1)
    return replace(section, out="")


def _told_of(text: str, number: int) -> str:
    lines = text.splitlines()
    own = [line for line in lines if re.search(rf"\bjob {number}\b", line)]
    return "\n".join(own or [line for line in lines if not _OF_ANY.search(line)])


def _rows(answer: Answer, section: Section) -> Mapping[int, Shown]:
    """What a look shows, whose end was told."""
    return read_rows(section.out, answer.mark) if section.rc == 0 else {}


def _alone(answer: Answer, index: int, names: Sequence[str]) -> list[Section]:
    """The sections of one place, under the names that they have where an object is alone."""
    own = {f"{name} {index}": name for name in names}
    return [
        replace(section, name=own[section.name])
        for section in answer.sections
        if section.name in own
    ]


def _answer(whole: Answer, sections: Sequence[Section]) -> Answer:
    return replace(whole, sections=tuple(sections))


def _until(meta: CallMeta) -> Duration:
    """The time until the deadline: so much later than the first may the last command begin."""
    left = meta.deadline - datetime.now(UTC)
    return Duration.of_ms(max(0, int(left.total_seconds() * 1_000)))


def _late(what: str) -> Expired:
    return Expired(f"{what}: the command would have begun after its deadline, so it did nothing.")
