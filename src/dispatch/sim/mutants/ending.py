"""Mutants of ending, stopping and cessation."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from dispatch.adapters.memory import slurm_reading
from dispatch.core import ceasing, ending, starting, stopping
from dispatch.core.deciding import settle_intents
from dispatch.core.ending import judge, learn_of_success
from dispatch.core.situation import Situation, final_verdict, known_as
from dispatch.core.stopping import rest, stop_superseded, stop_what_lives, sweep
from dispatch.model.journal import Ceased, NodesBack, Proof
from dispatch.model.status import Cause, Gate, Listing, NodeReport, Observation
from dispatch.model.steps import Rest, Step
from dispatch.model.view import JobView, ObjectView, Phase, Sighting
from dispatch.shell.sweeping import Sweeper
from dispatch.sim import climates
from dispatch.sim.mutants.mutant import Mutant, Swap, constant, earlier, instead, without

_cease, _unproven = ceasing.cease, slurm_reading._unproven  # noqa: SLF001 - what is broken


def _judge_what_may_run_again(s: Situation) -> Step | None:
    known, seen = s.view.current, s.current_seen
    if known is None or seen is None or known.phase is not Phase.ENDED or known.ended is None:
        return None
    return ending._judge_when_sure(s, known, seen, known.ended)  # noqa: SLF001 - what is broken


def _has_ended(seen: Observation) -> bool:
    return seen.state.ended


def _sure_at_once(s: Situation, known: ObjectView, seen: Observation, _: Sighting) -> Step:
    return ending._judge(s, known, final_verdict(known, seen.verdict))  # noqa: SLF001 - what is broken


def _ended_is_ceased(_: JobView, known: ObjectView, __: Listing) -> Any:
    return Ceased(submission=known.submission, proof=Proof.CLEANED)


def _back_is_ceased(view: JobView, known: ObjectView, listing: Listing) -> Any:
    found = _cease(view, known, listing)
    waits = isinstance(found, datetime) and known.nodes_back is not None
    if waits or isinstance(found, NodesBack):
        return Ceased(submission=known.submission, proof=Proof.NODES_BACK)
    return found


def back_is_ceased_if_ordinary(view: JobView, known: ObjectView, listing: Listing) -> Any:
    """Ask of an execution that was preempted only that its nodes respond, not that they have done so for the kill wait."""
    decided = view.last_decision
    preempted = decided is not None and decided.verdict.cause is Cause.PREEMPTED
    lost = known is not view.current or known.awaiting_since is not None or bool(known.why)
    ordinary = preempted and not lost and not known.restarts
    return (_back_is_ceased if ordinary else _cease)(view, known, listing)


def _any_that_responds(_: tuple[str, ...], reports: tuple[NodeReport, ...]) -> tuple[str, ...]:
    return tuple(sorted(r.name for r in reports if r.kill_failed))


def _kill_failed_is_back(
    wanted: tuple[str, ...], reports: tuple[NodeReport, ...]
) -> tuple[str, ...]:
    back = tuple(replace(report, kill_failed=False) for report in reports)
    return _not_back(wanted, back)


_not_back = ceasing._not_back  # noqa: SLF001 - what is broken


def _a_plain_exit(record: Any, evidence: Any) -> Any:
    verdict = _unproven(record, evidence)
    return replace(verdict, cause=Cause.NON_ZERO_EXIT, proven=True)


def _stop_only_settled(s: Situation) -> Step | None:
    victims = [
        seen
        for seen in s.ours
        if (known := known_as(s.view, seen)) is not None
        and not seen.state.ended
        and (known.settled or known is not s.view.current)
    ]
    return stopping._stop_first(s, victims, "superseded")  # noqa: SLF001 - what is broken


def _leave_the_ended(s: Situation) -> Step | None:
    return None if s.view.verdict is None else Rest()


def _gated_and_unknown(view: JobView, seen: Observation) -> bool:
    return not seen.state.ended and seen.gate is Gate.CLOSED and known_as(view, seen) is None


async def _no_sweep(_: Sweeper) -> None:
    return


MUTANTS = (
    Mutant(
        "an end that may run again is judged", "E1",
        "What has its requeue bit set may be run again by anybody.",
        (instead(judge, _judge_what_may_run_again), Swap(stopping, "is_gone", _has_ended)), 80, climates.REQUEUED,
    ),
    Mutant(
        "an end is sure at once", "E2",
        "A controller may forget an end within its save window, and run it again.",
        (Swap(ending, "_judge_when_sure", _sure_at_once),), 120, climates.FORGETFUL_OF_STOPS,
    ),
    Mutant(
        "a stop forbids nothing", "E2",
        "A request to stop forbids every later start.",
        (Swap(starting, "stopped", constant(None)), Swap(ending, "stopped", constant(None))), 60, climates.STOPPED_BETWEEN,
    ),
    Mutant(
        "ended is ceased", "E4",
        "Processes on a lost node live on after the end.",
        (Swap(ending, "cease", _ended_is_ceased),), 30, climates.LOSING_NODES,
    ),
    Mutant(
        "no kill wait", "E4",
        "A node that is back needs its time to kill what it should not run.",
        (Swap(ending, "cease", _back_is_ceased),), 200, climates.LOSING_NODES,
    ),
    Mutant(
        "no kill wait after an ordinary end", "E4",
        "A node that was given up while it cleaned up may be back a moment ago.",
        (Swap(ending, "cease", back_is_ceased_if_ordinary),), 30, climates.GIVEN_UP,
    ),
    Mutant(
        "lost nodes are not awaited", "E4",
        "Each lost node must be seen responding again.",
        (Swap(ceasing, "_not_back", _any_that_responds),), 30, climates.LOSING_NODES,
    ),
    Mutant(
        "a node that could not kill is back", "E4",
        "A node that is drained since a kill failed still runs what it should not.",
        (Swap(ceasing, "_not_back", _kill_failed_is_back),), 80, climates.LOSING_NODES,
    ),
    Mutant(
        "an exit code that nothing proves", "E5",
        "Slurm reports an exit for launches that it refused itself.",
        (Swap(slurm_reading, "_unproven", _a_plain_exit),), 30, climates.FORGETFUL,
    ),
    Mutant(
        "a late success is not noticed", "E6",
        "What succeeded while nobody looked must not run again.",
        (without(learn_of_success),), 30, climates.LOSING_NODES,
    ),
    Mutant(
        "an uncertain object is kept", "E7",
        "What a write of unknown outcome has touched is stopped.",
        (instead(stop_superseded, _stop_only_settled),), 30, climates.FORGETFUL,
    ),
    Mutant(
        "the superseded are not stopped", "E7",
        "What is superseded and lives is stopped.",
        (without(stop_superseded),), 30, climates.FORGETFUL,
    ),
    Mutant(
        "an ended job is left alone", "T1",
        "The sweep covers ended jobs too.",
        (instead(rest, _leave_the_ended),), 30, climates.LOSING_NODES_ADMINISTERED,
    ),
    Mutant(
        "nobody sweeps", "T1",
        "A start that lands after its job has ended stays for ever.",
        (Swap(Sweeper, "sweep_if_due", _no_sweep),), 200, climates.LOSING_NODES_DYING,
    ),
    Mutant(
        "a sweep beside an open start", "T1",
        "A sweep takes what has just been started and nobody has heard of yet.",
        (earlier(sweep, settle_intents), Swap(stopping, "sweepable", _gated_and_unknown)), 30, climates.SILENT,
    ),
    Mutant(
        "a stop waits for an open", "E3",
        "A person's stop does not wait for a controller that hangs.",
        (earlier(settle_intents, stop_what_lives),), 60, climates.STOPPED_IN_SILENCE,
    ),
    Mutant(
        "a job goes on after its end", "S6",
        "The final verdict is the last word.",
        (without(rest),), 30,
    ),
)  # fmt: skip
