"""The mistakes that the simulator has found in dispatch, each put back for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from dispatch.adapters.memory import Env, slurm_reading
from dispatch.adapters.memory.records import Record, Stage
from dispatch.adapters.memory.slurm_writing import SlurmWrites
from dispatch.core import ending, folding, reading, starting, stopping
from dispatch.core.sighting import move_of
from dispatch.core.situation import Situation, final_verdict, known_as
from dispatch.model.journal import BoundsGrew
from dispatch.model.policy import HOLD_BY_CESSATION
from dispatch.model.quantity import Duration
from dispatch.model.status import (
    Cause,
    Detail,
    Evidence,
    Gate,
    HoldSeen,
    Observation,
    State,
    Verdict,
)
from dispatch.model.view import JobView, ObjectView, Sighting
from dispatch.sim.mutants.ending import back_is_ceased_if_ordinary


@contextmanager
def put(module: ModuleType | type, name: str, value: Any) -> Generator[None]:
    """Put something in the place of a function of a module or a class."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextmanager
def release_beneath_another_hold() -> Generator[None]:
    """Release our hold though somebody else holds the object too: the gate comes back, and reads as forgotten."""

    def whatever_else_holds_it(hold: HoldSeen, _: Gate) -> bool:
        return hold.instance is not None

    release = SlurmWrites.release

    def with_its_gate(self: Any, item: Any, instance: int, *, opened: bool) -> Any:
        del opened
        return release(self, item, instance, opened=False)

    with (
        put(starting, "_held_by_us_alone", whatever_else_holds_it),
        put(SlurmWrites, "release", with_its_gate),
    ):
        yield


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
        # Nor was a hold asked for anew then, which serves too, a few refusals later.
        view = replace(s.view, hold_refusals=0)
        return place(Situation(view, s.listing, s.now), replace(seen, hold=None))

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


def take_what_waits_under_our_hold_for_opened() -> AbstractContextManager[None]:
    """Adopt what waits under our hold without a gate as opened: an administrator's hold may have taken the gate's flag."""

    def no_doubt(_: Observation) -> tuple[()]:
        return ()

    return put(reading, "_doubts", no_doubt)


@contextmanager
def let_two_of_one_number_block_each_other() -> Generator[None]:
    """Neither adopt nor stop a second object of a number: what waits under our hold then waits for ever."""

    def has_nobody(s: Situation, seen: Observation) -> bool:
        return seen.key.submission not in s.view.objects

    superseded = stopping._is_superseded

    def unless_unknown(view: JobView, seen: Observation) -> bool:
        return known_as(view, seen) is not None and superseded(view, seen)

    with (
        put(reading, "_may_have_its_number", has_nobody),
        put(stopping, "_is_superseded", unless_unknown),
    ):
        yield


def blame_the_controller_for_what_people_put_back() -> AbstractContextManager[None]:
    """Take every end that is shown no more for one that the controller has forgotten."""

    def forgotten(_: ObjectView, __: Sighting) -> str:
        return "the controller forgot its end"

    return put(folding, "_why_it_is_back", forgotten)


def take_an_ordinary_end_for_clean() -> AbstractContextManager[None]:
    """Ask of an execution that was preempted only that its nodes respond, not that they have done so for the kill wait."""
    return put(ending, "cease", back_is_ceased_if_ordinary)


def take_what_had_failed_for_lost() -> AbstractContextManager[None]:
    """Say ``NodeLost`` of every execution that Slurm says it of, though the job script has noted an end before."""

    def lost(record: Record, _: str, evidence: tuple[Evidence, ...]) -> Verdict:
        detail = Detail(nodes=record.failed_nodes, reason=record.reason)
        return Verdict(state=State.FAILED, cause=Cause.NODE_LOST, detail=detail, evidence=evidence)

    return put(slurm_reading, "_lost_or_failed", lost)


def count_reads_of_before_the_bounds_grew() -> AbstractContextManager[None]:
    """Let reads settle a write that were as far from one another as a call took before the bounds grew."""
    widened = folding._widened

    def keeping_them(view: JobView, event: BoundsGrew) -> JobView:
        return replace(widened(view, event), intents=view.intents)

    return put(folding, "_widened", keeping_them)


MISTAKES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    mistake.__name__: mistake
    for mistake in (
        release_beneath_another_hold,
        blame_the_controller_for_what_is_gone,
        take_a_second_run_for_a_forgotten_one,
        take_a_lost_gate_for_an_open,
        place_a_hold_beneath_a_higher_one,
        purge_what_is_being_cleaned_up,
        take_what_waits_under_our_hold_for_opened,
        let_two_of_one_number_block_each_other,
        blame_the_controller_for_what_people_put_back,
        take_an_ordinary_end_for_clean,
        take_what_had_failed_for_lost,
        count_reads_of_before_the_bounds_grew,
    )
}
