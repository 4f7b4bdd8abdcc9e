"""Reports as tables and sentences, for a terminal and for a page alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dispatch.model.quantity import Duration
from dispatch.whatif.conditions import ZERO, Conditions
from dispatch.whatif.measures import Figure, Summary
from dispatch.whatif.reporting import Report
from dispatch.whatif.tally import TIMES
from dispatch.whatif.weather import LONGEST_MS, Source

WORDS = {
    "useful": "useful work, kept",
    "lost": "work lost, done again",
    "checkpointing": "saving",
    "restarting": "starting up, before the first new step",
    "hanging": "hanging on a lost node",
    "queued": "in the queue",
    "noticing": "noticing an end, and being sure of it",
    "proof": "waiting for proof that the last copy is gone",
    "backoff": "backing off",
    "held": "held, for a person",
    "waiting": "waiting for what does not come",
    "over": "after the job had ended",
}
OUTCOMES = {
    "finished": "finished",
    "failed": "given up",
    "held": "held for a person",
    "waiting": "waiting for ever",
    "running": "still going on",
    "endless": "cut off",
}

FEW = 5
"""Failures in a history, below which their mean is a guess: of four it may be out by half."""


class Sheet(NamedTuple):
    """A table: its title, its headings, its rows of text."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sheets(reports: Sequence[Report]) -> list[Sheet]:
    """Lay out the reports: what compares them first, then what each is made of."""
    names = tuple(one.name for one in reports)
    found = [
        Sheet("What came of it", ("", *names), tuple(_results(reports))),
        Sheet("Where the time went", ("share of the time", *names), tuple(_times(reports))),
    ]
    for one in reports:
        of = f": {one.name}" if len(reports) > 1 else ""
        found += [_causes(one.summary, of), _rules(one.summary, of), _budgets(one.summary, of)]
    return [sheet for sheet in found if sheet.rows]


def _results(reports: Sequence[Report]) -> Iterator[tuple[str, ...]]:
    summaries = [one.summary for one in reports]
    yield ("effective training time ratio", *(percent(one.ettr.mean) for one in summaries))
    yield (
        "  in 8 of 10 seeds",
        *(f"{percent(one.ettr.p10)} to {percent(one.ettr.p90)}" for one in summaries),
    )
    yield (
        "executions",
        *(
            f"{one.executions.mean:.1f} ({one.executions.p10:.0f} to {one.executions.p90:.0f})"
            for one in summaries
        ),
    )
    yield (
        "node-hours lost",
        *(f"{sum(lost_node_hours(one).values()):.0f}" for one in summaries),
    )
    for outcome, words in OUTCOMES.items():
        counts = [
            sum(row.seeds for row in one.endings if row.outcome == outcome) for one in summaries
        ]
        if any(counts):
            yield (
                words,
                *(
                    f"{count} of {one.seeds} seeds"
                    for count, one in zip(counts, summaries, strict=True)
                ),
            )


def lost_node_hours(summary: Summary) -> dict[str, float]:
    """The node-hours that were had and came to nothing, in the mean over the seeds."""
    return {name: hours for name, hours in summary.node_hours.items() if name != "useful"}


def _times(reports: Sequence[Report]) -> Iterator[tuple[str, ...]]:
    totals = [sum(one.summary.hours.values()) or 1.0 for one in reports]
    for name in TIMES:
        shares = [
            one.summary.hours[name] / total for one, total in zip(reports, totals, strict=True)
        ]
        if any(shares):
            yield WORDS[name], *map(percent, shares)


def _causes(summary: Summary, of: str) -> Sheet:
    heads = ("cause", "times", "node-h lost", "node-h hung", "node-h restarting", "hours waited")
    rows = tuple((row.cause, *(f"{number:.1f}" for number in row[1:])) for row in summary.causes)
    return Sheet(f"What ended executions, and its cost (means){of}", heads, rows)


def _rules(summary: Summary, of: str) -> Sheet:
    rows = tuple(
        (
            str(row.rule),
            ", ".join(row.causes),
            row.action,
            f"{row.uses.mean:.1f}",
            row.limit or "-",
            _used_up(row.used_up, summary.seeds, row.day),
        )
        for row in summary.rules
    )
    return Sheet(
        f"What each rule did{of}", ("rule", "when", "did", "times", "limit", "limit reached"), rows
    )


def _budgets(summary: Summary, of: str) -> Sheet:
    rows = tuple(
        (
            f"limits.{row.name}",
            f"{row.charged.mean:.1f}",
            str(row.limit),
            _used_up(row.used_up, summary.seeds, row.day),
        )
        for row in summary.budgets
    )
    return Sheet(f"Budgets{of}", ("budget", "charged", "limit", "limit reached"), rows)


def _used_up(seeds: int, of: int, day: Figure | None) -> str:
    if day is None:
        return "never"
    few, half, most = (f"{one:.1f}" for one in (day.p10, day.p50, day.p90))
    spread = "" if few == most else f" ({few} to {most})"
    return f"in {seeds} of {of} seeds, on day {half}{spread}"


