"""Hunt named faults of dispatch: each is put into it, and seeds are run in order until a rule is broken.

That the simulator finds nothing in dispatch means something only because it finds these. The faults themselves are
imported here alone, and only when they are hunted.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dispatch.sim.options import Options
from dispatch.sim.running import run
from dispatch.sim.working import is_over, without_interrupts, working

if TYPE_CHECKING:
    from dispatch.sim.mutants import Mutant


@dataclass(frozen=True)
class Hunted:
    """What became of one mutant: whether it was found, after how many seeds (from 0 on), and what gave it away."""

    name: str
    rule: str
    found: bool
    seeds: int
    within: int
    what: str = ""


def mutant_names() -> tuple[str, ...]:
    """The names of all mutants, in their order."""
    from dispatch.sim.mutants import MUTANTS  # noqa: PLC0415 - loaded where mutants are hunted, and nowhere else

    return tuple(one.name for one in MUTANTS)


def hunt_mutant(name: str, calm: int | None = None) -> Hunted:
    """Run seeds from 0 on with that mutant, until one breaks a rule that it keeps without, or its stated number is used up.

    ``calm``: run so many seeds without any fault instead. Raises ``StopIteration`` where there is no such mutant.
    """
    from dispatch.sim.mutants import MUTANTS  # noqa: PLC0415 - loaded where mutants are hunted, and nowhere else

    mutant = next(one for one in MUTANTS if one.name == name)
    options = mutant.options if calm is None else replace(mutant.options, faults=False)
    most = mutant.seeds if calm is None else calm
    for seed in range(most):
        if is_over():
            break
        what = _run_with(mutant, seed, options)
        # What is found without the mutant too is not its own.
        if what and run(seed, options).violation is None:
            return Hunted(name, mutant.rule, found=True, seeds=seed + 1, within=most, what=what)
    return Hunted(name, mutant.rule, found=False, seeds=most, within=most)


def _run_with(mutant: Mutant, seed: int, options: Options) -> str:
    """Run a seed with a mutant, and say what gave it away, or nothing."""
    try:
        violation = run(seed, options, mutant.planted).violation
    except Exception as error:  # noqa: BLE001 - the simulation itself cannot go on with what the mutant has made
        return repr(error)
    return "" if violation is None else str(violation)


def hunt_mutants(
    *,
    calm: int | None = None,
    workers: int | None = None,
    on_found: Callable[[Hunted], object] = lambda _: None,
) -> list[Hunted]:
    """Hunt every mutant, on all cores; the answers are in the order of the mutants.

    ``calm``: without any fault, so many seeds each. ``on_found`` is told of each as soon as it is done.
    """
    names = mutant_names()
    with working(workers) as pool:
        with without_interrupts():
            hunted: dict[Future[Hunted], str] = {
                pool.submit(hunt_mutant, name, calm): name for name in names
            }
        for one in as_completed(hunted):
            on_found(one.result())
        done = {name: one.result() for one, name in hunted.items()}
    return [done[name] for name in names]
