"""A picture of simulated policies: where the time went, and the executions of some runs. SVG, alone in its file.

It fetches nothing, reads in light and in dark, has a title and a description, and tells each execution's end in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from dispatch.whatif.cluster import Execution
from dispatch.whatif.measures import DAY, HOUR
from dispatch.whatif.playing import Run
from dispatch.whatif.reporting import Report, typical
from dispatch.whatif.sheets import OUTCOMES, WORDS, percent, rounded
from dispatch.whatif.tally import TIMES

WIDTH, LEFT, RIGHT = 960, 132, 20
WIDE = WIDTH - LEFT - RIGHT
BAR, STEP = 18, 26

# The colours of Okabe and Ito, which people who see few colours can tell apart.
CAUSE_COLOURS = {
    "Preempted": "#e69f00",
    "NodeLost": "#d55e00",
    "NonZeroExit": "#cc79a7",
    "Timeout": "#56b4e9",
    "Evicted": "#f0e442",
    "OutOfMemory": "#0072b2",
}
OTHER_COLOUR, GOOD_COLOUR = "#999999", "#009e73"
TIME_COLOURS = {
    "useful": "#009e73", "lost": "#b2182b", "checkpointing": "#92c5de", "restarting": "#2166ac", "hanging": "#f4a6c0",
    "queued": "#ffe08a", "noticing": "#bbbbbb", "proof": "#8c6bb1", "backoff": "#d8b98a", "held": "#54278f",
    "waiting": "#777777", "over": "#4a4a4a",
}  # fmt: skip
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1b1b}.h{font-weight:600}.s{font-size:11px;fill:#555}"
    ".bg{fill:#fff}.track{fill:#ececec}.axis{stroke:#888}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}.s{fill:#aaa}.bg{fill:#161616}.track{fill:#333}.axis{stroke:#999}}"
)


class Shown(NamedTuple):
    """A run that is drawn, and why this one."""

    label: str
    run: Run


def picture(reports: Sequence[Report]) -> str:
    """Draw the reports: for each a bar of its time, and three runs, a bad one, the middle one and a good one."""
    horizon = max(one.conditions.horizon.ms for one in reports)
    body: list[str] = []
    y = 34
    for one in reports:
        lines, y = _policy(one, horizon, y)
        body += lines
    body += _axis(horizon, y)
    legend, y = _legend(reports, y + 42)
    title, description = _words(reports)
    return "".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img"',
        ' aria-labelledby="t d">',
        f'<title id="t">{text(title)}</title><desc id="d">{text(description)}</desc><style>{STYLE}</style>',
        f'<rect class="bg" width="{WIDTH}" height="{y}"/>',
        *body, *legend, "</svg>\n",
    ])  # fmt: skip


def text(words: str) -> str:
    """Make words safe to stand in XML and HTML: no markup, and no letter that XML does not allow."""
    shown = (
        letter
        if letter.isprintable()
        else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter in words
    )
    return escape("".join(shown))


def _words(reports: Sequence[Report]) -> tuple[str, str]:
    names = " and ".join(one.name for one in reports)
    told = (
        f"{one.name}: effective training time ratio {percent(one.summary.ettr.mean)}, "
        f"{one.summary.executions.mean:.1f} executions in the mean of {one.summary.seeds} seeds."
        for one in reports
    )
    return f"Simulation of {names}", " ".join(told)


def _policy(one: Report, horizon: int, y: int) -> tuple[list[str], int]:
    summary = one.summary
    head = (
        f"{one.name}: {percent(summary.ettr.mean)} effective training time "
        f"({percent(summary.ettr.p10)} to {percent(summary.ettr.p90)} in 8 of 10 seeds)"
    )
    lines = [_label(12, y, head, "h")]
    y += 12
    lines += [_label(12, y + 13, "all seeds", "s"), *_share_bar(one, y)]
    y += STEP
    for shown in _chosen(one):
        lines += [_label(12, y + 13, shown.label, "s"), *_run(shown.run, horizon, y)]
        y += STEP
    return lines, y + 24


def _chosen(one: Report) -> list[Shown]:
    return [Shown(_seed(run), run) for run in typical(one)]


def _seed(run: Run) -> str:
    return "as recorded" if run.seed is None else f"seed {run.seed}"


def _share_bar(one: Report, y: int) -> Iterator[str]:
    hours = one.summary.hours
    total = sum(hours.values()) or 1.0
    x = float(LEFT)
    for name in TIMES:
        wide = WIDE * hours[name] / total
        if wide > 0:
            words = f"{WORDS[name]}: {percent(hours[name] / total)}"
            yield _box(x, y, wide, TIME_COLOURS[name], words)
        x += wide


def _run(run: Run, horizon: int, y: int) -> Iterator[str]:
    scale = WIDE / horizon
    end = OUTCOMES[run.outcome] + (f": {run.why}" if run.why else "")
    yield f"<g><title>{text(f'{_seed(run)}, {end}')}</title>"
    yield f'<rect class="track" x="{LEFT}" y="{y}" width="{WIDE}" height="{BAR}"/>'
    for one in run.executions:
        wide = (one.ended - one.started) * scale
        if wide > 0:
            yield _box(
                LEFT + one.started * scale, y, max(wide - 0.5, 0.5), _colour(one), _told(one)
            )
    if run.outcome != "running":
        x = LEFT + run.ended * scale
        yield f'<path class="axis" d="M{x:.1f} {y - 3}v{BAR + 6}" stroke-width="2"/>'
    yield "</g>"


def _colour(one: Execution) -> str:
    return CAUSE_COLOURS.get(str(one.cause), OTHER_COLOUR) if one.cause else GOOD_COLOUR


def _told(one: Execution) -> str:
    how = str(one.cause) if one.cause else "nothing went wrong"
    return (
        f"execution {one.submission}, day {one.started / DAY:.2f}, ran {rounded(one.ended - one.started)}, {how}; "
        f"lost {one.spent.lost * one.nodes / HOUR:.1f} node-hours"
    )


def _box(x: float, y: float, wide: float, colour: str, words: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR}" fill="{colour}">'
        f"<title>{text(words)}</title></rect>"
    )


def _label(x: float, y: float, words: str, style: str = "", anchor: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y}"{kind}{where}>{text(words)}</text>'


def _axis(horizon: int, y: int) -> Iterator[str]:
    yield f'<path class="axis" d="M{LEFT} {y - 14}h{WIDE}" fill="none"/>'
    days = horizon / DAY
    step = next(step for step in (1, 2, 5, 10, 30, 60, 90, 365, 3650) if days / step <= 12)
    for day in range(0, int(days) + 1, step):
        x = LEFT + WIDE * day / days
        yield f'<path class="axis" d="M{x:.1f} {y - 14}v5"/>{_label(x, y + 4, f"day {day}", "s", "middle")}'


def _legend(reports: Sequence[Report], y: int) -> tuple[list[str], int]:
    """Name the colours that were used, those of the time and those of the ends."""
    used = [name for name in TIMES if any(one.summary.hours[name] for one in reports)]
    causes = sorted({row.cause for one in reports for row in one.summary.causes})
    ends = [(cause, CAUSE_COLOURS.get(cause, OTHER_COLOUR)) for cause in causes]
    lines, y = _entries("All seeds, the time:", [(WORDS[n], TIME_COLOURS[n]) for n in used], y)
    goes_on = ("no end, or success", GOOD_COLOUR)
    more, y = _entries("One seed, executions by their end:", [*ends, goes_on], y + 8)
    return [*lines, *more], y


def _entries(head: str, entries: Sequence[tuple[str, str]], y: int) -> tuple[list[str], int]:
    lines = [_label(12, y, head, "h")]
    for column, (words, colour) in enumerate(entries):
        if column % 3 == 0:
            y += 20
        x = 12 + 312 * (column % 3)
        lines.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour}"/>')
        lines.append(_label(x + 18, y, words))
    return lines, y + 24