def _on_days(day: Figure) -> str:
    half, most = f"{day.p50:.1f}", f"{day.p90:.1f}"
    if half == most:
        return f"on day {half}"
    return f"on day {half} in half of them, by day {most} in nine of ten"


def percent(share: float) -> str:
    """Write a share: 93.4 %."""
    return f"{100 * share:.1f} %"


# --- sentences


def sentences(one: Report) -> list[str]:
    """Tell how runs ended badly, and what would do better."""
    return [*_endings(one.summary), *_limits(one.summary), *_advice(one)]


def _endings(summary: Summary) -> Iterator[str]:
    for row in summary.endings:
        if row.outcome in ("finished", "running"):
            continue
        because = f": {row.why}" if row.why else ""
        yield (
            f"{OUTCOMES[row.outcome]} in {row.seeds} of {summary.seeds} seeds, {_on_days(row.day)}{because}"
        )


def _limits(summary: Summary) -> Iterator[str]:
    """Where jobs end badly, tell whose limit is used up in most seeds: that is what to raise."""
    if all(row.outcome in ("finished", "running") for row in summary.endings):
        return
    limits = [
        (f"rule {row.rule} ({', '.join(row.causes)})", row.limit, row.used_up, row.day)
        for row in summary.rules
    ]
    limits += [
        (f"limits.{row.name}", str(row.limit), row.used_up, row.day) for row in summary.budgets
    ]
    for name, limit, used_up, day in limits:
        if day is not None and used_up > summary.seeds / 2:
            yield (
                f"{name} has used up its limit of {limit} in {used_up} of {summary.seeds} seeds, {_on_days(day)}"
            )


def _advice(one: Report) -> Iterator[str]:
    every = one.conditions.program.checkpoint_every
    if one.advised is None:
        return
    advice = one.advised.advice
    yield (
        f"what is not saved is lost every {rounded(advice.mtbf)} of running; the best interval between checkpoints is then"
        f" {rounded(advice.daly)} (Daly; {rounded(advice.young)} by Young) and would give a ratio of"
        f" {percent(one.advised.ratio_daly)}, where {every or 'no saving at all'} gives {percent(one.advised.ratio_now)}"
    )


def rounded(ms: int) -> str:
    """Write a duration to two units at the most: 2d5h, 31m, 45s."""
    for unit, smaller in ((86_400_000, 3_600_000), (3_600_000, 60_000), (60_000, 1_000)):
        if ms >= 10 * unit:
            return str(Duration.of_ms(ms // unit * unit))
        if ms >= unit:
            return str(Duration.of_ms(ms // smaller * smaller))
    return str(Duration.of_ms(ms))


# --- the conditions


def told_conditions(conditions: Conditions) -> list[str]:
    """Tell under which conditions it was simulated: everything that the figures rest on."""
    program, spares = conditions.program, conditions.spares
    every, cost = program.checkpoint_every, program.checkpoint_cost
    lines = [*map(told_source, conditions.sources)]
    if any(one.per_node for one in conditions.sources):
        beside = "as many again" if spares is None else f"{spares}"
        lines.append(
            f"a lost node is silent for {conditions.node_timeout} before the scheduler ends the job, and answers again"
            f" {conditions.repair} after its loss; spare nodes: {beside}"
        )
    waits = conditions.queue_wait or {"": ZERO}
    lines += [f"in the queue{_in(name)}: {wait} before each start" for name, wait in waits.items()]
    saving = "the program never saves" if every is None else f"it saves every {every}, for {cost}"
    lines.append(f"{saving}; {program.restart_cost} from a start to the first new step")
    if program.saves_when_preempted:
        lines.append("it saves when it is preempted")
    if program.exit_on_signal is not None:
        lines.append(
            f"it saves at the signal before its time limit and exits {program.exit_on_signal}"
        )
    person = conditions.person_after
    lines.append(f"a hold is released {f'after {person}' if person else 'by nobody'}")
    work = f"{conditions.work} of work, " if conditions.work else ""
    return [*lines, f"{work}at most {conditions.horizon}"]


def _in(partition: str | None) -> str:
    return f" of partition {partition}" if partition else ""


def told_source(one: Source) -> str:
    """Tell of one kind of failure how often it strikes."""
    code = f" {one.detail.exit_code}" if one.detail.exit_code is not None else ""
    each = " of each node" if one.per_node else ""
    what = f"{one.cause}{code}{_in(one.partition)}"
    if one.mean is not None:
        return f"{what}: once in {one.mean}{each}, at random"
    times = sum(gap.happened for gap in one.gaps)
    if not times:
        return f"{what}: never"
    mean = rounded(min(round(one.mean_ms), LONGEST_MS))
    few = " (too few to rely on)" if times < FEW else ""
    return f"{what}: {times} in the history{few}, once in {mean}{each}"
