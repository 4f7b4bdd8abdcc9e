"""The tables of docs/explanation/protocol.md, worked out by the real functions of the core.

The page is written by people but for what stands between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

from core.builders import at, intent, record, ref, tell
from core.test_folding import EVENTS, PATHS
from dispatch.adapters.slurm.cluster import declarations_of, read_cluster
from dispatch.adapters.slurm.settings import decode_settings
from dispatch.core.automaton import MOVES, Move
from dispatch.core.landing import landing_bound, settle
from dispatch.model.answers import Declarations
from dispatch.model.errors import (
    Busy,
    Conflict,
    CorruptRecord,
    DispatchError,
    Expired,
    Finished,
    Invalid,
    NotFound,
    OutcomeUnknown,
    ReadOnly,
    Rejected,
    Unavailable,
    Unsupported,
)
from dispatch.model.journal import Intent, Missed, Outcome, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.view import OpenIntent, Phase, Sighting
from dispatch.shell.intents import outcome_of
from docs.blocks import ROOT
from docs.fields import SLURM_CONFIG, table
from docs.protocol_steps import steps
from docs.protocol_views import DECLARED, READS, seen_as

PAGE = ROOT / "docs" / "explanation" / "protocol.md"
_BLOCK = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """The text of the page, each of its tables as the code has it now."""
    return _BLOCK.sub(
        lambda found: f"{found[1]}\n{TABLES[found['name']]().rstrip()}\n\n{found[3]}", text
    )


# --- the life of an object


def moves() -> str:
    """What each move makes of each phase: as the fold has it, and for the outcomes of an open as their table has it."""
    rows = [[move.value, *(_cell(move, phase) for phase in Phase)] for move in Move]
    return "\n".join(table(["", *(f"`{phase}`" for phase in Phase)], rows))


def _cell(move: Move, before: Phase) -> str:
    if move not in EVENTS:
        after = MOVES[move].get(before)
        return "×" if after is None else _named(before, after)
    try:
        known = tell(record(*PATHS[before]), *EVENTS[move]).objects.get(1)
    except CorruptRecord:
        return "×"
    return "*dropped*" if known is None else _named(before, known.phase)


def _named(before: Phase, after: Phase) -> str:
    return "–" if after is before else f"**{after}**"


MAIN_LINE = (
    (Phase.GATED, Move.OPEN_INTENDED),
    (Phase.OPENING, Move.OPEN_LANDED),
    (Phase.OPENING, Move.OPEN_NOT_LANDED),
    (Phase.OPEN, Move.SEEN_ENDED),
    (Phase.ENDED, Move.JUDGED),
    (Phase.JUDGED, Move.CEASED),
)


def main_line() -> str:
    """The life of an object to which nothing happens."""
    arrows = [f"    {before} --> {MOVES[move][before]}: {move.value}" for before, move in MAIN_LINE]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> gated", *arrows, "```"])


def tainted() -> str:
    """What taints an object, and what becomes of it."""
    arrows = {
        f"    {before} --> {after}: {move.value}"
        for move, pairs in MOVES.items()
        for before, after in pairs.items()
        if before is not after and Phase.TAINTED in (before, after)
    }
    return "\n".join(["```mermaid", "stateDiagram-v2", *sorted(arrows), "```"])


# --- the life of an intent


BOOTS = ("the intent's", "another")


def settling() -> str:
    """What a read makes of an open intent: by verb, by what it shows, and by the boot."""
    rows: list[list[str]] = []
    for verb in Verb:
        by_answer: dict[tuple[str, ...], dict[str, list[str]]] = {}
        for boot in BOOTS:
            for name in READS:
                answers = tuple(_answers(verb, name, boot))
                by_answer.setdefault(answers, {}).setdefault(boot, []).append(name)
        for answers, boots in by_answer.items():
            rows += [[f"`{verb}`", *which, *answers] for which in _together(boots)]
    heads = ["write", "the read shows", "boot", "before the landing bound", "first read after it",
             "second, a call bound later"]  # fmt: skip
    return "\n".join(table(heads, rows))


def _together(boots: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """What is seen and the boots, where two boots make no difference in one line."""
    both = [
        name
        for name in boots.get("the intent's", ())
        if name in boots.get("another", ())
    ]  # fmt: skip
    if both:
        yield "; ".join(both), "any"
    for boot, names in boots.items():
        if rest := [name for name in names if name not in both]:
            yield "; ".join(rest), boot


def _answers(verb: Verb, name: str, boot: str) -> Iterator[str]:
    made = intent(verb, 1, instance=1)
    bound = landing_bound(made, DECLARED)
    read = "b1" if boot == "the intent's" else "b2"
    second = bound + DECLARED.call_bound
    missed = OpenIntent(intent=made, missed=Sighting(sent=bound, boot=read), misses=1)
    for known, sent in (
        (OpenIntent(intent=made), bound - timedelta(seconds=1)),
        (OpenIntent(intent=made), bound),
        (missed, second),
    ):
        listing = Listing(
            version=1, requested=sent, sent=sent, boot=read, observations=seen_as(name)
        )
        match settle(known, listing, DECLARED):
            case Settled() as settled:
                yield f"**{settled.outcome}**"
            case Missed():
                yield "a miss is noted"
            case _:
                yield "wait"


VERBS = {
    Verb.START: "start",
    Verb.OPEN: "any other",
}
"""One of each kind: an answer to a start alone can refuse it for good."""

ERRORS: tuple[type[DispatchError], ...] = (
    Expired,
    Busy,
    Unavailable,
    Rejected,
    Invalid,
    Unsupported,
    ReadOnly,
    Finished,
    NotFound,
    Conflict,
    OutcomeUnknown,
)


def replies() -> str:
    """What the answer to a call makes of its intent."""
    rows = [["it is done", "`landed`", "`landed`", "at once"]]
    for kind in ERRORS:
        start, other = (outcome_of(intent(verb), kind("no"), at(0)) for verb in VERBS)
        retry = {
            (one.retry_at - at(0)).total_seconds() for one in (start, other) if one and one.retry_at
        }
        wait = ", ".join(f"after {seconds:g} s" for seconds in sorted(retry))
        rows.append([f"`{kind.kind}`", *(f"`{one.outcome}`" if one else "stays open" for one in (start, other)),
                     wait or ("reads settle it" if start is None else "never")])  # fmt: skip
    heads = ["the answer", "to a start", "to any other write", "the next write of the job"]
    return "\n".join(table(heads, rows))


def intent_life() -> str:
    """The life of an intent: by its answer, or by reads where none came."""
    answered = {Outcome.LANDED} | {
        one.outcome
        for kind in ERRORS
        for verb in VERBS
        if (one := outcome_of(intent(verb), kind("no"), at(0)))
    }
    read = {
        Outcome(answer.strip("*"))
        for verb in Verb
        for name in READS
        for boot in BOOTS
        for answer in _answers(verb, name, boot)
        if answer.startswith("**")
    }
    lines = [
        "    [*] --> open: intended, by compare-and-set",
        f"    open --> settled: the answer says {_in_order(answered)}",
        "    open --> missed: the first read after the landing bound does not show it",
        f"    open --> settled: a read shows it, or nobody can tell any more ({_in_order(read - {Outcome.NOT_LANDED})})",
        f"    missed --> settled: the second read decides ({_in_order(read)})",
        "    missed --> missed: a read under another boot counts as the first",
        "    settled --> settled: the answer comes late, and landed beats not landed",
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


def _in_order(outcomes: set[Outcome]) -> str:
    return ", ".join(one.value for one in Outcome if one in outcomes)


# --- the times of a call


def slurm_declarations() -> Declarations:
    """What the Slurm adapter declares by default, where MessageTimeout, KillWait and MinJobAge are Slurm's own defaults."""
    return declarations_of(read_cluster("slurm 26.05.5", SLURM_CONFIG), decode_settings({}))


