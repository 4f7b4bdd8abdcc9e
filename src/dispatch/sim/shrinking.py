"""Make a failing seed small: leave out jobs, faults and steps for as long as the same rule is still broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta

from dispatch.sim.climate import MIXED
from dispatch.sim.options import Options, Outcome
from dispatch.sim.running import Mutant, run

MOST_RUNS = 400
"""Runs that a shrinking takes at most."""
SHORTEST = timedelta(minutes=1)
"""Below this a storm is not made shorter."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest case that was found: its options, its outcome, and how many runs that took; ``whole`` is what the seed came to at first."""

    seed: int
    options: Options
    outcome: Outcome
    runs: int
    whole: Outcome

    def __str__(self) -> str:
        before, after = sizes(self.whole), sizes(self.outcome)
        sizes_told = (f"{before[name]} {name} to {after[name]}" for name in before)
        return f"made small in {self.runs} runs: {', '.join(sizes_told)}"


def sizes(outcome: Outcome) -> dict[str, int]:
    """How large a case is: the jobs that were submitted, the faults that happened, and the steps until the rule was broken."""
    violation = outcome.violation
    return {
        "jobs": outcome.ends.total(),
        "faults": len(outcome.faults),
        "steps": violation.step if violation else outcome.steps,
    }


class _Attempts:
    """Runs smaller cases, and keeps the smallest that still breaks the rule."""

    def __init__(self, seed: int, options: Options, outcome: Outcome, mutant: Mutant) -> None:
        self.seed = seed
        self.options = options
        self.outcome = outcome
        self.mutant = mutant
        self.runs = 0

    def succeeds(self, options: Options, *, sooner: bool = False) -> bool:
        """Whether a case breaks the same rule, ``sooner``: in fewer steps; if so it is the smallest so far."""
        if self.runs >= MOST_RUNS:
            return False
        self.runs += 1
        outcome = run(self.seed, options, self.mutant)
        before, now = self.outcome.violation, outcome.violation
        if before is None or now is None or now.rule != before.rule:
            return False
        if sooner and now.step >= before.step:
            return False
        self.options, self.outcome = options, outcome
        return True


def shrink(
    seed: int,
    options: Options,
    mutant: Mutant = nullcontext,
    on_progress: Callable[[Options], object] = lambda _: None,
) -> Shrunk | None:
    """Shrink a seed that breaks a rule; ``None`` where it breaks none."""
    outcome = run(seed, options, mutant)
    if outcome.violation is None:
        return None
    tried = _Attempts(seed, options, outcome, mutant)
    tried.succeeds(replace(options, only=frozenset(outcome.faults)))
    if outcome.violation.rule == "liveness":  # most of a run that never rests is the wait for it
        tried.succeeds(replace(tried.options, patience=tried.options.patience / 4))
    while True:
        before = tried.options
        _drop_jobs(tried)
        _drop_supervisors(tried)
        _drop_faults(tried, lambda: on_progress(tried.options))
        _shorten(tried)
        if tried.options == before:
            break
    return Shrunk(seed, tried.options, tried.outcome, tried.runs, outcome)


def _drop_jobs(tried: _Attempts) -> None:
    for label in ("k1", *(f"j{number}" for number in range(1, tried.options.jobs + 1))):
        absent = tried.options.absent | {label}
        if label not in tried.options.absent:
            tried.succeeds(replace(tried.options, absent=absent))


def _drop_supervisors(tried: _Attempts) -> None:
    while tried.options.supervisors > 1:
        if not tried.succeeds(replace(tried.options, supervisors=tried.options.supervisors - 1)):
            break


def _shorten(tried: _Attempts) -> None:
    """Let the faults cease sooner. That moves all that is drawn over the whole time, so it is kept only where it saves steps."""
    while tried.options.storm > SHORTEST:
        if not tried.succeeds(replace(tried.options, storm=tried.options.storm / 2), sooner=True):
            break


def _drop_faults(tried: _Attempts, report: Callable[[], object]) -> None:
    """Delta debugging (Zeller and Hildebrandt, 2002): leave out halves, then quarters, down to single faults."""
    parts = 2
    while True:
        faults = _in_order(tried)
        size = max(1, len(faults) // parts)
        chunks = [faults[start : start + size] for start in range(0, len(faults), size)]
        for chunk in chunks:
            left = frozenset(faults) - frozenset(chunk)
            if chunk and tried.succeeds(replace(tried.options, only=left)):
                report()
                break
        else:
            if size == 1:
                return
            parts *= 2
            continue
        parts = max(parts - 1, 2)


def _in_order(tried: _Attempts) -> list[str]:
    """The faults of the smallest case; those that it names and that no longer happen are left out."""
    return list(dict.fromkeys(tried.outcome.faults))


def as_test(shrunk: Shrunk) -> str:
    """The case as a test, ready for a file."""
    options, violation = shrunk.options, shrunk.outcome.violation
    what = str(violation).replace("\n", " ")
    faults = "".join(f"                {name!r},\n" for name in sorted(options.only or ()))
    lines = [
        *_IMPORTS,
        f"def test_seed_{shrunk.seed}_breaks_no_rule() -> None:",
        f"    # {what}",
        "    options = Options(",
        *(f"        {line}," for line in _fields(options)),
        f"        only=frozenset(\n            {{\n{faults}            }}\n        ),"
        if faults
        else "        only=frozenset(),",
        "    )",
        f"    outcome = run({shrunk.seed}, options)",
        "    assert outcome.violation is None, str(outcome.violation)",
    ]
    return "\n".join(lines)


_IMPORTS = (
    "from datetime import timedelta",
    "",
    "from dispatch.adapters.memory import ShapeName",
    "from dispatch.sim import Options, run",
    "from dispatch.sim.climate import Climate",
    "",
    "",
)


def _fields(options: Options) -> Iterable[str]:
    yield f"shape=ShapeName.{options.shape.name}"
    yield f"supervisors={options.supervisors}"
    yield f"jobs={options.jobs}"
    for name in ("storm", "patience"):
        length: timedelta = getattr(options, name)
        if length != getattr(Options, name):
            yield f"{name}=timedelta(seconds={length.total_seconds():g})"
    if options.climate != MIXED:
        yield f"climate={options.climate!r}"
    if options.absent:
        names = ", ".join(map(repr, sorted(options.absent)))
        yield f"absent=frozenset({{{names}}})"
