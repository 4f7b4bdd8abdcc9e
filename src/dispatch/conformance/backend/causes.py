"""Causes: each end tells its typed cause with the evidence, and none is guessed (01, promise 3; 02, S8)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same
from dispatch.model.answers import Capability
from dispatch.model.errors import NotFound
from dispatch.model.status import By, Cause, Observation, State


def must_be(seen: Observation, state: State, cause: Cause | None) -> None:
    """Demand a proven end with that cause, and evidence for it."""
    expect_same((seen.state, seen.cause), (state, cause), "the end")
    expect(seen.verdict.proven, "the cause is not proven")
    expect(bool(seen.verdict.evidence), "there is no evidence")


@check()
async def an_exit_with_zero_is_a_success(on: Bench) -> None:
    """Nothing else is (02)."""
    made = await on.start_running()
    await on.scheduler.finish(made, 0)
    must_be(await on.ended(made), State.SUCCEEDED, None)


@check()
async def an_exit_with_a_code_tells_the_code(on: Bench) -> None:
    """Rules match codes, such as 75 for a checkpoint that was saved."""
    made = await on.start_running()
    await on.scheduler.finish(made, 75)
    seen = await on.ended(made)
    must_be(seen, State.FAILED, Cause.NON_ZERO_EXIT)
    expect_same(seen.verdict.detail.exit_code, 75, "the exit code")


@check()
async def an_exit_with_137_is_only_suspected_to_be_out_of_memory(on: Bench) -> None:
    """The code hints at a kill for memory, and proves none (02)."""
    made = await on.start_running()
    await on.scheduler.finish(made, 137)
    seen = await on.ended(made)
    expect(seen.cause is not Cause.OUT_OF_MEMORY, "the code alone was taken for a proof")
    expect_same((seen.state, seen.verdict.detail.exit_code), (State.FAILED, 137), "the end")


@check()
async def a_death_by_signal_tells_the_signal(on: Bench) -> None:
    """By its name without SIG; or by 128 + its number, where the scheduler knows exit codes alone."""
    made = await on.start_running()
    await on.scheduler.signal(made, "SEGV")
    seen = await on.ended(made)
    if seen.cause is Cause.NON_ZERO_EXIT:
        expect_same(seen.verdict.detail.exit_code, 139, "the exit code")
        return
    must_be(seen, State.FAILED, Cause.SIGNALLED)
    expect_same(seen.verdict.detail.signal, "SEGV", "the signal")


@check()
async def a_kill_for_memory_is_out_of_memory(on: Bench) -> None:
    """A rule may raise the memory after it."""
    made = await on.start_running()
    await on.scheduler.out_of_memory(made)
    must_be(await on.ended(made), State.FAILED, Cause.OUT_OF_MEMORY)


@check()
async def an_end_at_the_time_limit_is_a_timeout(on: Bench) -> None:
    """A rule may raise the limit after it."""
    made = await on.start_running()
    await on.scheduler.time_out(made)
    must_be(await on.ended(made), State.FAILED, Cause.TIMEOUT)


@check()
async def a_preemption_is_no_failure_of_the_program(on: Bench) -> None:
    """A preempted job that reads as failed loses a night (01)."""
    made = await on.start_running()
    await on.scheduler.preempt(made)
    seen = await on.until(
        made,
        lambda seen: seen.cause in (Cause.PREEMPTED, Cause.REQUEUED) and not seen.cleaning,
        "preempted",
    )
    expect(bool(seen.verdict.evidence), "there is no evidence")


@check()
async def a_lost_node_is_the_cause_and_is_named(on: Bench) -> None:
    """Nodes are excluded, and their return awaited, by name (12, E4)."""
    made = await on.start_running()
    name = await on.scheduler.lose_node(made)
    seen = await on.until(made, lambda seen: seen.cause is Cause.NODE_LOST, "told as NodeLost")
    expect(name in seen.verdict.detail.nodes, f"it names {seen.verdict.detail.nodes}, not {name}")
    expect(bool(seen.verdict.evidence), "there is no evidence")


@check()
async def a_launch_that_fails_is_no_failure_of_the_program(on: Bench) -> None:
    """No program ran, so its budget is not charged."""
    made = await on.start()
    await on.scheduler.spoil_launch(made)
    await on.open(made)
    must_be(await on.ended(made), State.FAILED, Cause.LAUNCH_FAILED)


@check()
async def a_cancellation_by_an_administrator_is_no_failure(on: Bench) -> None:
    """Somebody wanted it; the state says so."""
    made = await on.start_running()
    await on.scheduler.cancel_as_administrator(made)
    if seen := await on.gone(made):
        must_be(seen, State.CANCELLED, Cause.CANCELLED)


@check(claims=Capability.ACCOUNTING_HISTORY)
async def who_cancelled_it_is_told_where_accounting_knows(on: Bench) -> None:
    """Ours, an administrator's and another's cancellation are told apart (02, causes)."""
    ours, theirs = await on.start_running(), await on.start_running()
    await on.stop(ours)
    await on.scheduler.cancel_as_administrator(theirs)
    expect_same((await on.ended(ours)).verdict.detail.by, By.OWNER, "who stopped ours")
    by = (await on.ended(theirs)).verdict.detail.by
    expect_same(by, By.ADMINISTRATOR, "who cancelled the other")


@check()
async def an_execution_tells_its_nodes_and_times(on: Bench) -> None:
    """Cessation is proven node by node, and a brake counts short executions (12, E4 and B1)."""
    made = await on.start_running()
    seen = await on.see(made)
    expect_same(len(seen.nodes), made.order.job.nodes, "the number of nodes")
    started = seen.started
    expect(started is not None, "it runs without a start time")
    await on.scheduler.finish(made, 0)
    end = await on.ended(made)
    expect_same((end.started, end.nodes), (started, seen.nodes), "start and nodes after the end")
    expect(end.ended is not None and started is not None and end.ended >= started, "no end time")


@check()
async def nothing_is_invented_after_the_evidence_went(on: Bench) -> None:
    """When the evidence is gone the cause is unknown, and nothing reads as a success (01, promise 3)."""
    made = await on.start_running()
    await on.scheduler.finish(made, 3)
    await on.ended(made)
    await on.scheduler.purge(made)
    try:
        seen = await on.see(made)
    except NotFound:
        found = await on.objects(made.order.id)
        expect_same(found, (), "what is found of an object that is not known")
        return
    if on.backend.answers.capability(Capability.ACCOUNTING_HISTORY).yes:
        must_be(seen, State.FAILED, Cause.NON_ZERO_EXIT)
    else:
        expect_same((seen.cause, seen.verdict.proven), (Cause.UNKNOWN, False), "the cause")


@check()
async def each_piece_of_evidence_tells_its_field_and_when_it_was_read(on: Bench) -> None:
    """A verdict rests on raw facts that a person can look up (02, verdicts)."""
    made = await on.start_running()
    await on.scheduler.finish(made, 1)
    seen = await on.ended(made)
    now, skew = on.harness.now(), on.backend.declarations.clock_skew
    for piece in seen.verdict.evidence:
        expect(bool(piece.field), f"evidence without a field: {piece}")
        expect(piece.read_at <= now + skew, f"evidence of the future: {piece}")
