"""Finding: one listing shows every object of a job, and nothing else; absence is no end (12, R1 to R3)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.errors import NotFound
from dispatch.spi.adapter import Lister, MultiFinder


@check()
async def a_find_shows_every_object_of_the_job_and_no_other(on: Bench) -> None:
    """An object that is not shown may be a second copy (12, O1)."""
    first = await on.start()
    second = await on.start(on.order(of=first.order.id, submission=2))
    await on.start()
    found = {one.ref for one in await on.objects(first.order.id)}
    expect_same(found, {first.ref, second.ref}, "what was found")


@check()
async def a_find_of_a_job_without_objects_is_answered_and_empty(on: Bench) -> None:
    """A start that has not landed is settled by exactly this answer (12, R2)."""
    expect_same(await on.objects(on.order().id), (), "what was found")


@check()
async def a_find_shows_what_has_ended(on: Bench) -> None:
    """A supervisor that comes late must see how it ended (12, E6)."""
    made = await on.start_ended()
    found = await on.objects(made.order.id)
    expect_same([one.ref for one in found if one.state.ended], [made.ref], "the ended objects")


@check()
async def an_inspection_says_what_the_find_says(on: Bench) -> None:
    """There is one reading of an object, whoever asks."""
    made = await on.start_running()
    found = await on.objects(made.order.id)
    seen = await on.see(made)
    for one in found:
        expect_same(
            (one.ref, one.key, one.state, one.cause, one.gate, one.hold, one.restarts, one.nodes),
            (
                seen.ref, seen.key, seen.state, seen.cause, seen.gate, seen.hold, seen.restarts, seen.nodes,
            ),
            "the object found",
        )  # fmt: skip


@check()
async def an_inspection_of_an_unknown_object_is_not_found(on: Bench) -> None:
    """Nothing may be made up for a ref that the scheduler does not know."""
    made = await on.start()
    with refused(NotFound):
        await on.backend.inspect(on.harness.unknown_ref(made))


@check()
async def a_reading_tells_when_it_was_sent_by_the_clusters_clock(on: Bench) -> None:
    """Landing bounds are judged by the clock that checked the deadline (12, R3)."""
    skew = on.backend.declarations.clock_skew
    before = on.harness.now()
    sent = (await on.backend.find((await on.start()).order.id)).sent
    expect(
        before - skew <= sent <= on.harness.now() + skew, f"sent at {sent}, asked after {before}"
    )
    expect(sent.tzinfo is not None, "the moment has no time zone")


@check()
async def readings_under_one_controller_name_the_same_boot(on: Bench) -> None:
    """Two reads settle a call only under one boot (12, R2)."""
    job = (await on.start()).order.id
    first = await on.backend.find(job)
    second = await (await on.view()).find(job)
    expect(first.boot != "", "the boot has no name")
    expect_same(second.boot, first.boot, "the boot in the second reading")


@check()
async def a_controller_that_came_back_has_another_boot(on: Bench) -> None:
    """What it acknowledged before may be forgotten (12, O2)."""
    made = await on.start()
    before = await on.backend.find(made.order.id)
    await on.scheduler.restart_controller()
    after = await on.backend.find(made.order.id)
    expect(after.boot != before.boot, f"the boot is {before.boot!r} before and after")
    expect_same([one.ref for one in after.observations], [made.ref], "what was found afterwards")


@check(needs=MultiFinder)
async def finding_many_shows_what_single_finds_show(on: Bench) -> None:
    """One listing per poll, however many jobs (04)."""
    running = await on.start_running()
    gated, ended, other = await on.start(), await on.start_ended(), await on.start()
    jobs = [made.order.id for made in (running, gated, ended)]
    many = await on.finder.find_many(jobs)
    singles = [one for job in jobs for one in await on.objects(job)]
    expect_same(
        sorted((one.ref, one.state, one.gate) for one in many.observations),
        sorted((one.ref, one.state, one.gate) for one in singles),
        "what was found",
    )
    expect(other.ref not in {one.ref for one in many.observations}, "a job not asked for is shown")


@check(needs=MultiFinder)
async def finding_many_shows_each_object_once(on: Bench) -> None:
    """A job that is asked for twice has no second object."""
    made = await on.start()
    job = made.order.id
    many = await on.finder.find_many([job, job], (made.ref, made.ref))
    expect_same([one.ref for one in many.observations], [made.ref], "what was found")


@check(needs=MultiFinder)
async def finding_no_jobs_finds_nothing(on: Bench) -> None:
    """An empty list of ids must not list everybody's jobs (07, h)."""
    await on.start()
    many = await on.finder.find_many([])
    expect_same(many.observations, (), "what was found")


@check(needs=Lister)
async def a_listing_of_the_living_shows_what_has_not_ended(on: Bench) -> None:
    """An orphan that is not listed is never swept, and one that has ended needs no sweep (12, T1)."""
    gated, running, ended = await on.start(), await on.start_running(), await on.start_ended()
    living = {one.ref: one for one in await on.lister.list_living()}
    for made in (gated, running):
        expect(made.ref in living, f"{made.ref} is not listed")
        one = living[made.ref]
        expect_same((one.job, one.store), (made.order.id, made.order.store), "whose the object is")
    expect(ended.ref not in living, "an ended object is listed")
