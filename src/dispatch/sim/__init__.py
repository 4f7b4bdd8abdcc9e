"""The simulator: the real fold, table, engine, operator and supervisors on a memory cluster, with everything that can go
wrong drawn from one seed, and every safety rule checked after each step.

    outcome = run(7)                               # the same run on every machine and Python
    outcome = run(7, Options(only=frozenset(...))) # with some of its faults alone
"""

from dispatch.sim.hunting import Tally, hunt
from dispatch.sim.options import Line, Options, Outcome, Violation
from dispatch.sim.running import Mutant, run
from dispatch.sim.shrinking import Shrunk, as_test, shrink

__all__ = [
    "Line",
    "Mutant",
    "Options",
    "Outcome",
    "Shrunk",
    "Tally",
    "Violation",
    "as_test",
    "hunt",
    "run",
    "shrink",
]
