"""``dispatch demo``: the real engine on a cluster in memory, which has a bad day."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatch.cli.demo_picture import (
    LAST,
    LEGEND,
    Line,
    Mark,
    Timeline,
    clock,
    happenings,
    log_lines,
)
from dispatch.cli.demo_story import Ending, Frame, Story
from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options
from dispatch.cli.render import history_document
from dispatch.cli.telling import Told, moment, tell_history
from dispatch.cli.terminal import clean, emit, say

if TYPE_CHECKING:
    from rich.console import Group

Show = Callable[[Frame, list[Told]], None]


@click.command("demo")
@click.option(
    "--speed",
    metavar="N",
    type=click.IntRange(1, 10_000),
    default=20,
    help="Seconds of the story in one of yours (20), on a terminal.",
)
@common_options
def command(common: Common, *, speed: int) -> Exit:
    """Watch a job survive preemption, a lost node and a lost reply. It needs no cluster, and takes under 20 s.

    The records, the engine and the decisions are the real ones; the scheduler and the clock are in memory.
    """
    with tempfile.TemporaryDirectory(prefix="dispatch-demo-") as place:
        if common.as_json:
            ending = asyncio.run(_play(Path(place), 0, lambda _frame, _told: None))
            emit(_document(ending))
        elif sys.stdout.isatty():
            ending = _play_live(Path(place), speed)
            say(["", *_summary(ending)])
        else:
            printer = _Printer()
            ending = asyncio.run(_play(Path(place), 0, printer.show))
            say(["", *_summary(ending)])
    return Exit.OK if ending.overlaps == 0 else Exit.INTERNAL


async def _play(place: Path, pause: float, show: Show) -> Ending:
    story = Story(place)
    ending = Ending()
    told: list[Told] = []
    version = 0
    async for frame in story.play():
        if frame.view.version != version:
            version, told = frame.view.version, tell_history(story.ledger.history(story.job))
        show(frame, told)
        ending = story.ending()
        await asyncio.sleep(pause)
    return ending


class _Printer:
    """Writes each happening once, for what is no terminal."""

    def __init__(self) -> None:
        self._written = 0

    def show(self, frame: Frame, told: list[Told]) -> None:
        happened = happenings(told, frame.played)
        new = log_lines(happened[self._written :], frame.view.accepted_at, None)
        say(clean("".join(mark.letter for mark in line)) for line in new)
        self._written = len(happened)


def _play_live(place: Path, speed: int) -> Ending:
    from rich.console import Console  # noqa: PLC0415 - only where a picture is drawn
    from rich.live import Live  # noqa: PLC0415

    timeline = Timeline()
    with Live(console=Console(), refresh_per_second=20) as live:

        def show(frame: Frame, told: list[Told]) -> None:
            timeline.add(frame)
            live.update(_picture(frame, told, timeline))

        return asyncio.run(_play(place, 1 / speed, show))


def _picture(frame: Frame, told: list[Told], timeline: Timeline) -> Group:
    from rich.console import Group  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    start = frame.view.accepted_at
    title = f"{clock(frame.now, start)}  {frame.view.job.name}: {frame.explanation.headline}"
    lines: list[Line] = [
        [Mark(clean(title), "bold")],
        [],
        *timeline.lines(),
        [],
        *log_lines(happenings(told, frame.played), start, LAST),
        [],
        LEGEND,
    ]
    return Group(*(Text.assemble(*line, no_wrap=True, overflow="ellipsis") for line in lines))


def _summary(ending: Ending) -> list[str]:
    truth = f"never two at once ({ending.overlaps} overlaps in the ground truth)"
    return [
        f"{ending.executions} executions in {ending.seconds} s of the cluster's time, {truth}.",
        "The lost reply was waited for, read back and adopted; nothing was submitted twice.",
        "Submission 3 began only after n3 had proven that submission 2 was gone.",
        "On your cluster: `dispatch submit train.yaml`, `dispatch supervise`, `dispatch status`.",
    ]


def _document(ending: Ending) -> dict[str, object]:
    return {
        "job": ending.job,
        "executions": ending.executions,
        "overlaps": ending.overlaps,
        "seconds": ending.seconds,
        "played": [{"at": moment(at), "text": text} for at, text in ending.played],
        "history": history_document(ending.history),
    }
