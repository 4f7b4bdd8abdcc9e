"""Checks before the submission: faults of a job that no state of the cluster mends are told at once (03, Checker)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.errors import Invalid, Rejected
from dispatch.spi.adapter import Checker


@check(needs=Checker)
async def a_job_that_can_be_made_passes_its_check(on: Bench) -> None:
    """A false alarm would keep a sound job from being submitted."""
    job = on.harness.job()
    on.checker.check(job)
    await on.start(on.order(job))


@check(needs=Checker)
async def a_job_of_which_no_object_can_be_made_is_invalid_with_its_faults(on: Bench) -> None:
    """It is told to whoever submits it, and not hours later to a supervisor."""
    job = on.harness.faulty_job()
    try:
        on.checker.check(job)
    except Invalid as error:
        expect(bool(error.faults), f"the error names no fault: {error}")
    else:
        expect(False, "it passes its check")
    order = on.order(job)
    with refused(Invalid, Rejected):
        await on.backend.start(order, on.meta())
    expect_same(await on.objects(order.id), (), "what was made of it")
