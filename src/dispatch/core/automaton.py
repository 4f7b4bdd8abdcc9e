"""The life of an object as data: what each move makes of each phase.

A pair that is missing here is impossible; a record that contains it is corrupt.
"""

from __future__ import annotations

from enum import Enum

from dispatch.model.journal import Outcome
from dispatch.model.view import Phase


class Move(Enum):
    """Something that the record says happened to an object."""

    OPEN_INTENDED = "an open is intended"
    OPEN_LANDED = "the open landed"
    OPEN_NOT_LANDED = "the open did not land"
    OPEN_UNKNOWN = "the open may have landed"
    SEEN_GATED = "it is seen gated"
    SEEN_LIVE = "it is seen ungated, queued or running"
    SEEN_ENDED = "it is seen ended"
    FORGOT = "the controller forgot an open or a start of it"
    JUDGED = "its verdict is recorded"
    CEASED = "none of its processes is left"


_G, _OI, _O, _T, _E, _J, _C = (
    Phase.GATED,
    Phase.OPENING,
    Phase.OPEN,
    Phase.TAINTED,
    Phase.ENDED,
    Phase.JUDGED,
    Phase.CEASED,
)

MOVES: dict[Move, dict[Phase, Phase]] = {
    Move.OPEN_INTENDED: {_G: _OI},
    # An outcome is learnt late when a read was faster than the reply: then the phase has moved on already. One that
    # contradicts a read which did not show it wins (12, R4): the open may have landed after all, so its N is spent.
    Move.OPEN_LANDED: {_G: _O, _OI: _O, _O: _O, _T: _T, _E: _E, _J: _J, _C: _C},
    Move.OPEN_NOT_LANDED: {_OI: _G, _O: _O, _T: _T, _E: _E, _J: _J, _C: _C},
    Move.OPEN_UNKNOWN: {_G: _T, _OI: _T, _O: _O, _T: _T, _E: _E, _J: _J, _C: _C},
    # An end that a crashed controller forgot comes back gated or live; what was gated then is never opened (12, O3).
    Move.SEEN_GATED: {_G: _G, _OI: _OI, _O: _O, _T: _T, _E: _T, _J: _J, _C: _C},
    # A gated object that runs was opened by a person: its N is spent.
    Move.SEEN_LIVE: {_G: _O, _OI: _OI, _O: _O, _T: _T, _E: _O, _J: _J, _C: _J},
    Move.SEEN_ENDED: {_G: _E, _OI: _E, _O: _E, _T: _E, _E: _E, _J: _J, _C: _C},
    Move.FORGOT: {_OI: _T, _O: _T, _E: _E},
    # One that is gone without a trace is judged as it was seen last.
    Move.JUDGED: {_O: _J, _T: _J, _E: _J},
    # One that a later submission has superseded is never judged: that it is gone is all that matters.
    Move.CEASED: {_OI: _C, _O: _C, _T: _C, _E: _C, _J: _C},
}

OPEN_MOVES = {
    Outcome.LANDED: Move.OPEN_LANDED,
    Outcome.NOT_LANDED: Move.OPEN_NOT_LANDED,
    Outcome.BUSY: Move.OPEN_NOT_LANDED,
    Outcome.REJECTED: Move.OPEN_NOT_LANDED,
    Outcome.UNKNOWN: Move.OPEN_UNKNOWN,
}
"""What the outcome of an open is for its object."""
