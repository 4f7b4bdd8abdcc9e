"""``dispatch dev sim --mutants``: what becomes of named faults of dispatch itself."""

from __future__ import annotations

import sys
import time

import click

from dispatch.cli.exits import Exit
from dispatch.cli.terminal import Cell, clean, emit, say, table, width
from dispatch.sim.hunting_mutants import Hunted, hunt_mutants, mutant_names


def tell_mutants(calm: int | None, workers: int | None, *, as_json: bool) -> int:
    """Hunt every mutant, and tell how many seeds each took; ``calm``: without faults, so many seeds each.

    The exit code is 0 where all are found. Without faults most are not to be: it is 0 whatever is found then.
    """
    began = time.monotonic()
    if as_json or not sys.stderr.isatty():
        hunted = hunt_mutants(calm=calm, workers=workers)
    else:
        names = mutant_names()
        with click.progressbar(length=len(names), label="mutants", file=sys.stderr) as bar:
            hunted = hunt_mutants(calm=calm, workers=workers, on_found=lambda _: bar.update(1))
    if as_json:
        emit(
            {
                "mutants": [
                    {"name": one.name, "found": one.found, "seeds": one.seeds} for one in hunted
                ]
            }
        )
    else:
        _tell(hunted, time.monotonic() - began)
    return Exit.OK if calm is not None or all(one.found for one in hunted) else Exit.ENDED_OTHERWISE


def _tell(hunted: list[Hunted], took: float) -> None:
    rows = [
        (
            Cell(one.rule),
            Cell(one.name),
            Cell(str(one.seeds) if one.found else "not found"),
            Cell(str(one.within)),
            Cell(clean(one.what.partition(" at step ")[0])),
        )
        for one in hunted
    ]
    found = sum(one.found for one in hunted)
    say(table(("BREAKS", "MUTANT", "SEEDS", "WITHIN", "FOUND AS"), rows, width()))
    say(["", f"{found} of {len(hunted)} mutants were found, in {took:.0f} s"])
