"""The words of ``dispatch simulate``: its options to conditions, its reports to lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

import click

from dispatch.cli.options import duration
from dispatch.cli.terminal import Cell, clean, note, table
from dispatch.model.errors import Invalid
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, Detail
from dispatch.whatif.conditions import Conditions, Program
from dispatch.whatif.history.past import queue_wait_of, sources_of
from dispatch.whatif.history.reading import read_history
from dispatch.whatif.reporting import Report
from dispatch.whatif.sheets import Sheet, rounded, sentences, sheets, told_conditions
from dispatch.whatif.weather import Source, Spread

T = TypeVar("T")
NEVER = "never"
DEFAULT_HORIZON = Duration(days=30)
LONGEST = Duration(days=3650)
TIMES_WORK = 20
"""The horizon of a job with an end of its own, in multiples of its work, where nothing else is said."""


# --- options


def within_horizon(text: str) -> Duration:
    """Read a duration of at most ten years."""
    read = duration(text)
    if read > LONGEST:
        _refuse(f"{text!r} is more than {LONGEST}.")
    return read


def whole(least: int, most: int) -> Callable[[str], int]:
    """Read a whole number in these bounds; click's own words call nonsense "not a valid integer range"."""

    def read(text: str) -> int:
        digits = text.strip()
        short = digits.isascii() and digits.isdigit() and len(digits) < len(str(most)) + 9
        if not short or not least <= int(digits) <= most:
            _refuse(f"{text[:40]!r} is no whole number from {least} to {most}.")
        return int(digits)

    return read


def perhaps_never(text: str) -> Duration | str:
    """Read a duration above nothing, or ``never``."""
    if text == NEVER:
        return NEVER
    read = within_horizon(text)
    if not read:
        _refuse(f"{text!r} is no time between two; write a duration above 0s, or `{NEVER}`.")
    return read


def spread(text: str) -> Spread:
    """Read a time that is always the same, ``20m``, or random around a mean, ``exp:20m``."""
    return Spread(
        mean=within_horizon(text.removeprefix("exp:")), exponential=text.startswith("exp:")
    )


def partitioned(read: Callable[[str], T]) -> Callable[[str], tuple[str, T]]:
    """Read something that may be of one partition alone: ``spot=6h``."""

    def read_one(text: str) -> tuple[str, T]:
        partition, separator, value = text.rpartition("=")
        if separator and not partition:
            _refuse(f"{text!r} names no partition before `=`.")
        return partition, read(value)

    return read_one


def _refuse(text: str) -> NoReturn:
    raise click.BadParameter(text)


# --- conditions


def conditions_of(
    poll: Duration, *, history: Path | None, days: int | None, work: Duration | None, **options: Any
) -> tuple[Conditions, tuple[str, ...]]:
    """Make conditions of the options, and say what of a history was left out. Raises ``Invalid``, ``NotFound``."""
    past = None if history is None else read_history(history)
    given = list(_sources(**options))
    recorded = () if past is None else sources_of(past.executions)
    named = {one.cause for one in given} | _silenced(**options)
    sources = (*given, *(one for one in recorded if one.cause not in named))
    # One of a partition that never strikes stands there in place of that for all others.
    sources = tuple(one for one in sources if one.mean is not None or one.gaps or one.partition)
    if not any(one.mean is not None or one.gaps for one in sources):
        if history is not None and not recorded:
            raise click.UsageError(
                f"{history} tells of no failure, and no option says what else goes wrong: give --node-mtbf,"
                " --preempt-every or --program-mtbf."
            )
        raise click.UsageError(
            "Nothing is said to go wrong: give --node-mtbf, --preempt-every, --program-mtbf or --history."
        )
    waits = dict(options["waits"])
    if "" not in waits and past is not None and (wait := queue_wait_of(past.executions)):
        waits[""] = wait
    conditions = Conditions(
        sources=sources,
        program=_program(**options),
        queue_wait=waits,
        repair=options["repair_time"],
        node_timeout=options["node_timeout"],
        spares=options["spares"],
        person_after=options["person_after"],
        poll=poll,
        horizon=_horizon(days, work),
        work=_work(work),
    )
    return conditions, past.notes if past else ()


def _work(work: Duration | None) -> Duration | None:
    if work is not None and not work:
        raise click.UsageError("--work must be above 0s.")
    return work


def _horizon(days: int | None, work: Duration | None) -> Duration:
    if days is not None:
        return Duration(days=days)
    if work is None:
        return DEFAULT_HORIZON
    return Duration.of_ms(min(work.ms * TIMES_WORK, LONGEST.ms))


