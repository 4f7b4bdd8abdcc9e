"""Faults at chosen points: wrap any store and any backend of a process, count what it does, and let it die anywhere.

    points = Points({7: Die()})                     # the process dies at its eighth point
    store = FaultyStore(store, points)
    backend = FaultyBackend(backend, points)
    with points.life():
        ...                                         # run the process on that store and that backend
    points.passed                                   # what it did, point by point

See ``docs/explanation/crash-points.md`` for how dispatch itself is tested with them.
"""

from dispatch.testing.faulty_backend import FaultyBackend
from dispatch.testing.faulty_store import FaultyStore
from dispatch.testing.points import Crash, Die, Fault, LoseReply, Pause, Points

__all__ = ["Crash", "Die", "Fault", "FaultyBackend", "FaultyStore", "LoseReply", "Pause", "Points"]