def earliest_settlement(declared: Declarations) -> tuple[float, float]:
    """The seconds after the intent at which the first read may note a miss, and the last one settle it as not landed."""
    made = Intent(
        id="i",
        verb=Verb.OPEN,
        submission=1,
        ref=ref(1),
        boot="b1",
        deadline=at(0) + declared.call_window,
    )
    known, first = OpenIntent(intent=made), None
    sent = at(0)
    while True:
        listing = Listing(
            version=1, requested=sent, sent=sent, boot="b1", observations=seen_as("gated")
        )
        match settle(known, listing, declared):
            case Settled():
                assert first is not None
                return first, (sent - at(0)).total_seconds()
            case Missed() as missed:
                seconds = (sent - at(0)).total_seconds()
                first = seconds if first is None else first
                sighting = Sighting(sent=missed.sent, boot=missed.boot)
                known = OpenIntent(intent=made, missed=sighting, misses=known.misses + 1)
            case moment:
                sent = moment


def timing() -> str:
    """The times of a call on a line, with the numbers of Slurm."""
    declared = slurm_declarations()
    window, bound = declared.call_window.total_seconds(), declared.call_bound.total_seconds()
    skew = declared.clock_skew.total_seconds()
    first, last = earliest_settlement(declared)
    points = [
        (0.0, "the intent is appended; who appended it may call"),
        (window, "deadline: a command that begins later does nothing"),
        (window + bound, "what began in time has ended: its effect is there, or never will be"),
        (first, f"landing bound: and the clocks may differ by {skew:g} s. First read that may count"),
        (last, "second read, a call bound later, same boot: not landed. Anybody may try again"),
    ]  # fmt: skip
    lines = ["seconds, on the clock of the host where commands run", ""]
    for number, (seconds, what) in enumerate(points):
        lines.append(f"{seconds:8.3f} ─┼─ {what}")
        if number < len(points) - 1:
            lines.append(f"          │   {_between(number, declared)}")
    return "\n".join(["```text", *lines, "```"])


