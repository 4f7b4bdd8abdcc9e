"""Identity: a ref means one object for ever, and each object says whose it is."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same, forgiving
from dispatch.model.epoch import ulid
from dispatch.model.errors import Finished, NotFound
from dispatch.model.status import Gate, ObjectKey


@check()
async def an_object_carries_the_key_of_its_order(on: Bench) -> None:
    """A lost reply is settled by the attempt that the object carries (02, protocol 4; 12, T1)."""
    made = await on.start()
    order = made.order
    key = ObjectKey(
        job=order.id, store=order.store, submission=order.submission, attempt=order.attempt
    )
    expect_same((await on.see(made)).key, key, "the key")


@check()
async def two_starts_make_two_objects(on: Bench) -> None:
    """Each start is told from every other (02, words: submission)."""
    first = await on.start()
    second = await on.start(on.order(of=first.order.id, submission=2))
    expect(first.ref != second.ref, f"both have the ref {first.ref!r}")
    seen = await on.see(first), await on.see(second)
    expect_same([one.key.submission for one in seen], [1, 2], "the submissions of the two refs")


@check()
async def a_ref_stays_the_same_while_its_object_lives(on: Bench) -> None:
    """The record keeps the ref that start returned, and every later reading is matched with it (03)."""
    made = await on.start()
    expect_same((await on.see(made)).ref, made.ref, "the ref of a gated object")
    await on.open(made)
    expect_same((await on.running(made)).ref, made.ref, "the ref of a running object")
    await on.stop(made)
    end = await on.gone(made)
    expect(end is None or end.ref == made.ref, f"the ref of an ended object is {end}")


@check()
async def a_reused_id_is_not_taken_for_the_object_that_had_it(on: Bench) -> None:
    """Ids wrap, and may be reused within seconds of a crash; a row with our id but not our key is not ours (07)."""
    old = await on.start_ended()
    await on.scheduler.reuse_id(old)
    new = await on.start()
    expect(old.ref != new.ref, f"two objects have the ref {old.ref!r}")
    with forgiving(NotFound, Finished):
        await on.open(old)
    with forgiving(NotFound):
        await on.stop(old)
    await on.stays(new, gate=Gate.CLOSED)
    with forgiving(NotFound):
        expect_same((await on.see(old)).key.attempt, old.order.attempt, "whose the old ref is")


@check()
async def an_object_of_another_store_tells_whose_it_is(on: Bench) -> None:
    """Only objects of our own store are judged; others are shown (12, T1)."""
    store = ulid(1, b"other-stor")
    made = await on.start(on.order(store=store))
    found = await on.objects(made.order.id)
    expect_same([one.key.store for one in found], [store], "the stores of the job's objects")


@check()
async def a_renamed_object_is_found_by_its_recorded_ref(on: Bench) -> None:
    """The recorded refs are read even where somebody has called the object otherwise."""
    made = await on.start()
    await on.scheduler.rename(made)
    found = await on.backend.find(made.order.id, (made.ref,))
    expect_same([one.ref for one in found.observations], [made.ref], "what was found")
