"""Named faults of dispatch itself, one for each rule of the protocol that the simulated world can show.

Nothing but ``dispatch.sim`` may import this, and that only where mutants are hunted: no run of dispatch can reach it.
"""

from dispatch.sim.mutants import acting, ending, opening, promises, reading, recovery, upgrading
from dispatch.sim.mutants.mutant import Mutant, Swap
from dispatch.sim.mutants.unshown import UNSHOWN

MUTANTS: tuple[Mutant, ...] = (
    *reading.MUTANTS,
    *acting.MUTANTS,
    *opening.MUTANTS,
    *ending.MUTANTS,
    *recovery.MUTANTS,
    *upgrading.MUTANTS,
    *promises.MUTANTS,
)

__all__ = ["MUTANTS", "UNSHOWN", "Mutant", "Swap"]
