"""Small plain programs of asyncio; each logs what an observer sees, and returns a result.

`python -m testing.programs SEED` prints the traces of all of them on a simulated loop: that output is the same in every
process.
"""

from testing.programs import others, running, waiting
from testing.programs.registry import PROGRAMS, Body, Log, Program

__all__ = ["PROGRAMS", "Body", "Log", "Program", "others", "running", "waiting"]
