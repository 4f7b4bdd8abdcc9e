"""Mutants of starting, opening and holding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.memory.machines import Machines
from dispatch.adapters.memory.slurm_writing import SlurmWrites
from dispatch.core import folding, starting
from dispatch.core.automaton import MOVES, Move
from dispatch.core.reading import adopt
from dispatch.core.situation import Situation
from dispatch.core.starting import expire_hold, keep_holds, open_gate
from dispatch.model.journal import Verb
from dispatch.model.steps import Call, Step
from dispatch.model.view import JobView, Phase
from dispatch.sim import climates
from dispatch.sim.mutants.mutant import Mutant, Swap, constant, instead, without

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import WorldObject
    from dispatch.adapters.memory.shape import Steps

_adopted = folding._adopted  # noqa: SLF001 - what is broken
_shape_open, _shape_release = SlurmWrites.open, SlurmWrites.release


def _open_whoever_holds(s: Situation) -> Step | None:
    known, seen = s.view.current, s.current_seen
    if known is None or seen is None or known.phase is not Phase.GATED:
        return None
    if step := starting._place_hold(s, seen):  # noqa: SLF001 - what is broken
        return step
    return Call(verb=Verb.OPEN, submission=known.submission, ref=known.ref, row="open")


def _release_all(self: SlurmWrites, item: WorldObject) -> Steps[None]:
    self._refuse_ended(item, "opened")
    self.world.change(item, flag=None)
    yield
    if item.record.begin == item.order.base:
        self.world.change(item, begin=None)
    yield


def _start_at_once(self: SlurmWrites, item: WorldObject) -> Steps[None]:
    yield from _shape_open(self, item)
    self.world.change(item, begin=None)
    yield


def _release_any(self: SlurmWrites, item: WorldObject, _: int, **__: bool) -> Steps[None]:
    self._refuse_ended(item, "released")
    self.world.change(item, begin=None if item.record.flag is None else item.order.base)
    yield


def _release_to_the_gate(
    self: SlurmWrites, item: WorldObject, instance: int, **_: bool
) -> Steps[None]:
    yield from _shape_release(self, item, instance, opened=False)


def _same_number(view: JobView) -> int:
    return view.current.submission if view.current else 1


MUTANTS = (
    Mutant(
        "nothing is adopted", "O1",
        "An object of ours that the record does not know means that the record is behind.",
        (without(adopt),), 200, climates.SET_BACK,
    ),
    Mutant(
        "a forgotten open is made again", "O3",
        "What a controller forgot may have run: its epoch would repeat.",
        (Swap(MOVES[Move.FORGOT], Phase.OPEN, Phase.GATED),), 30, climates.FORGETFUL,
    ),
    Mutant(
        "no start ticket", "O4",
        "A controller that crashed launches by itself what it has launched already.",
        (Swap(Machines, "is_fenced", constant(False)),), 30, climates.FORGETFUL,
    ),
    Mutant(
        "an administrator's hold is opened", "O5",
        "What an administrator holds is his.",
        (instead(open_gate, _open_whoever_holds), Swap(SlurmWrites, "open", _release_all)), 30, climates.ADMINISTERED,
    ),
    Mutant(
        "a spent number is used again", "O6",
        "An open that may have been sent spends its number.",
        (Swap(JobView, "next_submission", property(_same_number)),), 30,
    ),
    Mutant(
        "no hold before the open", "B6",
        "A hold means: no further execution.",
        (Swap(starting, "_place_hold", constant(None)),), 30, climates.HELD,
    ),
    Mutant(
        "an open lifts our own hold", "O5",
        "A hold survives the open: it is a field of its own.",
        (Swap(SlurmWrites, "open", _start_at_once),), 60, climates.HELD,
    ),
    Mutant(
        "release without its instance", "O5",
        "A release that lands late, or twice, lifts a younger hold.",
        (Swap(SlurmWrites, "release", _release_any),), 80, climates.HELD_TWICE,
    ),
    Mutant(
        "an open beneath a hold that may be forgotten", "O5",
        "A controller that crashes forgets the hold, and opens after that.",
        (Swap(starting, "_await_saved_hold", constant(None)),), 40, climates.FORGETFUL_OF_HOLDS,
    ),
    Mutant(
        "a release closes the gate beneath a hold by hand", "O5",
        "What was opened would read as one whose open was forgotten.",
        (Swap(SlurmWrites, "release", _release_to_the_gate),), 40, climates.HELD_BY_HAND,
    ),
    Mutant(
        "a hold is never lifted", "B6",
        "A release is carried out, not only recorded.",
        (without(keep_holds),), 30, climates.HELD,
    ),
    Mutant(
        "a timed hold never ends", "B7",
        "What was asked for until a time ends at that time.",
        (without(expire_hold),), 30, climates.HELD_A_WHILE,
    ),
)  # fmt: skip
