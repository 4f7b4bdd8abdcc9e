"""A fixed share of seeds that reaches everything which any is known to reach, for the test of coverage; it is chosen again with

    PYTHONPATH=tests python -m sim.sharing --mixed 400 --each 40

Seeds are deterministic, but a change of the simulator or of the core moves what the rare ones meet.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dispatch.adapters.memory import ShapeName
from dispatch.sim import Options, Outcome, run
from dispatch.sim.climates import CLIMATES
from dispatch.sim.coverage import missed
from dispatch.sim.options import reached_by
from dispatch.sim.unreached import UNREACHED

PLACE = Path(__file__).parent / "share.json"
TIMES = 3
"""Each name is reached by so many runs of the share, where there are as many: one that moves costs nothing then."""


@dataclass(frozen=True)
class One:
    """One run of the share; no climate is mixed weather."""

    climate: str
    shape: str
    seed: int

    def run(self) -> Outcome:
        """Run it."""
        options = CLIMATES[self.climate] if self.climate else Options()
        return run(self.seed, replace(options, shape=ShapeName(self.shape), coverage=True))


def read_share() -> list[One]:
    """The share as it stands."""
    return [One(*one) for one in json.loads(PLACE.read_text())]


@dataclass(frozen=True)
class Met:
    """What a run has reached, and the processor seconds that it took."""

    one: One
    seconds: float
    names: frozenset[str]


def tell(text: str) -> None:
    """Say something to who has asked for it."""
    sys.stdout.write(f"{text}\n")


def survey(mixed: int, each: int) -> Iterator[Met]:
    """Run so many seeds in mixed weather, and of each climate, in both shapes."""
    for climate in ("", *CLIMATES):
        for shape in ShapeName:
            for seed in range(each if climate else mixed):
                one, began = One(climate, shape.value, seed), time.process_time()
                outcome = one.run()
                if outcome.violation is not None:
                    tell(f"{one}: {outcome.violation}")
                    continue
                yield Met(one, time.process_time() - began, frozenset(reached_by(outcome)))


def choose(met: list[Met]) -> list[One]:
    """Choose runs that reach each name often enough, the cheapest for what is still wanting first."""
    counts = Counter(name for one in met for name in one.names)
    wanted = {name: min(TIMES, count) for name, count in counts.items()}
    left, chosen = list(met), list[Met]()
    while wanted:
        best = max(left, key=lambda one: len(one.names & wanted.keys()) / one.seconds)
        left.remove(best)
        chosen.append(best)
        for name in best.names & wanted.keys():
            wanted[name] -= 1
        wanted = {name: count for name, count in wanted.items() if count}
    tell(f"{len(chosen)} runs, {sum(one.seconds for one in chosen):.1f} s")
    return sorted((one.one for one in chosen), key=lambda one: (one.climate, one.shape, one.seed))


def main() -> None:
    """Survey, choose, write the share, and print how often each name was reached."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--mixed", type=int, default=400)
    asked.add_argument("--each", type=int, default=40)
    given = asked.parse_args()
    met = list(survey(given.mixed, given.each))
    counts = Counter(name for one in met for name in one.names)
    for name, count in sorted(counts.items()):
        tell(f"{count:>6} {name}{', though it is said that none can' if name in UNREACHED else ''}")
    tell("\n  ".join(["missed:", *missed(counts)]))
    share = [f'  ["{one.climate}", "{one.shape}", {one.seed}]' for one in choose(met)]
    PLACE.write_text("[\n" + ",\n".join(share) + "\n]\n")


if __name__ == "__main__":
    main()
