"""Weak identities: what a ref rests on in the scheduler may come to mean another object too (03, IdentityWeakener)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.errors import NotFound
from dispatch.spi.adapter import IdentityWeakener


@check(needs=IdentityWeakener)
async def a_ref_that_means_one_object_is_not_weak(on: Bench) -> None:
    """A false alarm would keep a sound ref from being used, in each state of its object."""
    first, second, ended = await on.start(), await on.start_running(), await on.start_ended()
    sibling = await on.start(on.order(of=first.order.id, submission=2))
    for made in (first, second, ended, sibling):
        expect_same(await on.identities.weakness(made.ref), None, f"the weakness of {made.ref}")


@check(needs=IdentityWeakener)
async def a_ref_whose_id_was_given_again_is_weak_and_says_why(on: Bench) -> None:
    """Ids wrap; what the scheduler says of the id is no longer surely said of the object (07)."""
    old = await on.start_ended()
    await on.scheduler.reuse_id(old)
    await on.start()
    why = await on.identities.weakness(old.ref)
    expect(bool(why), f"its weakness is {why!r}")


@check(needs=IdentityWeakener)
async def the_weakness_of_an_unknown_ref_is_not_found(on: Bench) -> None:
    """No object is behind it whose identity could be sound."""
    made = await on.start()
    with refused(NotFound):
        await on.identities.weakness(on.harness.unknown_ref(made))
