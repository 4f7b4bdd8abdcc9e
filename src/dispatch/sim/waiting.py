"""A person who asks for a stop, waits, and is told that it is true."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dispatch.model.errors import DispatchError
from dispatch.model.journal import Ended, StopAsked
from dispatch.shell.driving import Until

if TYPE_CHECKING:
    from dispatch.sim.chance import Stream
    from dispatch.sim.process import Process
    from dispatch.sim.site import Site


def stop_and_wait(site: Site, draw: Stream) -> None:
    """Let a person ask for a stop of some job, and wait until it is acknowledged."""
    jobs = [job for job, kept in site.records.jobs.items() if not kept.summary.finished]
    if jobs:
        job = draw.pick(jobs)
        process = site.process(site.numbered("w").replace(" #", ""), draw)
        task = site.loop.create_task(site.run(process, _see_it_stopped(site, process, job)))
        site.commands.add(task)
        task.add_done_callback(site.commands.discard)


async def _see_it_stopped(site: Site, process: Process, job: str) -> None:
    """Stop it, as ``dispatch stop --wait`` does; what that says is true when it says so (12, E2 and B7)."""
    with suppress(DispatchError):
        process.operator.ask_stop(job)
        history = site.histories[job]
        if not history.told(StopAsked):
            site.break_rule("S7", f"{history.label}: a stop was accepted, and is not recorded")
        await process.driver.drive([job], Until.ACKNOWLEDGED)
        if not history.told(Ended):
            site.break_rule("S9", f"{history.label}: its stop is acknowledged before it has ended")
