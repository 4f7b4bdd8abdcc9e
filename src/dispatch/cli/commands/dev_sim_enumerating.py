"""``dispatch dev sim --enumerate``: every strike at every step of short lives, and how many that are."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from dispatch.cli.exits import Exit
from dispatch.cli.terminal import Cell, clean, emit, note, say, table, width
from dispatch.model.errors import Invalid
from dispatch.sim.enumerating import Case, enumerate_strikes
from dispatch.sim.scenario import SCENARIOS, Scenario


@dataclass
class Count:
    """What became of one scenario: the steps of its undisturbed life, and the lives with one strike and with two."""

    steps: int = 0
    single: int = 0
    pairs: int = 0
    seconds: float = 0.0
    wrong: list[Case] = field(default_factory=list[Case])

    def add(self, case: Case) -> None:
        """Count a life."""
        match len(case.strikes):
            case 0:
                self.steps = case.outcome.steps
            case 1:
                self.single += 1
            case _:
                self.pairs += 1
        if case.wrong:
            self.wrong.append(case)


def tell_enumerated(name: str, pairs: int, *, as_json: bool) -> int:
    """Strike at every step of a scenario, or of all; at Ctrl-C what was done until then is told."""
    counts: dict[str, Count] = {}
    interrupted = False
    try:
        for scenario in _named(name):
            _count(scenario, pairs, counts, as_json=as_json)
    except KeyboardInterrupt:
        interrupted = True
    wrong = [str(case) for count in counts.values() for case in count.wrong]
    if as_json:
        emit(
            {
                "scenarios": [
                    {
                        "name": one,
                        "steps": count.steps,
                        "strikes": count.single,
                        "pairs": count.pairs,
                        "seconds": count.seconds,
                        "wrong": len(count.wrong),
                    }
                    for one, count in counts.items()
                ],
                "cases": {one: 1 + count.single + count.pairs for one, count in counts.items()},
                "violations": wrong,
                "interrupted": interrupted,
            }
        )
    else:
        _tell(counts, len(wrong))
    if interrupted:
        note("interrupted: what is above is not all")
        return Exit.INTERRUPTED
    return Exit.ENDED_OTHERWISE if wrong else Exit.OK


def _named(name: str) -> list[Scenario]:
    if name == "all":
        return list(SCENARIOS.values())
    if name not in SCENARIOS:
        known = "; ".join(SCENARIOS)
        raise Invalid(f"There is no scenario {name!r}.", todo=f"Take all, or one of: {known}.")
    return [SCENARIOS[name]]


def _count(scenario: Scenario, pairs: int, counts: dict[str, Count], *, as_json: bool) -> None:
    count = counts[scenario.name] = Count()
    began = time.monotonic()
    for case in enumerate_strikes(scenario, pairs=pairs):
        count.add(case)
        count.seconds = round(time.monotonic() - began, 3)
        if case.wrong and not as_json:
            say(clean(str(case)))


def _tell(counts: dict[str, Count], wrong: int) -> None:
    rows = [
        (
            Cell(scenario),
            *(Cell(str(number)) for number in (one.steps, one.single, one.pairs)),
            Cell(f"{one.seconds:.1f}"),
        )
        for scenario, one in counts.items()
    ]
    say(table(("SCENARIO", "STEPS", "STRIKES", "PAIRS", "SECONDS"), rows, width()))
    cases = sum(1 + one.single + one.pairs for one in counts.values())
    say(["", f"{cases} cases, {wrong} of them break a rule"])
