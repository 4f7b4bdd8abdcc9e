"""An event loop in virtual time: hours in milliseconds, and the same order of everything in every process.

    result = simulate(main(), seed=7)       # like asyncio.run; without a seed, in the standard loop's order

It jumps to the next timer whenever nothing is ready. With a seed, the seed decides which of the ready tasks goes next. What
cannot be simulated (a socket, a thread, a sub-process, a real sleep) is refused by name, and a deadlock is an error that
tells who waits for what. See ``docs/how-to/test-in-virtual-time.md``.
"""

from dispatch.testing.loop.clock import SimulatedClock
from dispatch.testing.loop.errors import (
    Deadlock,
    LeakedErrors,
    RealWorld,
    Runaway,
    SimulationError,
    Waiting,
)
from dispatch.testing.loop.event_loop import SimulatedLoop
from dispatch.testing.loop.simulate import simulate
from dispatch.testing.loop.tasks import SimulatedFuture, SimulatedTask
from dispatch.testing.loop.trace import Line, Recorder, Trace

__all__ = [
    "Deadlock",
    "LeakedErrors",
    "Line",
    "RealWorld",
    "Recorder",
    "Runaway",
    "SimulatedClock",
    "SimulatedFuture",
    "SimulatedLoop",
    "SimulatedTask",
    "SimulationError",
    "Trace",
    "Waiting",
    "simulate",
]
