"""``dispatch dev sim --mutants``: what becomes of named faults of dispatch itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import click

from dispatch.cli.exits import Exit
from dispatch.cli.terminal import Cell, clean, emit, note, say, table, width
from dispatch.sim.hunting_mutants import Hunted, hunt_mutants, mutant_names


def tell_mutants(calm: int | None, workers: int | None, *, as_json: bool) -> int:
    """Hunt every mutant, and tell how many seeds each took; ``calm``: without faults, so many seeds each.

    The exit code is 0 where all are found. Without faults most are not to be: it is 0 whatever is found then.
    """
    began, names = time.monotonic(), mutant_names()
    hunted: dict[str, Hunted] = {}
    interrupted = False
    with _bar(len(names), shown=not as_json and sys.stderr.isatty()) as show:

        def keep(one: Hunted) -> None:
            hunted[one.name] = one
            show()

        try:
            hunt_mutants(calm=calm, workers=workers, on_found=keep)
        except KeyboardInterrupt:
            interrupted = True
    done = [hunted[name] for name in names if name in hunted]
    if as_json:
        told = [{"name": one.name, "found": one.found, "seeds": one.seeds} for one in done]
        emit({"mutants": told, "interrupted": interrupted})
    else:
        _tell(done, time.monotonic() - began)
    if interrupted:
        note(f"interrupted after {len(done)} of {len(names)} mutants")
        return Exit.INTERRUPTED
    return Exit.OK if calm is not None or all(one.found for one in done) else Exit.ENDED_OTHERWISE


@contextmanager
def _bar(count: int, *, shown: bool) -> Generator[Callable[[], None]]:
    if not shown:
        yield lambda: None
        return
    with click.progressbar(length=count, label="mutants", file=sys.stderr) as bar:
        yield lambda: bar.update(1)


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
