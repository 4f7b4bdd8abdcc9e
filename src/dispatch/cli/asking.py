"""What ``stop``, ``hold`` and ``release`` share: record the request, carry it out from here, say how far it came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from dispatch.cli.exits import Exit
from dispatch.cli.options import Common
from dispatch.cli.render import job_document
from dispatch.cli.session import meant, note_if_unattended
from dispatch.cli.terminal import clean, emit, say
from dispatch.cli.working import (
    PATIENCE,
    drive,
    open_for,
    refuse_if_away,
    telling_after,
)
from dispatch.model.view import JobView
from dispatch.shell.driving import Until
from dispatch.shell.system import System

Ask = Callable[[System, str], JobView]
"""Records a request for one job, and returns its view."""


def ask_for(
    common: Common,
    jobs: Sequence[str],
    ask: Ask,
    *,
    done: Callable[[JobView], str],
    enough: Callable[[JobView], bool] | None = None,
    timeout: timedelta | None = PATIENCE,
) -> Exit:
    """Record a request for each job, drive them until all are true or ``enough``, and tell how far each came."""
    with open_for(common) as system:
        ids = list(dict.fromkeys(meant(system.store, job).id for job in jobs))
        views = {job: ask(system, job) for job in ids}
        views |= asyncio.run(_carry_out(system, ids, enough, timeout))
        for view in views.values():
            if common.as_json:
                emit({"job": job_document(system.store.summary(view.id)), "result": done(view)})
            else:
                say(clean(f"{view.job.name} {view.id} {done(view)}"))
        refuse_if_away(system, views, "The request is recorded")
        if any(view.verdict is None for view in views.values()):
            note_if_unattended(system.store)
    return Exit.OK


async def _carry_out(
    system: System,
    jobs: Sequence[str],
    enough: Callable[[JobView], bool] | None,
    timeout: timedelta | None,
) -> dict[str, JobView]:
    async with system.open_clusters(), telling_after("waiting for the scheduler …"):
        return await drive(system, jobs, Until.ACKNOWLEDGED, enough=enough, timeout=timeout)
