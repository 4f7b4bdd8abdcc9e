"""``dispatch dev sim``: hunts for a seed that breaks a rule, replays one, and makes it small."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import click

from dispatch.adapters.memory import ShapeName
from dispatch.cli.commands.dev_sim_asking import check_together
from dispatch.cli.commands.dev_sim_enumerating import tell_enumerated
from dispatch.cli.commands.dev_sim_mutants import tell_mutants
from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options, duration
from dispatch.cli.terminal import Cell, clean, emit, note, say, table, width
from dispatch.sim import Options, Outcome, Tally, hunt, run
from dispatch.sim.climates import CLIMATES
from dispatch.sim.coverage import missed
from dispatch.sim.shrinking import Shrunk, as_test, shrink, sizes
from dispatch.sim.unreached import UNREACHED


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
    help="Let one kind of fault come often; with as many jobs and supervisors as that needs.",
)
@click.option(
    "--storm",
    type=duration,
    metavar="TIME",
    help="How long things go wrong, in virtual time; 40m else, or what the climate needs.",
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
    context = click.get_current_context()
    check_together(context)
    group = cast("Common | None", context.obj)
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
        options = replace(
            options,
            climate=there.climate,
            storm=there.storm,
            jobs=max(options.jobs, there.jobs),
            supervisors=max(options.supervisors, there.supervisors),
        )
    if asked["storm"] is not None:
        options = replace(options, storm=asked["storm"])
    _check_labels(options)
    if asked["mutants"]:
        calm = asked["seeds"] if asked["calm"] else None
        return tell_mutants(calm, asked["workers"], as_json=as_json)
    if asked["scenario"] is not None:
        return tell_enumerated(asked["scenario"], asked["pairs"], as_json=as_json)
    if (seed := asked["seed"]) is not None:
        return _replay(seed, options, small=asked["small"], as_json=as_json)
    seeds = range(asked["first_seed"], asked["first_seed"] + asked["seeds"])
    return _hunt(seeds, options, asked["workers"], small=asked["small"], as_json=as_json)


def _check_labels(options: Options) -> None:
    """Refuse jobs that the world has not."""
    labels = {"k1", *(f"j{number}" for number in range(1, options.jobs + 1))}
    if unknown := sorted(options.absent - labels):
        raise click.UsageError(
            f"There is no job {unknown[0]!r} to leave out; there are j1 to j{options.jobs}, and k1 of another store."
        )


def _hunt(
    seeds: range, options: Options, workers: int | None, *, small: bool, as_json: bool
) -> int:
    """Run seeds up to the first that breaks a rule; at Ctrl-C what was done until then is told."""
    began, tally, interrupted = time.monotonic(), Tally(), False

    def keep(so_far: Tally) -> None:
        nonlocal tally
        tally = so_far
        show(so_far)

    with _bar(len(seeds), shown=not as_json and sys.stderr.isatty()) as show:
        try:
            hunt(seeds, options, workers=workers, on_progress=keep)
        except KeyboardInterrupt:
            interrupted = True
    _tell(tally, options, time.monotonic() - began, as_json=as_json, interrupted=interrupted)
    if tally.broken is not None and small:
        _make_small(tally.broken.seed, options, as_json=as_json)
    if interrupted:
        note(f"interrupted after {tally.seeds} of {len(seeds)} seeds")
        return Exit.INTERRUPTED
    return Exit.OK if tally.broken is None else Exit.ENDED_OTHERWISE


@contextmanager
def _bar(count: int, *, shown: bool) -> Generator[Callable[[Tally], None]]:
    """Draw a progress bar on standard error."""
    if not shown:
        yield lambda _: None
        return
    with click.progressbar(length=count, label="seeds", file=sys.stderr) as bar:
        yield lambda tally: bar.update(tally.seeds - bar.pos)


def replay_line(seed: int, options: Options) -> str:
    """The command line that replays a seed; where the faults are named, with these alone."""
    words = [f"dispatch dev sim --seed {seed} --shape {options.shape}"]
    words.append(f"--supervisors {options.supervisors} --jobs {options.jobs}")
    climates = {name: one for name, one in CLIMATES.items() if one.climate == options.climate}
    words += [f"--climate {name}" for name in climates]
    usual = [one.storm for one in climates.values()] or [Options.storm]
    if options.storm not in usual:
        words.append(f"--storm {options.storm.total_seconds():g}s")
    words += [] if options.faults else ["--calm"]
    words += [f"--without-job {label}" for label in sorted(options.absent)]
    if options.only is not None:  # no fault at all is one that none is called after
        words += [f"--only {shlex.quote(fault)}" for fault in sorted(options.only) or [""]]
    return " ".join(words)


def _tell(tally: Tally, options: Options, took: float, *, as_json: bool, interrupted: bool) -> None:
    """Tell what many seeds came to."""
    broken = tally.broken
    if as_json:
        emit(
            {
                "seeds": tally.seeds,
                "interrupted": interrupted,
                "steps": tally.steps,
                "virtualSeconds": round(tally.seconds, 3),
                "seconds": round(took, 3),
                "violation": None if broken is None else _as_document(broken, options),
                "ends": dict(tally.ends),
                "faults": dict(tally.faults),
                "excused": dict(tally.excused),
                "rows": dict(tally.rows),
                **(_reached(tally) if options.coverage else {}),
            }
        )
        return
    years = tally.seconds / 86_400 / 365.25
    found = "no rule is broken" if broken is None else "a rule is broken"
    say(
        f"{tally.seeds} seeds, {tally.steps} steps, {years:.2f} years of virtual time in {took:.0f} s: {found}"
    )
    for heading, counts in (
        ("JOBS ENDED AS", tally.ends),
        ("FAULTS", tally.faults),
        ("EXCUSED", tally.excused),
    ):
        say(["", *_counts(heading, counts)])
    if options.coverage:
        _tell_reached(tally)
    if broken is not None:
        say(["", f"{clean(str(broken.violation))}", replay_line(broken.seed, options)])


def _tell_reached(tally: Tally) -> None:
    """Tell which rows, moves and cases of the fold were reached; what was not is told apart from what cannot be."""
    for heading, counts in (("ROW", tally.rows), ("MOVE", tally.moves), ("FOLD", tally.cases)):
        say(["", *_counts(heading, counts)])
    left = missed(tally.reached)
    say(["", f"not reached in these seeds: {', '.join(left) or 'nothing'}"])
    why = [(Cell(name), Cell(reason)) for name, reason in sorted(UNREACHED.items())]
    say(["", *table(("REACHED BY NO SEED", "WHY"), why, width())])


def _reached(tally: Tally) -> dict[str, Any]:
    return {
        "moves": dict(tally.moves),
        "cases": dict(tally.cases),
        "missed": missed(tally.reached),
        "unreached": UNREACHED,
    }


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
        if missing := sorted((options.only or frozenset()) - {"", *outcome.faults}):
            say(f"asked for, and did not happen: {', '.join(map(clean, missing))}")
        say(clean(str(outcome.violation)) if outcome.violation else "no rule is broken")
    return Exit.OK if outcome.violation is None else Exit.ENDED_OTHERWISE


def _traced(options: Options) -> Options:
    return replace(options, trace=True)


def _make_small(seed: int, options: Options, *, as_json: bool) -> int:
    """Shrink a seed, and print the case as a test."""
    shrunk = shrink(seed, options)
    if as_json:
        emit({"shrunk": None if shrunk is None else _as_shrunk(shrunk)})
    elif shrunk is None:
        say(f"seed {seed} breaks no rule")
    else:
        say(["", f"{shrunk}:", "", as_test(shrunk)])
    return Exit.OK if shrunk is None else Exit.ENDED_OTHERWISE


def _as_shrunk(shrunk: Shrunk) -> dict[str, Any]:
    return {
        **_as_document(shrunk.outcome, shrunk.options),
        "runs": shrunk.runs,
        "whole": sizes(shrunk.whole),
        "small": sizes(shrunk.outcome),
        "test": as_test(shrunk),
    }
