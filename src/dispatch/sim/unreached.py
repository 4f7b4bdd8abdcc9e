"""What no simulation reaches of the decision table, of the moves of objects and of the fold, each with the reason."""

from __future__ import annotations

from dispatch.model.journal import Outcome, Proof, Verb

_LATE = "No answer comes after two reads have settled a write: in this world its caller gives up before (12, R4)."
_SETTLED_FIRST = "While the outcome of an open is unknown nothing else is decided: it is settled before its object is judged."
_TWICE = "It takes a death between two appends of one read, and a controller that forgets, or a refusal that is heard of, just after it."
_FINAL = "What is judged is final: a controller forgets within its save window only, and what may run again is not judged."
_ON_ITS_VERSION = "It is appended on the very version that was read, by compare-and-set: what it speaks of stands there."
_REJECTED = "Only a start is refused for good; whatever refuses another write may be mended, and it is tried again."
_UNKNOWN = "Reads settle it as landed or not; only an open and a stop have effects that may be gone with their object."

UNREACHED: dict[str, str] = {
    "stale listing": "The engine gives each listing the version of the view that it was sent after; the row guards other callers (12, R1).",
    "judged: it is seen ended": "An end that is judged is not recorded again.",
    "ceased: it is seen ended": "An end that is judged is not recorded again.",
    **{
        f"{phase}: it is seen {what}": _FINAL
        for phase in ("judged", "ceased")
        for what in ("gated", "ungated, queued or running")
    },
    "opening: none of its processes is left": _SETTLED_FIRST,
    **{
        f"{phase}: the open {what}": _SETTLED_FIRST
        for phase in ("judged", "ceased")
        for what in ("landed", "did not land", "may have landed")
    },
    "gated: the open landed": _LATE,
    "gated: the open may have landed": _LATE,
    **{f"open: the open {what}": _TWICE for what in ("landed", "did not land", "may have landed")},
    **{
        f"{phase}: the open {what}": _TWICE
        for phase in ("ended", "tainted")
        for what in ("did not land", "may have landed")
    },
    "Settled: late, an open landed after all": _LATE,
    "Settled: late, an open unknown after all": _LATE,
    "Missed: late": _ON_ITS_VERSION,
    "ReleaseAsked: of a hold that is gone": _ON_ITS_VERSION,
    f"Ceased: {Proof.CLEANED}": "Only records of an older dispatch have it, which asked no kill wait after an ordinary end.",
    "StopAsked: again": "Asking again writes nothing, and of two who ask at once one is first.",
    **{f"Settled: {verb} {Outcome.REJECTED}": _REJECTED for verb in Verb if verb is not Verb.START},
    **{
        f"Settled: {verb} {Outcome.UNKNOWN}": _UNKNOWN
        for verb in (Verb.START, Verb.HOLD, Verb.RELEASE)
    },
}
"""By the name under which it is counted."""