def _sources(
    *,
    node_mtbf: Duration | str | None,
    preemptions: Sequence[tuple[str, Duration | str]],
    program_mtbf: Duration | str | None,
    program_exit_code: int,
    **_: Any,
) -> Iterator[Source]:
    """Make a source of each option; ``never`` in a partition is one without gaps, in place of that for all others."""
    if isinstance(node_mtbf, Duration):
        yield Source(cause=Cause.NODE_LOST, mean=node_mtbf, per_node=True)
    for partition, every in preemptions:
        mean = every if isinstance(every, Duration) else None
        yield Source(cause=Cause.PREEMPTED, mean=mean, partition=partition or None)
    if isinstance(program_mtbf, Duration):
        detail = Detail(exit_code=program_exit_code)
        yield Source(cause=Cause.NON_ZERO_EXIT, mean=program_mtbf, detail=detail)


def _silenced(
    *,
    node_mtbf: Duration | str | None,
    program_mtbf: Duration | str | None,
    **_: Any,
) -> set[Cause]:
    """The causes that an option has set to never, whatever the history says."""
    said = {Cause.NODE_LOST: node_mtbf, Cause.NON_ZERO_EXIT: program_mtbf}
    return {cause for cause, value in said.items() if value == NEVER}


def _program(
    *,
    checkpoint_every: Duration | str,
    checkpoint_cost: Duration,
    restart_cost: Duration,
    exit_on_signal: int | None,
    saves_when_preempted: bool,
    **_: Any,
) -> Program:
    return Program(
        checkpoint_every=checkpoint_every if isinstance(checkpoint_every, Duration) else None,
        checkpoint_cost=checkpoint_cost,
        restart_cost=restart_cost,
        exit_on_signal=exit_on_signal,
        saves_when_preempted=saves_when_preempted,
    )


# --- progress


class Progress:
    """Shows how far long work is: a bar on a terminal, elsewhere one line; nothing where it is over in a second."""

    def __init__(self, policies: int, seeds: int) -> None:
        self._policies, self._seeds = policies, seeds
        self._policy = 0
        self._told = False
        self._bar: Any = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def next_policy(self) -> None:
        """Tell that all seeds of one policy are done."""
        self._policy += 1
        self._show(0)

    def tell(self, done: int, left: float) -> None:
        """Tell how many seeds of this policy are done, and about how many seconds are left for it."""
        if not self._told:
            self._told = True
            self._begin(left * (self._policies - self._policy))
        self._show(done)

    def _begin(self, left: float) -> None:
        if not sys.stderr.isatty():
            note(f"simulating …, about {rounded(max(round(left), 1) * 1000)}")
            return
        length = self._policies * self._seeds
        bar = click.progressbar(length=length, label="simulating", file=sys.stderr)
        self._bar = self._open.enter_context(bar)

    def _show(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(self._policy * self._seeds + done - self._bar.pos)


# --- lines


def report_lines(reports: Sequence[Report], most: int | None) -> list[str]:
    """Tell the reports: the conditions, the tables, and what to do better."""
    first = reports[0]
    lines = [f"{first.summary.seeds} seeds, {first.job.nodes} nodes"]
    lines += [f"  {clean(text)}" for text in told_conditions(first.conditions)]
    for sheet in sheets(reports):
        lines += ["", *_laid_out(sheet, most)]
    for one in reports:
        told = sentences(one)
        if told:
            of = f"{clean(one.name)}: " if len(reports) > 1 else ""
            lines += ["", *(f"{of}{clean(text)}." for text in told)]
    return lines


def _laid_out(sheet: Sheet, most: int | None) -> list[str]:
    rows = [[Cell(text) for text in row] for row in sheet.rows]
    headings = [clean(text) for text in sheet.headings]
    room = None if most is None else max(most - 2, 20)
    return [f"{clean(sheet.title)}", *(f"  {line}" for line in table(headings, rows, room))]


# --- files


def check_writable(path: Path, option: str) -> None:
    """Refuse a place where nothing can be written, before any work is done for it. Raises ``Invalid``."""
    parent = path.parent
    if path.is_dir():
        reason = "it is a directory"
    elif not parent.is_dir():
        reason = f"there is no directory {parent}"
    elif not os.access(path if path.exists() else parent, os.W_OK):
        reason = "permission denied"
    else:
        return
    raise Invalid(f"{option}: {path} cannot be written: {reason}.", todo="Check the path.")


def write_file(path: Path, text: str, option: str) -> None:
    """Write a picture or a page. Raises ``Invalid`` where that cannot be."""
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Invalid(
            f"{option}: {path} cannot be written: {reason}.", todo="Check the path."
        ) from error
    note(f"written: {path}")