def _between(number: int, declared: Declarations) -> str:
    return (
        f"call window, {declared.call_window}: the command may begin",
        f"call bound, {declared.call_bound}: one that began at the very end may still have its effect",
        f"clock skew, {declared.clock_skew}, and a millisecond",
        f"call bound, {declared.call_bound}: the controller does not work in order",
    )[number]


def numbers() -> str:
    """What is declared: the defaults of the model, and what the Slurm adapter works out."""
    ours, slurm = Declarations(), slurm_declarations()
    rows = [
        [f"`{encoded}`", str(getattr(ours, name)), str(getattr(slurm, name)), DECLARED_BY[encoded]]
        for name, encoded in zip(ours.__struct_fields__, ours.__struct_encode_fields__, strict=True)
    ]
    return "\n".join(table(["declared", "by default", "on Slurm", "what it bounds"], rows))


DECLARED_BY = {
    "callBound": "the longest time that a call which has begun can take to have its effect: twice MessageTimeout, and 5 s",
    "callWindow": "how long after its intent a call may still begin",
    "saveWindow": "how long a controller may forget what it acknowledged",
    "evidenceWindow": "how long the evidence of an end is kept: accounting, else MinJobAge",
    "clockSkew": "2 s for drift, and what was measured when the cluster was opened",
    "killWait": "from a node's registration until it has killed what it should not run: KillWait, and 10 s",
    "settlingReads": "so many reads must not show a write",
}

TABLES: dict[str, Callable[[], str]] = {
    "moves": moves,
    "main-line": main_line,
    "tainted": tainted,
    "intent": intent_life,
    "replies": replies,
    "settling": settling,
    "steps": steps,
    "timing": timing,
    "numbers": numbers,
}


def main() -> None:
    """Write the tables of the page anew."""
    PAGE.write_text(filled(PAGE.read_text()))
