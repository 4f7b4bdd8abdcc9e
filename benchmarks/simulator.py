# ruff: noqa: INP001  a script
"""Measure the simulator on one core: `python benchmarks/simulator.py [--seeds SEEDS]`.

Seeds and steps a second of processor time with every rule checked, what checking costs, and where the time goes: every few
milliseconds of processor time it is noted which part of dispatch is at work, down to what it calls of Python.
"""

from __future__ import annotations

import argparse
import inspect
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import dispatch
from dispatch.adapters.memory import ShapeName
from dispatch.sim import Options, invariants, rules, run

AIM = 10_000
"""Steps a second, on one core."""
STANDARD = 10_000
"""Seeds of which the time is told."""
EVERY = 0.001
"""Seconds of processor time between two looks at what is at work; the system may make it some more."""
PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("fold", ("core/folding", "core/automaton", "core/sighting")),
    ("next_step and its rows", ("core/",)),
    ("rules", ("sim/invariants", "sim/rules", "sim/history", "sim/liveness")),
    ("records in memory", ("sim/records", "sim/disk", "sim/upgrading", "stores/")),
    ("wire and chance", ("sim/wire", "sim/weather", "sim/chance", "testing/loop/mixing")),
    ("the rest of the simulator", ("sim/",)),
    ("memory adapter", ("adapters/memory",)),
    ("loop in virtual time", ("testing/loop",)),
    ("codec", ("model/codec",)),
    ("engine, ledger, supervisor, operator", ("shell/",)),
)
"""What there is, by its files; the first that fits. All else is counted to what has called it."""
SOURCES = str(Path(dispatch.__file__).parent) + "/"


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def part_of(frame: FrameType | None) -> str:
    """The part that is at work."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(SOURCES):
            place = name.removeprefix(SOURCES)
            for part, beginnings in PARTS:
                if place.startswith(beginnings):
                    return part
        frame = frame.f_back
    return "else"


@contextmanager
def watched(found: Counter[str]) -> Generator[None]:
    """Note inside, again and again, which part is at work."""

    def look(_: int, frame: FrameType | None) -> None:
        found[part_of(frame)] += 1

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def unchecked() -> Generator[None]:
    """Check no rule inside: what would tell of a broken one tells nothing, and the tables of rules are empty."""
    kept: list[tuple[ModuleType, str, Any]] = []
    for module in (invariants, rules):
        for name, value in list(vars(module).items()):
            new: Any = () if name.startswith("ON_") else _silent(value)
            if new is not None:
                kept.append((module, name, value))
                setattr(module, name, new)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def _silent(value: object) -> Callable[..., None] | None:
    if inspect.isfunction(value) and value.__annotations__.get("return") == "str | None":
        return lambda *_, **__: None
    return None


def measure(seeds: int, shape: ShapeName) -> float:
    """Tell how long the seeds take, checked and not, in turns; answers seconds of processor time for a seed, checked."""
    options = Options(shape=shape)
    checked: list[float] = []
    alone: list[float] = []
    steps = 0
    for seed in range(seeds):
        began = time.process_time()
        steps += run(seed, options).steps
        checked.append(time.process_time() - began)
        with unchecked():
            began = time.process_time()
            run(seed, options)
            alone.append(time.process_time() - began)
    took = sum(checked)
    say(
        f"{shape}: {steps / took:.0f} steps/s (aim {AIM}), {seeds / took:.1f} seeds/s, {steps / seeds:.0f} steps a seed,"
        f" median {statistics.median(checked) * 1000:.0f} ms, slowest {max(checked) * 1000:.0f} ms a seed;"
        f" {took / sum(alone):.2f} times as long as with no rule checked"
    )
    return took / seeds


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the simulator.")
    parser.add_argument("--seeds", type=int, default=200)
    asked = parser.parse_args()
    run(0)  # whatever is made once
    each = [measure(asked.seeds, shape) for shape in ShapeName]
    whole = STANDARD * statistics.mean(each) / 2
    say(f"{STANDARD} standard seeds on two cores that are free: {whole / 60:.1f} min (aim 10)")
    found: Counter[str] = Counter()
    with watched(found):
        for seed in range(asked.seeds):
            run(seed)
    total = found.total() or 1
    for part, times in found.most_common():
        say(f"  {100 * times / total:>5.1f} %  {part}")


if __name__ == "__main__":
    main()
