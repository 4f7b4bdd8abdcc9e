"""Cessation: whether the processes of an execution are surely gone (12, E4)."""

from __future__ import annotations

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same
from dispatch.model.answers import Capability
from dispatch.model.status import Cause
from dispatch.spi.adapter import CessationSignal

CESSATION = Capability.CESSATION


@check(needs=CessationSignal, claims=CESSATION)
async def a_node_at_work_responds(on: Bench) -> None:
    """Without it no job would ever go on after a lost node."""
    made = await on.start_running()
    nodes = (await on.see(made)).nodes
    reports = await on.nodes.nodes(nodes, made.ref)
    expect_same([one.name for one in reports], list(nodes), "the nodes that are told of")
    expect(all(one.responding for one in reports), f"a node at work does not respond: {reports}")


@check(needs=CessationSignal, claims=CESSATION)
async def a_lost_node_does_not_respond(on: Bench) -> None:
    """Its processes may live: a new copy would be a second one (02, S1)."""
    made = await on.start_running()
    name = await on.scheduler.lose_node(made)
    await on.until(made, lambda seen: seen.cause is Cause.NODE_LOST, "told as NodeLost")
    reports = await on.nodes.nodes([name], made.ref)
    expect_same([(one.name, one.responding) for one in reports], [(name, False)], "the reports")


@check(needs=CessationSignal, claims=CESSATION)
async def without_names_every_node_that_it_could_run_on_is_told_of(on: Bench) -> None:
    """Of an execution with unknown nodes each of them may have processes (12, E4)."""
    made = await on.start_running()
    nodes = (await on.see(made)).nodes
    told = {one.name for one in await on.nodes.nodes((), made.ref)}
    expect(set(nodes) <= told, f"it runs on {nodes}, and {sorted(told)} are told of")


@check(needs=CessationSignal, claims=CESSATION)
async def a_node_that_nobody_knows_does_not_respond(on: Bench) -> None:
    """A name that is not there proves nothing about processes."""
    made = await on.start()
    reports = await on.nodes.nodes(["no-such-node"], made.ref)
    expect(not any(one.responding for one in reports), f"it responds: {reports}")
