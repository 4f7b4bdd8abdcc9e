"""Once the faults cease, every job comes to rest within a bound: it has ended, or waits for a named person."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Stage
from dispatch.core.folding import fold
from dispatch.model.view import JobView, Phase

if TYPE_CHECKING:
    from dispatch.sim.site import Site

LOOK_EVERY = 60.0


async def come_to_rest(site: Site) -> None:
    """Wait until all is at rest; at the bound, tell what is not."""
    end = site.now + site.options.patience.total_seconds()
    while True:
        restless = find_restless(site)
        if not restless:
            return
        if site.now >= end:
            site.break_rule("liveness", "; ".join(restless))
            return
        await asyncio.sleep(LOOK_EVERY)


def find_restless(site: Site) -> list[str]:
    """Name every job that has neither ended nor waits for a person, and every object that is left over."""
    found: list[str] = []
    for job, history in site.histories.items():
        kept = site.kept(job)
        if kept is None:
            continue
        view = fold(kept.entries)
        living = [
            item
            for item in site.world.by_job.get(job, ())
            if site.world.visible(item) and item.record.stage is not Stage.ENDED
        ]
        if not is_at_rest(view):
            found.append(f"{history.label} has not come to rest: {kept.summary.why}")
        elif view.verdict is not None and living:
            found.append(
                f"{history.label} has ended, and {site.world.shape.ref(living[0])} is left"
            )
        elif len(living) > 1:
            found.append(f"{history.label} has {len(living)} objects that live")
    return found


def is_at_rest(view: JobView) -> bool:
    """Whether the job has ended, or is held until a person releases it and nothing of it can run meanwhile."""
    if view.verdict is not None:
        return True
    if view.hold is None or view.hold.until is not None or view.stop is not None or view.intents:
        return False
    current = view.current
    if current is None or current.phase in (Phase.JUDGED, Phase.CEASED):
        return True
    hold = current.seen.hold if current.seen else None
    return (
        current.phase is Phase.OPEN
        and hold is not None
        and (hold.instance or 0) >= view.hold.instance
    )
