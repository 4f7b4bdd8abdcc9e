"""Many writes in one call: each as if it were made alone, and none for another's fault (03, MultiWriter)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from dispatch.conformance.backend.opening import NOT_YES
from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.scheduler import Made
from dispatch.conformance.verdicts import Broken, CannotDo, expect, expect_same
from dispatch.model.answers import Capability
from dispatch.model.errors import (
    DispatchError,
    Expired,
    Finished,
    NotFound,
    OutcomeUnknown,
    ReadOnly,
    Rejected,
    Unavailable,
    Unsupported,
)
from dispatch.model.status import Gate, Observation, State
from dispatch.spi.adapter import Holder, MultiWriter, StartOrder


async def start_many(on: Bench, orders: Sequence[StartOrder]) -> list[Made]:
    """Start them together; each must be made."""
    answers = await on.writer.start_many(orders, on.meta())
    expect_same(len(answers), len(orders), "the number of answers")
    made: list[Made] = []
    for order, answer in zip(orders, answers, strict=True):
        expect(isinstance(answer, str), f"a start among many was answered by {answer!r}")
        made.append(on.keep(Made(str(answer), order)))
    return made


async def all_refused(
    call: Callable[[], Awaitable[Sequence[object]]], *errors: type[DispatchError]
) -> None:
    """Demand that every write of a call is refused so, by one error for all or by one each."""
    wanted = " or ".join(error.kind for error in errors)
    try:
        answers = await call()
    except errors:
        return
    except DispatchError as error:
        raise Broken(f"all are refused as {error.kind}, not as {wanted}: {error}") from error
    for answer in answers:
        expect(
            isinstance(answer, errors), f"one was answered by {answer!r}, where {wanted} was due"
        )
    expect(bool(answers), "there is no answer")


async def found_of(on: Bench, orders: Sequence[StartOrder]) -> list[Observation]:
    """Every object of these orders' jobs, in their order."""
    return [one for order in orders for one in await on.objects(order.id)]


# ------------------------------------------------------------------------------- starts


@check(needs=MultiWriter)
async def starting_many_makes_what_single_starts_make(on: Bench) -> None:
    """Each gets its own ref, in the order of what was asked for, and is gated (02, protocol 2)."""
    made = await start_many(on, [on.order() for _ in range(3)])
    seen = [await on.see(one) for one in made]
    jobs = [one.order.id for one in made]
    expect_same([one.key.job for one in seen], jobs, "the jobs behind the refs")
    for one in seen:
        expect_same(
            (one.state, one.gate), (State.PENDING, Gate.CLOSED), "one that was started among many"
        )


@check(needs=MultiWriter)
async def a_start_that_is_refused_among_many_stops_no_other(on: Bench) -> None:
    """A fault of one job must not hold up two hundred."""
    orders = [on.order(on.harness.impossible_job()), on.order(), on.order()]
    refused, *others = await on.writer.start_many(orders, on.meta())
    expect(isinstance(refused, Rejected), f"the one that cannot be was answered by {refused!r}")
    for order, answer in zip(orders[1:], others, strict=True):
        expect(isinstance(answer, str), f"another was answered by {answer!r}")
        seen = await on.see(on.keep(Made(str(answer), order)))
        expect_same(seen.key.job, order.id, "the job behind its ref")
    alive = [one for one in await on.objects(orders[0].id) if not one.state.ended]
    expect_same(alive, [], "what is left of the one that was refused")


@check(needs=MultiWriter)
async def starting_many_after_the_deadline_makes_nothing(on: Bench) -> None:
    """The deadline is compared before each of them (02, protocol 8)."""
    orders = [on.order(), on.order()]
    await all_refused(lambda: on.writer.start_many(orders, on.late()), Expired)
    expect_same(await found_of(on, orders), [], "what was made")


@check(needs=MultiWriter)
async def many_starts_whose_reply_is_lost_are_found_by_their_attempts(on: Bench) -> None:
    """Each is found, once and gated; none is made again (02, protocol 4)."""
    orders = [on.order(), on.order()]
    await on.scheduler.drop_next_reply()
    answers: Sequence[str | DispatchError] = ()
    try:
        answers = await on.writer.start_many(orders, on.meta())
    except OutcomeUnknown:
        pass
    else:
        lost = [answer for answer in answers if isinstance(answer, OutcomeUnknown)]
        expect(bool(lost), f"no outcome is unknown: {answers}")
    found = await found_of(on, orders)
    for one, order in zip(found, orders, strict=False):
        on.keep(Made(one.ref, order))
    attempts = [one.key.attempt for one in found]
    expect_same(attempts, [order.attempt for order in orders], "the attempts that are found")
    expect_same({one.gate for one in found}, {Gate.CLOSED}, "the gates")
    told = [answer for answer in answers if isinstance(answer, str)]
    expect(set(told) <= {one.ref for one in found}, f"{told} are refs of nothing that is found")


# -------------------------------------------------------------------------------- opens


@check(needs=MultiWriter)
async def opening_many_lifts_these_gates_and_no_other(on: Bench) -> None:
    """Open names its objects (02, protocol 8), among those of one job too."""
    first, second, third = [await on.start() for _ in range(3)]
    sibling = await on.start(on.order(of=first.order.id, submission=2))
    answers = await on.writer.open_many([third.ref, first.ref], on.meta())
    expect_same(list(answers), [None, None], "the answers")
    await on.running(first)
    await on.running(third)
    for left in (second, sibling):
        await on.stays(left, gate=Gate.CLOSED)


