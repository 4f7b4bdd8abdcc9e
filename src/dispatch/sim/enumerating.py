"""Every strike at every step of a short life, and every pair of strikes within a bound of steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from dispatch.sim.options import Line, Options, Outcome
from dispatch.sim.running import Mutant, run
from dispatch.sim.scenario import LENGTH, Kind, Scenario, Strike

SEED = 1
"""Whatever a scenario leaves to chance, the lengths of the ways of calls, is this seed's."""

ON_CLUSTER = (Kind.CRASH, Kind.PARTLY, Kind.HANG, Kind.POWER)
VERBS = ("start", "open", "stop", "hold", "release")


@dataclass(frozen=True)
class Case:
    """One run of a scenario with strikes, and what is wrong with it; empty where nothing is."""

    scenario: Scenario
    strikes: tuple[Strike, ...]
    wrong: str
    outcome: Outcome

    def __str__(self) -> str:
        strikes = ", ".join(map(str, self.strikes)) or "nothing strikes"
        return f"{self.scenario.name}; {strikes}: {self.wrong or 'no rule is broken'}"


def options_of(
    scenario: Scenario, strikes: tuple[Strike, ...], *, supervisors: int = 2, trace: bool = True
) -> Options:
    """The options under which a scenario is run."""
    return Options(
        supervisors=supervisors,
        jobs=1,
        only=frozenset(),
        storm=LENGTH,
        trace=trace,
        scenario=scenario,
        strikes=strikes,
    )


def play(
    scenario: Scenario, strikes: tuple[Strike, ...] = (), mutant: Mutant = nullcontext
) -> Case:
    """Play a scenario with these strikes."""
    outcome = run(SEED, options_of(scenario, strikes), mutant)
    wrong = str(outcome.violation or "")
    if not wrong and not scenario.ends.issuperset(outcome.ends):
        wrong = f"it ended as {', '.join(outcome.ends)}"
    return Case(scenario, strikes, wrong, outcome)


def enumerate_strikes(
    scenario: Scenario, *, pairs: int = 0, mutant: Mutant = nullcontext
) -> Iterator[Case]:
    """Play a scenario with each strike, and with each second strike at most ``pairs`` steps later."""
    calm = play(scenario, (), mutant)
    yield calm
    for strike in strikes_of(calm.outcome.trace):
        case = play(scenario, (strike,), mutant)
        yield case
        if pairs and not case.wrong:
            later = [
                line
                for line in case.outcome.trace
                if strike.step < line.step <= strike.step + pairs
            ]
            for second in strikes_of(later):
                yield play(scenario, (strike, second), mutant)


def strikes_of(lines: list[Line] | tuple[Line, ...]) -> Iterator[Strike]:
    """Every strike that makes a difference at these steps."""
    for line in lines:
        for kind in _kinds(line):
            yield Strike(line.step, kind)


def _kinds(line: Line) -> tuple[Kind, ...]:
    if line.who == "cluster":
        return ON_CLUSTER
    if "." not in line.who and "-" not in line.who:
        return (
            Kind.CRASH,
            Kind.PARTLY,
        )  # an event was written: what it rests on may be forgotten now
    words = line.what.split(" ")
    if line.what == "is dead":
        return ()
    if len(words) == 2 and words[1] in VERBS:
        return (Kind.DIE, Kind.LOST, Kind.LATE)
    return (Kind.DIE,)
