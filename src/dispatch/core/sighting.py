"""What a read of one object tells: the move that it is, whether an execution has been, and where."""

from __future__ import annotations

from dispatch.core.automaton import Move
from dispatch.model.status import Cause, Gate, Observation, State
from dispatch.model.view import Hold, ObjectView, Phase

PUT_BACK = "somebody has put it back after its end"
"""Why an object that was never opened waits again after an end, as with ``scontrol requeue``: no fault of the controller's."""


def move_of(observation: Observation) -> Move:
    """The move that a read of an object is."""
    if observation.state.ended:
        return Move.SEEN_ENDED
    return Move.SEEN_GATED if observation.gate is Gate.CLOSED else Move.SEEN_LIVE


def move_by(known: ObjectView, observation: Observation) -> Move:
    """The move that a read is of an object that is known."""
    return Move.SEEN_GATED if _waits_for_release(known, observation) else move_of(observation)


def _waits_for_release(known: ObjectView, observation: Observation) -> bool:
    """Whether an object that was never opened waits under our own hold, whatever has become of its gate (12, O5).

    The hold has taken the gate's begin time; half an open, or a release by hand, may have taken its flag. Its Open is still
    to be recorded, and it cannot run before our release.
    """
    held = hold_of(observation) is not None
    return held and known.phase is Phase.GATED and observation.state is State.PENDING


def hold_of(observation: Observation) -> int | None:
    """The instance of our own hold that a read shows."""
    return observation.hold.instance if observation.hold is not None else None


def shows_hold(observation: Observation, hold: Hold) -> bool:
    """Whether the object is kept as this hold wants it; a higher one, of a record that was set back, serves as well."""
    shown = hold_of(observation)
    return shown is not None and shown >= hold.instance


def has_run(observation: Observation) -> bool:
    """Whether the read shows an execution, one that runs or one that has ended."""
    return observation.state is State.RUNNING or (
        observation.state.ended and observation.started is not None
    )


def nodes_with(names: tuple[str, ...], observation: Observation) -> tuple[str, ...]:
    """Add the nodes where processes of an execution may be; a pending object has some only while they are cleaned up."""
    if observation.state is State.PENDING and not observation.cleaning:
        return names
    return tuple(dict.fromkeys((*names, *observation.nodes, *observation.verdict.detail.nodes)))


def skips_a_run(known: ObjectView, observation: Observation) -> bool:
    """Whether executions have been between the last that was seen and the one that is shown: nobody knows where (12, E4)."""
    seen = known.ran.restarts if known.ran else -1
    return observation.restarts - 1 > seen


def shows_the_same_run(before: Observation | None, now: Observation) -> bool:
    """Whether both tell of one execution: it may have run again and ended between two reads."""
    return before is not None and (before.restarts, before.started) == (now.restarts, now.started)


def shows_the_same_hold(before: Observation | None, now: Observation) -> bool:
    """Whether both show one hold of ours, or none."""
    return before is not None and hold_of(before) == hold_of(now)


def nodes_of(known: ObjectView) -> tuple[str, ...]:
    """The nodes on which any execution of the object may have processes; empty where they are not all known."""
    if known.ran_unseen or (
        is_fenced(known) and not (known.seen and known.seen.verdict.detail.nodes)
    ):
        return ()
    return tuple(sorted(known.ran_on))


def is_fenced(known: ObjectView) -> bool:
    """Whether its last launch was refused: then another one was made of it, which nobody may have seen (12, O4)."""
    return known.seen is not None and known.seen.cause is Cause.FENCED


def waits_for_the_same(before: ObjectView, now: ObjectView) -> bool:
    """Whether a read leaves the kill wait as it is: it shows the same end, clean, and the same nodes."""
    same = now.ended is not None and now.ended is before.ended and nodes_of(now) == nodes_of(before)
    return same and now.seen is not None and not now.seen.cleaning
