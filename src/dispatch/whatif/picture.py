"""A picture of simulated policies: where the time went, how the work grew, and some single runs. SVG, alone in its file.

It fetches nothing, reads in light and in dark, has a title and a description, and tells each part in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from dispatch.whatif.cluster import Execution
from dispatch.whatif.drawing import (
    LEFT,
    MARGIN,
    POLICY_COLOURS,
    SMALL,
    STYLE,
    WIDE,
    WIDTH,
    across,
    box,
    fitted,
    is_dark,
    label,
    legend,
    shortened,
    text,
    ticks,
    width_of,
    wrapped,
)
from dispatch.whatif.measures import DAY, HOUR
from dispatch.whatif.playing import Run
from dispatch.whatif.reporting import Report, typical
from dispatch.whatif.sheets import OUTCOMES, WORDS, percent, rounded, told_source
from dispatch.whatif.tally import TIMES

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
    "waiting": "#a0785a", "over": "#6a6a6a",
}  # fmt: skip
BAR, ROW, CHART = 24, 14, 190


def picture(reports: Sequence[Report]) -> str:
    """Draw the reports, four at the most."""
    body, y = _head(reports)
    for panel in (_time_panel, _growth_panel, _runs_panel):
        lines, y = panel(reports, y)
        body += lines
    title, description = _words(reports)
    high = round(y)
    return "".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" height="{high}" role="img"',
        ' aria-labelledby="t d">',
        f'<title id="t">{text(title)}</title><desc id="d">{text(description)}</desc><style>{STYLE}</style>',
        f'<rect class="bg" width="{WIDTH}" height="{high}"/>',
        *body, "</svg>\n",
    ])  # fmt: skip


# --- words


def _words(reports: Sequence[Report]) -> tuple[str, str]:
    names = " and ".join(one.name for one in reports)
    told = (
        f"{one.name}: effective training time ratio {percent(one.summary.ettr.mean)}, "
        f"{one.summary.executions.mean:.1f} executions in the mean of {one.summary.seeds} seeds."
        for one in reports
    )
    return f"Simulation of {names}", " ".join(told)


def _head(reports: Sequence[Report]) -> tuple[list[str], float]:
    first, room = reports[0], WIDTH - 2 * MARGIN
    title, _ = _words(reports)
    nodes = " and ".join(str(count) for count in sorted({one.job.nodes for one in reports}))
    told = [
        f"{nodes} {'node' if nodes == '1' else 'nodes'}",
        f"at most {first.conditions.horizon}",
        f"{first.summary.seeds} seeds",
        *map(told_source, first.conditions.sources),
    ]
    lines = [label(MARGIN, 32, fitted(title, room, 17), "t", full=title)]
    y = 36.0
    for line in wrapped("; ".join(told), room, SMALL, 2):
        y += 16
        lines.append(label(MARGIN, y, line, "s", full="; ".join(told)))
    return lines, y


def _heading(y: float, words: str, more: str) -> list[str]:
    after = MARGIN + 1.1 * width_of(words) + 10  # it is bold
    return [
        label(MARGIN, y, words, "h"),
        label(after, y, fitted(more, WIDTH - MARGIN - after, SMALL), "s", full=more),
    ]


# --- where the time went


def _time_panel(reports: Sequence[Report], y: float) -> tuple[list[str], float]:
    y += 34
    lines = _heading(y, "Where the time went", "mean of all seeds")
    y += 12
    for one in reports:
        name = shortened(one.name, LEFT - MARGIN - 10)
        lines += [label(MARGIN, y + BAR / 2 + 5, name, full=one.name), *_share_bar(one, y)]
        y += BAR + 8
    lines += across(100, y, "%")
    used = [name for name in TIMES if any(one.summary.hours[name] for one in reports)]
    named, y = legend([(WORDS[name], TIME_COLOURS[name]) for name in used], y + 38)
    return [*lines, *named], y


def _share_bar(one: Report, y: float) -> Iterator[str]:
    hours = one.summary.hours
    total = sum(hours.values()) or 1.0
    shares = [hours[name] / total for name in TIMES]
    for name, share, end in zip(TIMES, shares, accumulate(shares), strict=True):
        wide, x, colour = WIDE * share, LEFT + WIDE * (end - share), TIME_COLOURS[name]
        if wide > 0:
            yield box(x, y, (wide, BAR), colour, f"{WORDS[name]}: {percent(share)}")
        words = f"{100 * share:.0f} %"
        if wide > width_of(words, SMALL) + 6:
            yield label(
                x + wide / 2,
                y + BAR / 2 + 4,
                words,
                "w" if is_dark(colour) else "b",
                anchor="middle",
            )


# --- how the work grew


def _growth_panel(reports: Sequence[Report], y: float) -> tuple[list[str], float]:
    y += 30
    more = "half of the seeds lie above the line, and 8 of 10 within the band"
    lines = _heading(y, "How the work grew", more)
    top = y + 14
    days = _days_shown(reports)
    # Work at the pace of a job to which nothing ever happens is the highest line.
    high = min(days, max(_most_work(reports) * 1.1, 0.001))
    scale = CHART / high
    for number in ticks(high, 6):
        at = top + CHART - number * scale
        lines.append(f'<path class="grid" d="M{LEFT} {at:.1f}h{WIDE}"/>')
        lines.append(label(LEFT - 8, at + 4, f"{number:g}", "s", anchor="end"))
    lines.append(label(MARGIN, top + CHART / 2 + 4, "days of work", "s"))
    end = LEFT + WIDE * high / days
    lines.append(
        f'<path class="axis" stroke-dasharray="4 4" d="M{LEFT} {top + CHART}L{end:.1f} {top}"><title>nothing ever goes wrong</title></path>'
    )
    for one, colour in zip(reports, POLICY_COLOURS, strict=False):
        lines += _growth(one, colour, days, scale, top + CHART)
    lines += across(days, top + CHART, "day")
    entries = [(_ratio(one), colour) for one, colour in zip(reports, POLICY_COLOURS, strict=False)]
    named, y = _policies([*entries, ("dashed: nothing ever goes wrong", "")], top + CHART + 38)
    return [*lines, *named], y


def _days_shown(reports: Sequence[Report]) -> float:
    """All days; fewer where every run has finished before."""
    window = max(one.conditions.window.ms for one in reports)
    tallies = [tallied for one in reports for tallied in one.tallies]
    if all(one.outcome == "finished" for one in tallies):
        window = min(window, max(one.ended for one in tallies))
    return max(window, 1) / DAY


def _most_work(reports: Sequence[Report]) -> float:
    return max(one.summary.growth[-1].p90 for one in reports)


def _growth(one: Report, colour: str, days: float, scale: float, floor: float) -> Iterator[str]:
    window = one.conditions.window.ms / DAY
    parts = len(one.summary.growth)
    moments = [window * part / parts for part in range(1, parts + 1)]
    shown = [
        (LEFT + WIDE * moment / days, figure)
        for moment, figure in zip(moments, one.summary.growth, strict=True)
        if moment <= days * (1 + 1 / parts)
    ]
    # What lies beyond the last day that is shown is cut to it.
    places = [(min(x, float(LEFT + WIDE)), figure) for x, figure in shown]
    upper = "".join(f"L{x:.1f} {floor - figure.p90 * scale:.1f}" for x, figure in places)
    lower = "".join(f"L{x:.1f} {floor - figure.p10 * scale:.1f}" for x, figure in reversed(places))
    middle = "".join(f"L{x:.1f} {floor - figure.p50 * scale:.1f}" for x, figure in places)
    begin = f"M{LEFT} {floor:.1f}"
    yield f'<path d="{begin}{upper}{lower}Z" fill="{colour}" fill-opacity=".22"/>'
    yield (
        f'<path d="{begin}{middle}" fill="none" stroke="{colour}" stroke-width="2.5"><title>{text(_ratio(one))}</title></path>'
    )


def _ratio(one: Report) -> str:
    ettr = one.summary.ettr
    spread = f" ({percent(ettr.p10)} to {percent(ettr.p90)})" if one.summary.seeds > 1 else ""
    return f"{shortened(one.name, WIDE / 2)}: ratio {percent(ettr.mean)}{spread}"


def _policies(entries: Sequence[tuple[str, str]], y: float) -> tuple[list[str], float]:
    lines: list[str] = []
    for words, colour in entries:
        stroke = f'stroke="{colour}" stroke-width="3"' if colour else 'stroke-dasharray="4 4"'
        lines.append(
            f'<path class="axis" style="{_stroke(colour)}" {stroke} d="M{LEFT} {y - 4:.1f}h22"/>'
        )
        lines.append(label(LEFT + 30, y, fitted(words, WIDE - 30, SMALL), "s", full=words))
        y += 18
    return lines, y


def _stroke(colour: str) -> str:
    return f"stroke:{colour}" if colour else ""


# --- single runs


def _runs_panel(reports: Sequence[Report], y: float) -> tuple[list[str], float]:
    y += 30
    more = (
        "a bad one, the middle one and a good one; each execution has the colour of what ended it"
    )
    lines = _heading(y, "Single runs", more)
    runs = [typical(one) for one in reports]
    days = _days_of_runs(reports, runs)
    y += 12
    for one, chosen in zip(reports, runs, strict=True):
        if len(reports) > 1:
            room = WIDTH - 2 * MARGIN
            lines.append(label(MARGIN, y + 12, shortened(one.name, room), full=one.name))
            y += 20
        for run in chosen:
            told = f"{_seed(run)}: {OUTCOMES[run.outcome]}"
            words = fitted(told, LEFT - MARGIN - 10, SMALL)
            lines += [label(MARGIN, y + ROW - 3, words, "s", full=told), *_run(run, days, y)]
            y += ROW + 6
        y += 6
    lines += across(days, y, "day")
    causes = sorted({row.cause for one in reports for row in one.summary.causes})
    ends = [(cause, CAUSE_COLOURS.get(cause, OTHER_COLOUR)) for cause in causes]
    named, y = legend([*ends, ("goes on, or has finished", GOOD_COLOUR)], y + 38)
    return [*lines, *named], y + 6


def _days_of_runs(reports: Sequence[Report], runs: Sequence[Sequence[Run]]) -> float:
    every = [run for chosen in runs for run in chosen]
    if all(run.outcome == "finished" for run in every):
        return max(*(run.ended for run in every), 1) / DAY
    return max(one.conditions.horizon.ms for one in reports) / DAY


def _seed(run: Run) -> str:
    return "as recorded" if run.seed is None else f"seed {run.seed}"


def _run(run: Run, days: float, y: float) -> Iterator[str]:
    scale = WIDE / (days * DAY)
    end = OUTCOMES[run.outcome] + (f": {run.why}" if run.why else "")
    yield f"<g><title>{text(f'{_seed(run)}, {end}')}</title>"
    yield f'<rect class="track" x="{LEFT}" y="{y:.1f}" width="{WIDE}" height="{ROW}"/>'
    for group in _groups(run.executions, scale):
        first, last = group[0], group[-1]
        wide = max((last.ended - first.started) * scale - 0.5, 0.5)
        yield box(LEFT + first.started * scale, y, (wide, ROW), _colour(first), _told(group))
    if run.outcome != "running":
        x = LEFT + run.ended * scale
        yield f'<path class="axis" d="M{x:.1f} {y - 3:.1f}v{ROW + 6}" stroke-width="2"/>'
    yield "</g>"


def _groups(executions: Sequence[Execution], scale: float) -> Iterator[list[Execution]]:
    """Put those together that end alike and are too short to be seen apart: thousands of boxes would be drawn else."""
    group: list[Execution] = []
    for one in executions:
        if one.ended <= one.started:
            continue
        near = group and (one.ended - group[-1].started) * scale < 1.5
        if near and _colour(one) == _colour(group[0]):
            group.append(one)
            continue
        if group:
            yield group
        group = [one]
    if group:
        yield group


def _colour(one: Execution) -> str:
    return CAUSE_COLOURS.get(str(one.cause), OTHER_COLOUR) if one.cause else GOOD_COLOUR


def _told(group: Sequence[Execution]) -> str:
    first, last = group[0], group[-1]
    how = str(first.cause) if first.cause else "nothing went wrong"
    lost = sum(one.spent.lost * one.nodes for one in group) / HOUR
    which = f"execution {first.submission}"
    if len(group) > 1:
        which = f"executions {first.submission} to {last.submission}"
    ran = rounded(sum(one.ended - one.started for one in group))
    return f"{which}, day {first.started / DAY:.2f}, ran {ran}, {how}; lost {lost:.1f} node-hours"
