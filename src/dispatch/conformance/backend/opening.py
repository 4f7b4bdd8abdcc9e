"""Opening and closing: what a backend says of itself, read-only, and settings (03, opening)."""

from __future__ import annotations

from datetime import timedelta

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.answers import Capability, Tristate
from dispatch.model.errors import Invalid, ReadOnly, Unavailable, Unsupported
from dispatch.model.status import State
from dispatch.spi.adapter import CessationSignal, Holder, OutputReader, Requeuer, Watcher

PROTOCOLS = {
    Capability.HOLD: Holder,
    Capability.CESSATION: CessationSignal,
    Capability.OUTPUT: OutputReader,
    Capability.WATCH: Watcher,
    Capability.REQUEUE: Requeuer,
}
NOT_YES = (Tristate.NO, Tristate.UNKNOWN)


@check()
async def a_claim_has_its_protocol(on: Bench) -> None:
    """A yes must work; it cannot where there is no method for it (03)."""
    for capability, protocol in PROTOCOLS.items():
        if on.backend.answers.capability(capability).yes:
            found = isinstance(on.backend, protocol)
            expect(found, f"{capability} is yes, and there is no {protocol.__name__}")


@check()
async def an_answer_that_is_not_yes_says_why(on: Bench) -> None:
    """A plan that is refused names the answer in its way, with its reason (02, capabilities)."""
    answers = on.backend.answers
    for name, answer in (*answers.capabilities.items(), *answers.rules.items()):
        expect(answer.yes or bool(answer.reason), f"{name} is {answer.value} without a reason")


@check()
async def a_native_yes_has_a_rule_that_is_yes(on: Bench) -> None:
    """What the scheduler does by itself must be allowed at all (02, native)."""
    answers = on.backend.answers
    for action, answer in answers.native.items():
        allowed = not answer.yes or answers.rule(action).yes
        expect(allowed, f"native {action} is yes, and its rule is not")


@check()
async def answers_and_declarations_stay_as_they_were_at_open(on: Bench) -> None:
    """A plan is made on them, and its job outlives the plan (02, capabilities)."""
    before = on.backend.answers, on.backend.declarations, on.backend.identity
    await on.start_running()
    after = on.backend.answers, on.backend.declarations, on.backend.identity
    expect(after == before, "an answer, a bound or the identity has changed")


@check()
async def the_declared_bounds_can_be_waited_for(on: Bench) -> None:
    """Every supervisor waits by these numbers (02, declarations)."""
    declared = on.backend.declarations
    expect(declared.call_bound > timedelta(), "the call bound is nothing")
    expect(declared.call_window > timedelta(), "the call window is nothing")
    expect(declared.settling_reads >= 2, "fewer than two reads settle a call (12, R2)")


@check()
async def two_views_are_of_one_cluster(on: Bench) -> None:
    """Another cluster behind the same alias is refused for a job (12, T2)."""
    other = await on.view()
    expect(on.backend.identity.name != "", "the cluster has no name")
    expect_same(other.identity, on.backend.identity, "the identity of the second view")


# ------------------------------------------------------------------------ reading only


@check()
async def a_read_only_backend_reads(on: Bench) -> None:
    """A status command sees everything (preflight: read-only)."""
    made = await on.start()
    reader = await on.view(read_only=True)
    expect_same((await reader.inspect(made.ref)).ref, made.ref, "what was inspected")
    found = (await reader.find(made.order.id)).observations
    expect_same([one.ref for one in found], [made.ref], "what was found")


@check()
async def a_read_only_backend_refuses_every_write(on: Bench) -> None:
    """Whoever asked for it must be able to rely on it (preflight: read-only)."""
    made = await on.start()
    reader = await on.view(read_only=True)
    order = on.order()
    with refused(ReadOnly):
        await reader.start(order, on.meta())
    with refused(ReadOnly):
        await reader.open(made.ref, on.meta())
    with refused(ReadOnly):
        await reader.stop(made.ref, on.meta())
    expect_same(await on.objects(order.id), (), "what was made")
    await on.stays(made)


@check(needs=Holder)
async def a_read_only_backend_refuses_hold_and_release(on: Bench) -> None:
    """Or says that it cannot hold, where the probe that would show it was not made (preflight)."""
    made = await on.start()
    reader = await on.view(read_only=True)
    if isinstance(reader, Holder):
        with refused(ReadOnly, Unsupported):
            await reader.hold(made.ref, on.holding(1))
        with refused(ReadOnly, Unsupported):
            await reader.release(made.ref, 1, on.meta())
    expect_same((await on.see(made)).hold, None, "the hold")


# ------------------------------------------------------------- claims in the other direction


@check(needs=Holder)
async def holding_without_the_claim_is_unsupported(on: Bench) -> None:
    """A hold that the probe has not proven is refused, and unknown counts as no (preflight)."""
    for value in NOT_YES:
        backend = await on.view_without(Capability.HOLD, value)
        made = await backend.start(order := on.order(), on.meta())
        if isinstance(backend, Holder):
            with refused(Unsupported):
                await backend.hold(made, on.holding(1))
            with refused(Unsupported):
                await backend.release(made, 1, on.meta())
        found = (await backend.find(order.id)).observations
        expect_same([one.hold for one in found], [None], "the holds")
        await backend.stop(made, on.meta())


@check()
async def starting_without_a_proven_gate_is_unsupported(on: Bench) -> None:
    """An adapter that cannot keep an object from running only observes (preflight: observe-only)."""
    for value in NOT_YES:
        backend = await on.view_without(Capability.GATE, value)
        order = on.order()
        with refused(Unsupported):
            await backend.start(order, on.meta())
        with refused(ReadOnly):
            await backend.stop((await on.start()).ref, on.meta())
        expect_same((await backend.find(order.id)).observations, (), "what was made")


@check(needs=CessationSignal)
async def reading_nodes_without_the_claim_is_unsupported(on: Bench) -> None:
    """What is not proven is no proof that processes are gone."""
    for value in NOT_YES:
        backend = await on.view_without(Capability.CESSATION, value)
        if isinstance(backend, CessationSignal):
            made = await backend.start(on.order(), on.meta())
            with refused(Unsupported):
                await backend.nodes((), made)


# -------------------------------------------------------------------------- settings


@check()
async def a_setting_that_nobody_knows_is_invalid_with_its_path(on: Bench) -> None:
    """A misspelt bound must not be passed over (03, opening)."""
    try:
        backend = await on.harness.open_with({**on.harness.settings, "noSuchSetting": 1})
    except Invalid as error:
        expect("noSuchSetting" in str(error), f"the error does not name it: {error}")
        return
    await backend.close()
    expect(False, "it opens with a setting that does not exist")


# --------------------------------------------------------------------------- closing


@check()
async def a_closed_backend_serves_nobody_and_closes_twice(on: Bench) -> None:
    """Closing lets go of everything (03)."""
    made = await on.start()
    view = await on.view()
    await view.close()
    await view.close()
    with refused(Unavailable):
        await view.find(made.order.id)
    with refused(Unavailable):
        await view.stop(made.ref, on.meta())
    expect_same((await on.see(made)).state, State.PENDING, "the object, by another view")
