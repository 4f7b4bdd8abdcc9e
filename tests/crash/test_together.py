"""Calls that are made together take one slot, before any of their intents is written."""

from __future__ import annotations

import asyncio

from crash.site import Process, Records, Site
from dispatch.model.job import Job
from dispatch.model.journal import Intended, Verb
from dispatch.testing.faults import Points

TOGETHER = 3


def verbs(site: Site, jobs: list[str]) -> list[list[Verb]]:
    """What was intended for each job."""
    return [
        [
            entry.event.intent.verb
            for entry in site.history(job)
            if isinstance(entry.event, Intended)
        ]
        for job in jobs
    ]


def test_calls_together_wait_for_one_slot_before_any_of_their_intents(records: Records) -> None:
    """Intents that wait in a queue would expire there, for ever under load (12, O7)."""
    site = Site(records)
    points = Points()
    process = Process(site, "host1", points)

    async def turn_without_a_slot(jobs: list[str]) -> list[list[Verb]]:
        writer = (await process.clusters.named("c").engine()).writer
        writer.slots = asyncio.Semaphore(0)
        turning = asyncio.ensure_future(process.turn(jobs))
        for _ in range(20):
            await asyncio.sleep(0)
        waiting = verbs(site, jobs)
        writer.slots.release()
        await turning
        assert not writer.slots.locked()  # it was given back, once
        return waiting

    async def live() -> None:
        jobs = [
            (await process.operator.submit(Job(command=("train",), cluster="c"))).id
            for _ in range(TOGETHER)
        ]
        assert await turn_without_a_slot(jobs) == [[]] * TOGETHER
        assert await turn_without_a_slot(jobs) == [[Verb.START]] * TOGETHER
        assert verbs(site, jobs) == [[Verb.START, Verb.OPEN]] * TOGETHER
        await process.supervisor.round()

    asyncio.run(live())
    assert points.passed.count("call start many, before") == 1
    assert points.passed.count("call open many, before") == 1
