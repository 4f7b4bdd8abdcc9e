"""The mistakes that the simulator has found in dispatch, each put back for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from dispatch.adapters.memory import Env
from dispatch.adapters.memory.records import Stage
from dispatch.core import ending, folding, reading, starting
from dispatch.core.sighting import move_of
from dispatch.core.situation import Situation, final_verdict
from dispatch.model.policy import HOLD_BY_CESSATION
from dispatch.model.quantity import Duration
from dispatch.model.status import Gate, HoldSeen, Observation, Verdict
from dispatch.model.view import ObjectView, Sighting


@contextmanager
def put(module: ModuleType | type, name: str, value: Any) -> Generator[None]:
    """Put something in the place of a function of a module or a class."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def release_beneath_another_hold() -> AbstractContextManager[None]:
    """Release our hold though somebody else holds the object too: the gate comes back, and reads as forgotten."""

    def whatever_else_holds_it(hold: HoldSeen, _: Gate) -> bool:
        return hold.instance is not None

    return put(starting, "_held_by_us_alone", whatever_else_holds_it)


def blame_the_controller_for_what_is_gone() -> AbstractContextManager[None]:
    """Say ``Forgotten`` of an object that is gone after an open of unknown outcome, under one boot."""
    vanished = ending._vanished_verdict

    def forgotten(s: Situation, known: ObjectView, missing: Sighting) -> Verdict:
        return final_verdict(known, vanished(s, known, missing))

    return put(ending, "_vanished_verdict", forgotten)


def take_a_second_run_for_a_forgotten_one() -> AbstractContextManager[None]:
    """Stop what a scheduler that forgets nothing has put back and run again between two reads."""
    found = reading._forgotten

    def wherever(s: Situation, known: ObjectView, seen: Observation) -> str:
        header = s.view.header
        declared = replace(header.declarations, save_window=Duration(seconds=30))
        view = replace(s.view, header=replace(header, declarations=declared))
        return found(Situation(view, s.listing, s.now), known, seen)

    return put(reading, "_forgotten", wherever)


def take_a_lost_gate_for_an_open() -> AbstractContextManager[None]:
    """Take an object that waits under our hold without its gate for one that somebody has opened."""

    def as_it_reads(_: ObjectView, observation: Observation) -> Any:
        return move_of(observation)

    return put(folding, "move_by", as_it_reads)


def place_a_hold_beneath_a_higher_one() -> AbstractContextManager[None]:
    """Place a hold though a higher one of a record that was set back is there: it is refused as stale, for ever."""
    place = starting._place_hold

    def whatever_is_there(s: Situation, seen: Observation) -> Any:
        hold, shown = s.view.hold, seen.hold.instance if seen.hold else None
        if hold is None or hold.by == HOLD_BY_CESSATION or shown == hold.instance:
            return place(s, seen)
        return place(s, replace(seen, hold=None))

    return put(starting, "_place_hold", whatever_is_there)


def purge_what_is_being_cleaned_up() -> AbstractContextManager[None]:
    """Let the queue of the memory adapter forget what its nodes still clean up: it is then shown as such for ever."""

    def as_it_was_seen_last(env: Env, target: str) -> None:
        item = env._world.named(target)
        cleaned = not item.record.cleaning
        env._world.settle()
        if cleaned and item.queued and item.record.stage is Stage.ENDED:
            env._world.purge(item)

    return put(Env, "purge_now", as_it_was_seen_last)


MISTAKES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    mistake.__name__: mistake
    for mistake in (
        release_beneath_another_hold,
        blame_the_controller_for_what_is_gone,
        take_a_second_run_for_a_forgotten_one,
        take_a_lost_gate_for_an_open,
        place_a_hold_beneath_a_higher_one,
        purge_what_is_being_cleaned_up,
    )
}