@check(needs=MultiWriter)
async def each_open_of_many_has_an_answer_of_its_own(on: Bench) -> None:
    """What is recorded of a job is its own outcome, in the order of what was asked for."""
    ended, made = await on.start_ended(), await on.start()
    refs = [ended.ref, on.harness.unknown_ref(made), made.ref]
    answers = await on.writer.open_many(refs, on.meta())
    kinds = [type(answer) for answer in answers]
    expect_same(kinds, [Finished, NotFound, type(None)], "the answers")
    await on.running(made)


@check(needs=MultiWriter)
async def opening_many_a_second_time_changes_nothing(on: Bench) -> None:
    """The same Open that lands twice is harmless (02, protocol 8)."""
    made = [await on.start_running(), await on.start_running()]
    before = [await on.see(one) for one in made]
    answers = await on.writer.open_many([one.ref for one in made], on.meta())
    expect_same(list(answers), [None, None], "the answers")
    after = [await on.see(one) for one in made]
    expect_same(
        [(one.state, one.restarts, one.started) for one in after],
        [(one.state, one.restarts, one.started) for one in before],
        "what was opened twice",
    )


@check(needs=MultiWriter)
async def opening_many_after_the_deadline_lifts_nothing(on: Bench) -> None:
    """They were counted as not landed; what they let run would be second copies."""
    made = [await on.start(), await on.start()]
    refs = [one.ref for one in made]
    await all_refused(lambda: on.writer.open_many(refs, on.late()), Expired)
    for one in made:
        await on.stays(one, gate=Gate.CLOSED)


@check(needs=MultiWriter, claims=Capability.HOLD)
async def opening_many_leaves_their_holds(on: Bench) -> None:
    """A hold survives the open of its object, and keeps no other (02, protocol 5)."""
    if not isinstance(on.backend, Holder):
        raise CannotDo("the adapter does not offer Holder")
    held, free = await on.start(), await on.start()
    await on.hold(held, 3)
    answers = await on.writer.open_many([held.ref, free.ref], on.meta())
    expect_same(list(answers), [None, None], "the answers")
    await on.running(free)
    seen = await on.stays(held, gate=Gate.OPEN)
    expect_same(seen.hold and seen.hold.instance, 3, "the hold")


# ------------------------------------------------------------------------- all of them


@check(needs=MultiWriter)
async def more_than_one_chunk_keeps_its_order(on: Bench) -> None:
    """What does not go into one script goes into several, and each answer is still its own."""
    made = await start_many(on, [on.order() for _ in range(on.harness.crowd)])
    backwards = made[::-1]
    answers = await on.writer.open_many([one.ref for one in backwards], on.meta())
    expect_same(list(answers), [None] * len(made), "the answers")
    seen = [await on.see(one) for one in made]
    jobs = [one.order.id for one in made]
    expect_same([one.key.job for one in seen], jobs, "the jobs behind the refs")
    expect_same({one.gate for one in seen}, {Gate.OPEN}, "the gates")


@check(needs=MultiWriter)
async def writing_none_does_nothing(on: Bench) -> None:
    """An empty list must not mean everything (07, h)."""
    made = await on.start()
    expect_same(list(await on.writer.start_many([], on.meta())), [], "the answers of no start")
    expect_same(list(await on.writer.open_many([], on.meta())), [], "the answers of no open")
    await on.stays(made, gate=Gate.CLOSED)


@check(needs=MultiWriter)
async def many_writes_that_reach_nobody_are_unavailable_and_do_nothing(on: Bench) -> None:
    """They surely did not land, so they may be decided again at once."""
    made, orders = await on.start(), [on.order(), on.order()]
    await on.scheduler.go_away()
    try:
        await all_refused(lambda: on.writer.start_many(orders, on.meta()), Unavailable)
        await all_refused(lambda: on.writer.open_many([made.ref], on.meta()), Unavailable)
    finally:
        await on.scheduler.come_back()
    expect_same(await found_of(on, orders), [], "what was made")
    expect_same((await on.see(made)).gate, Gate.CLOSED, "the gate")


@check(needs=MultiWriter)
async def a_read_only_backend_refuses_many_writes(on: Bench) -> None:
    """Whoever asked for it must be able to rely on it (preflight: read-only)."""
    made, orders = await on.start(), [on.order(), on.order()]
    reader = await on.view(read_only=True)
    if isinstance(reader, MultiWriter):
        await all_refused(lambda: reader.start_many(orders, on.meta()), ReadOnly)
        await all_refused(lambda: reader.open_many([made.ref], on.meta()), ReadOnly)
    expect_same(await found_of(on, orders), [], "what was made")
    expect_same((await on.see(made)).gate, Gate.CLOSED, "the gate")


@check(needs=MultiWriter)
async def starting_many_without_a_proven_gate_is_unsupported(on: Bench) -> None:
    """An adapter that cannot keep an object from running only observes (preflight: observe-only)."""
    for value in NOT_YES:
        backend = await on.view_without(Capability.GATE, value)
        orders = [on.order(), on.order()]
        if isinstance(backend, MultiWriter):
            await all_refused(partial(backend.start_many, orders, on.meta()), Unsupported)
        found = [(await backend.find(order.id)).observations for order in orders]
        expect_same(found, [(), ()], "what was made")
