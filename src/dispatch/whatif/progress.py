"""How far a program comes in one execution, and what it loses when it ends: exact arithmetic, no draws."""

from __future__ import annotations

from typing import NamedTuple

from dispatch.whatif.conditions import Program
from dispatch.whatif.weather import NEVER


class Spent(NamedTuple):
    """How the running time of one execution was spent, in milliseconds; the parts add up to it."""

    kept: int = 0
    lost: int = 0
    checkpoint: int = 0
    restart: int = 0


def spend(program: Program, ran: int, *, saved_at_end: bool) -> Spent:
    """Split the running time of an execution that has ended.

    ``saved_at_end``: nothing is lost, because it saved before it ended, or is finished, or runs on.
    """
    restart = min(ran, program.restart_cost.ms)
    rest = ran - restart
    if program.checkpoint_every is None:
        return Spent(rest if saved_at_end else 0, 0 if saved_at_end else rest, 0, restart)
    every, cost = program.checkpoint_every.ms, program.checkpoint_cost.ms
    rounds, partial = divmod(rest, every + cost)
    working = min(partial, every)  # what is being saved is not yet kept
    kept, lost = rounds * every, 0
    if saved_at_end:
        kept += working
    else:
        lost = working
    return Spent(kept, lost, rounds * cost + partial - working, restart)


def finishes_in(program: Program, work: int) -> int:
    """Work out how long an execution runs until so much work is done, in milliseconds."""
    if work >= NEVER:
        return NEVER
    saves = 0
    if program.checkpoint_every is not None:
        saves = max(-(-work // program.checkpoint_every.ms) - 1, 0)
    return program.restart_cost.ms + work + saves * program.checkpoint_cost.ms
