"""``dispatch dev sim``: hunts for a seed that breaks a rule, replays one, and makes it small."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import click

from dispatch.adapters.memory import ShapeName
from dispatch.cli.commands.dev_sim_mutants import tell_mutants
from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options
from dispatch.cli.terminal import Cell, clean, emit, say, table, width
from dispatch.model.errors import Invalid
from dispatch.sim import Options, Outcome, Tally, hunt, run
from dispatch.sim.climates import CLIMATES
from dispatch.sim.coverage import all_moves, all_rows
from dispatch.sim.enumerating import Case, enumerate_strikes
from dispatch.sim.scenario import SCENARIOS
from dispatch.sim.shrinking import Shrunk, as_test, shrink


@click.command("sim")
@click.option("--seeds", type=click.IntRange(1), default=1000, metavar="N", help="Run N seeds.")
@click.option(
    "--first-seed", type=click.IntRange(0), default=0, metavar="F", help="The first of them."
)
@click.option(
    "--shape",
    type=click.Choice([shape.value for shape in ShapeName]),
    default=ShapeName.SLURM.value,
    metavar="SHAPE",
    help="How the cluster behaves: slurm or kubeflow.",
)
@click.option(
    "--supervisors", type=click.IntRange(1, 8), default=2, metavar="N", help="N supervisors."
)
@click.option("--jobs", type=click.IntRange(1, 20), default=3, metavar="N", help="N jobs.")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="N processes; all cores else.")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Replay one seed, with a trace.")
@click.option(
    "--stop-at", type=click.IntRange(1), metavar="K", help="With --seed: stop after step K."
)
@click.option(
    "--only",
    multiple=True,
    metavar="FAULT",
    help="With --seed: let the faults of these names alone happen.",
)
@click.option(
    "--without-job", multiple=True, metavar="LABEL", help="With --seed: nobody submits j1."
)
@click.option(
    "--climate",
    type=click.Choice(sorted(CLIMATES)),
    metavar="NAME",
    help="Let one kind of fault come often; with as many jobs as that needs.",
)
@click.option("--calm", is_flag=True, help="No faults at all.")
@click.option("--shrink", "small", is_flag=True, help="Make a seed that breaks a rule small.")
@click.option(
    "--enumerate",
    "scenario",
    metavar="NAME",
    help="Instead: strike at every step of this scenario, or of all of them.",
)
@click.option(
    "--pairs",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="With --enumerate: strike twice, at most N steps apart.",
)
@click.option(
    "--mutants",
    is_flag=True,
    help="Instead: hunt named faults of dispatch itself; with --calm each for N seeds.",
)
@click.option("--coverage", is_flag=True, help="List what was not reached.")
@common_options
def sim(common: Common, **asked: Any) -> int:
    """Hunt for a seed that breaks a rule, or replay one.

    Whole sites are simulated: clusters, people, supervisors, and everything that can go wrong, each drawn from one seed. S1
    to S9 are checked after every step, liveness at the end. The exit code is 1 where a rule is broken.
    """
    group = cast("Common | None", click.get_current_context().obj)
    as_json = common.as_json or (group is not None and group.as_json)
    options = Options(
        shape=ShapeName(asked["shape"]),
        supervisors=asked["supervisors"],
        jobs=asked["jobs"],
        faults=not asked["calm"],
        absent=frozenset(asked["without_job"]),
        only=frozenset(asked["only"]) or None,
        stop_at=asked["stop_at"],
        coverage=asked["coverage"],
    )
    if (climate := asked["climate"]) is not None:
        there = CLIMATES[climate]
        jobs = max(options.jobs, there.jobs)
        options = replace(options, climate=there.climate, storm=there.storm, jobs=jobs)
    if asked["mutants"]:
        calm = asked["seeds"] if asked["calm"] else None
        return tell_mutants(calm, asked["workers"], as_json=as_json)
    if asked["scenario"] is not None:
        return _enumerate(asked["scenario"], asked["pairs"], as_json=as_json)
    if (seed := asked["seed"]) is not None:
        return _replay(seed, options, small=asked["small"], as_json=as_json)
    seeds = range(asked["first_seed"], asked["first_seed"] + asked["seeds"])
    began = time.monotonic()
    with _bar(len(seeds), shown=not as_json and sys.stderr.isatty()) as show:
        tally = hunt(seeds, options, workers=asked["workers"], on_progress=show)
    _tell(tally, options, time.monotonic() - began, as_json=as_json)
    if tally.broken is None:
        return Exit.OK
    if asked["small"]:
        _make_small(tally.broken.seed, options, as_json=as_json)
    return Exit.ENDED_OTHERWISE


@contextmanager
def _bar(count: int, *, shown: bool) -> Generator[Callable[[Tally], None]]:
    """Draw a progress bar on standard error."""
    if not shown:
        yield lambda _: None
        return
    with click.progressbar(length=count, label="seeds", file=sys.stderr) as bar:
        yield lambda tally: bar.update(tally.seeds - bar.pos)


def replay_line(seed: int, options: Options) -> str:
    """The command line that replays a seed."""
    words = [f"dispatch dev sim --seed {seed} --shape {options.shape}"]
    words.append(f"--supervisors {options.supervisors} --jobs {options.jobs}")
    words += [
        f"--climate {name}" for name, one in CLIMATES.items() if one.climate == options.climate
    ]
    words += [f"--without-job {label}" for label in sorted(options.absent)]
    return " ".join(words)


def _tell(tally: Tally, options: Options, took: float, *, as_json: bool) -> None:
    """Tell what many seeds came to."""
    broken = tally.broken
    missed = _missed(tally, options)
    if as_json:
        emit(
            {
                "seeds": tally.seeds,
                "steps": tally.steps,
                "virtualSeconds": round(tally.seconds, 3),
                "seconds": round(took, 3),
                "violation": None if broken is None else _as_document(broken, options),
                "ends": dict(tally.ends),
                "faults": dict(tally.faults),
                "excused": dict(tally.excused),
                "rows": dict(tally.rows),
                "missed": missed,
            }
        )
        return
    years = tally.seconds / 86_400 / 365.25
    say(
        f"{tally.seeds} seeds, {tally.steps} steps, {years:.2f} years of virtual time in {took:.0f} s"
    )
    for heading, counts in (
        ("JOBS ENDED AS", tally.ends),
        ("FAULTS", tally.faults),
        ("EXCUSED", tally.excused),
    ):
        say(["", *_counts(heading, counts)])
    if options.coverage:
        say(
            [
                "",
                *_counts("ROW", tally.rows),
                "",
                "not reached: " + (", ".join(missed) or "nothing"),
            ]
        )
    if broken is not None:
        say(["", f"{clean(str(broken.violation))}", replay_line(broken.seed, options)])


def _missed(tally: Tally, options: Options) -> list[str]:
    if not options.coverage:
        return []
    return sorted([*(all_rows() - tally.rows.keys()), *(all_moves() - tally.moves.keys())])


def _counts(heading: str, counts: Counter[str]) -> list[str]:
    rows = [(Cell(str(count)), Cell(name)) for name, count in counts.most_common()]
    return table(("COUNT", heading), rows, width()) if rows else [f"{heading}: none"]


def _as_document(outcome: Outcome, options: Options) -> dict[str, Any]:
    violation = outcome.violation
    return {
        "seed": outcome.seed,
        "rule": violation.rule if violation else None,
        "what": violation.what if violation else None,
        "step": violation.step if violation else outcome.steps,
        "faults": list(outcome.faults),
        "replay": replay_line(outcome.seed, options),
    }


def _replay(seed: int, options: Options, *, small: bool, as_json: bool) -> int:
    """Run one seed with its trace, and dump the records and the ground truth."""
    if small:
        return _make_small(seed, options, as_json=as_json)
    outcome = run(seed, _traced(options))
    if as_json:
        emit(
            {
                "seed": seed,
                "steps": outcome.steps,
                "violation": _as_document(outcome, options) if outcome.violation else None,
                "trace": [
                    {"step": line.step, "seconds": line.seconds, "who": line.who, "what": line.what}
                    for line in outcome.trace
                ],
            }
        )
    else:
        say([clean(str(line)) for line in outcome.trace])
        say(["", *(clean(line) for line in outcome.dump.splitlines()), ""])
        say(f"faults: {', '.join(outcome.faults) or 'none'}")
        say(clean(str(outcome.violation)) if outcome.violation else "no rule is broken")
    return Exit.OK if outcome.violation is None else Exit.ENDED_OTHERWISE


def _traced(options: Options) -> Options:
    return replace(options, trace=True)


def _enumerate(name: str, pairs: int, *, as_json: bool) -> int:
    """Strike at every step of a scenario, or of all."""
    if name != "all" and name not in SCENARIOS:
        known = "; ".join(SCENARIOS)
        raise Invalid(f"There is no scenario {name!r}.", todo=f"Take all, or one of: {known}.")
    broken: list[Case] = []
    counts: dict[str, int] = {}
    for scenario in SCENARIOS.values() if name == "all" else (SCENARIOS[name],):
        counts[scenario.name] = 0
        for case in enumerate_strikes(scenario, pairs=pairs):
            counts[scenario.name] += 1
            if case.wrong:
                broken.append(case)
                if not as_json:
                    say(clean(str(case)))
    if as_json:
        emit({"cases": counts, "violations": [str(case) for case in broken]})
    else:
        rows = [(Cell(str(count)), Cell(scenario)) for scenario, count in counts.items()]
        say(table(("CASES", "SCENARIO"), rows, width()))
        say(["", f"{sum(counts.values())} cases, {len(broken)} of them break a rule"])
    return Exit.ENDED_OTHERWISE if broken else Exit.OK


def _make_small(seed: int, options: Options, *, as_json: bool) -> int:
    """Shrink a seed, and print the case as a test."""
    shrunk = shrink(seed, options)
    if as_json:
        emit({"shrunk": None if shrunk is None else _as_shrunk(shrunk)})
    elif shrunk is None:
        say(f"seed {seed} breaks no rule")
    else:
        count = len(shrunk.outcome.faults)
        say(["", f"made small in {shrunk.runs} runs, to {count} faults:", "", as_test(shrunk)])
    return Exit.OK if shrunk is None else Exit.ENDED_OTHERWISE


def _as_shrunk(shrunk: Shrunk) -> dict[str, Any]:
    return {
        **_as_document(shrunk.outcome, shrunk.options),
        "runs": shrunk.runs,
        "test": as_test(shrunk),
    }
