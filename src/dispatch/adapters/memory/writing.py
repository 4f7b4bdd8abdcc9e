"""How a write reaches the controller, and what can go wrong on the way there and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from dispatch.adapters.memory.calls import Crashed, crashes_between_steps
from dispatch.adapters.memory.faults import Cut, Delay, DropReply, Duplicate, Refuse
from dispatch.model.errors import DispatchError, OutcomeUnknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.adapters.memory.shape import Steps
    from dispatch.adapters.memory.world import World

T = TypeVar("T")


def write(world: World, what: str, steps: Callable[[], Steps[T]]) -> T:
    """Carry out a write that has begun in time, with whatever fault was asked for next."""
    world.refuse_if_away()
    fault = world.faults.next_write()
    if isinstance(fault, Refuse):
        raise fault.error
    if world.hung:
        world.backlog.append(lambda: land(world, steps))
        raise _unheard(what)
    if crashes_between_steps():
        _begin(steps(), 1)
        raise Crashed(f"the process died after the first step of the {what}")
    match fault:
        case None:
            return perform(steps())
        case DropReply():
            _quietly(steps)
            raise _unheard(what)
        case Delay(by=by):
            world.after(by, lambda: land(world, steps))
            raise _unheard(what)
        case Duplicate(by=by):
            world.after(by, lambda: land(world, steps))
            return perform(steps())
        case Cut(steps=count):
            _quietly(steps, count)
            raise _unheard(what)


def perform(steps: Steps[T]) -> T:
    """Carry out all steps of a write, and give its reply."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("T", end.value)


def _begin(steps: Steps[T], count: int) -> None:
    """Carry out the first few steps of a write, and no more."""
    for _ in zip(range(count), steps, strict=False):
        pass
    steps.close()


def land(world: World, steps: Callable[[], Steps[T]]) -> None:
    """Carry out a write whose caller has given up; a controller that died has lost it, one that hangs does it later."""
    if world.hung:
        world.backlog.append(lambda: land(world, steps))
    elif world.up:
        _quietly(steps)


def _quietly(steps: Callable[[], Steps[T]], count: int | None = None) -> None:
    """Carry out steps, all or the first few, whose refusal nobody hears."""
    try:
        perform(steps()) if count is None else _begin(steps(), count)
    except DispatchError:
        return


def _unheard(what: str) -> OutcomeUnknown:
    return OutcomeUnknown(f"No reply to the {what}.", todo="Read it back after its landing bound.")
