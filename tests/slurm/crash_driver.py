"""A dispatch process that is killed: ``crash_driver.py POINT MILLISECONDS submit FILE``, or ``stop JOB``, or ``hold JOB``.

It is a program of its own, since what dies here is a real process, by SIGKILL: at the point, or so much after it. The
configuration is the directory's.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path

from dispatch.shell.clock import SystemClock
from dispatch.shell.clusters import EngineOptions
from dispatch.shell.config import find_config, records_place
from dispatch.shell.driving import Until
from dispatch.shell.files import load_job
from dispatch.shell.system import System
from dispatch.stores.sqlite import SqliteStore
from dispatch.testing.faults import Die, FaultyBackend, FaultyStore, Pause, Points


def kill_me() -> None:
    """End this process as a power cut would end it."""
    os.kill(os.getpid(), signal.SIGKILL)


def fault(milliseconds: int) -> Die | Pause:
    """Die at the point, or so much later, wherever the process is by then."""
    if not milliseconds:
        return Die(first=kill_me)
    return Pause(lambda: threading.Timer(milliseconds / 1000, kill_me).start())


def system_with(points: Points) -> System:
    """The system that the commands use, with records that know the points."""
    config, clock = find_config(), SystemClock()
    store = SqliteStore.open(records_place(config), now=clock.now())
    options = EngineOptions(poll=timedelta(seconds=1))
    return System(config, FaultyStore(store, points), clock, options=options, role="user")


async def work(system: System, points: Points, verb: str, what: str) -> None:
    """Do what the command of that name does."""
    cluster = system.clusters.named("lab")
    cluster.use(FaultyBackend(await cluster.backend(), points))
    if verb == "submit":
        job = (await system.operator.submit(load_job(Path(what), system.config))).id
        await system.driver.drive([job], Until.OPENED)
        return
    (found,) = system.store.resolve(what)
    if verb == "stop":
        system.operator.ask_stop(found.id)
    else:
        system.operator.ask_hold(found.id)
    await system.driver.drive([found.id], Until.ENDED if verb == "stop" else Until.ACKNOWLEDGED)


def main() -> None:
    """Do it, and die on the way."""
    point, milliseconds, verb, what = sys.argv[1:]
    points = Points(named={point: fault(int(milliseconds))})
    asyncio.run(work(system_with(points), points, verb, what))
    sys.exit(f"it was not killed at {point!r}; it passed {points.passed}")


if __name__ == "__main__":
    main()
