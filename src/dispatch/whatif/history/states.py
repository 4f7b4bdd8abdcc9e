"""What a state and an exit code of Slurm's accounting say of an execution of the past."""

from __future__ import annotations

from typing import NamedTuple

from dispatch.adapters.slurm.reading.tables import BY_NAME, SIGNALS
from dispatch.model.status import Cause, State


class Told(NamedTuple):
    """What ended it, as far as accounting tells."""

    ended: bool
    cause: Cause | None = None
    exit_code: int | None = None
    signal: str | None = None


def told_by(state: str, status: int, signal: int) -> Told | None:
    """Read a state such as ``NODE_FAIL`` or ``CANCELLED by 1000``; ``None`` where no version of Slurm prints it."""
    words = state.split()
    code = BY_NAME.get(words[0].rstrip("+").upper()) if words else None
    if code is None:
        return None
    if code.cause is not Cause.UNKNOWN or code.state is not State.FAILED:
        return Told(code.state.ended, code.cause if code.state.ended else None)
    if signal:
        return Told(ended=True, cause=Cause.SIGNALLED, signal=SIGNALS.get(signal, str(signal)))
    if status:
        return Told(ended=True, cause=Cause.NON_ZERO_EXIT, exit_code=status)
    return Told(ended=True, cause=Cause.UNKNOWN)
