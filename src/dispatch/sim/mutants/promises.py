"""Mutants of what is promised to people, and of what another rule makes up for: only the record shows them."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace as replace_value

from dispatch.core import deciding, ending, folding, landing, recovery, stopping
from dispatch.core.ending import judge, note_missing
from dispatch.core.situation import Situation
from dispatch.core.starting import begin, expire_hold
from dispatch.model.answers import Action, Declarations
from dispatch.model.errors import DispatchError, Expired
from dispatch.model.journal import (
    Decided,
    HoldAsked,
    Intent,
    Missed,
    Outcome,
    ReleaseAsked,
    Settled,
    StopAsked,
)
from dispatch.model.policy import Budget, Policy
from dispatch.model.quantity import Duration
from dispatch.model.status import Listing, Observation
from dispatch.model.steps import Append, Call, Step
from dispatch.model.view import JobView, OpenIntent, Phase
from dispatch.shell import acting, batch, driving, intents
from dispatch.shell.driving import Until
from dispatch.shell.operator import Operator
from dispatch.sim import climates
from dispatch.sim.mutants.mutant import Mutant, Swap, constant, instead

_settle, _asked, _ask_stop = landing.settle, folding._asked, Operator.ask_stop  # noqa: SLF001 - what is broken
_brake, _unmatched = recovery._brake, recovery._unmatched  # noqa: SLF001 - what is broken
_stop_first = stopping._stop_first  # noqa: SLF001 - what is broken
_outcome_of, _has_reached = intents.outcome_of, driving.has_reached


def _judge_while_it_is_cleaned(s: Situation) -> Step | None:
    known, seen = s.view.current, s.current_seen
    if known is None or seen is None or known.phase is not Phase.ENDED or known.ended is None:
        return None
    if not seen.final:
        return judge(s)
    return ending._judge_when_sure(s, known, seen, known.ended)  # noqa: SLF001 - what is broken


def _is_final(seen: Observation) -> bool:
    return seen.state.ended and seen.final


def _give_up_soon(s: Situation) -> Step | None:
    declared = s.view.header.declarations
    soon = replace_value(declared, evidence_window=declared.save_window)
    view = replace_value(s.view, header=replace_value(s.view.header, declarations=soon))
    return note_missing(Situation(view, s.listing, s.now))


def _two_reads(
    known: OpenIntent, listing: Listing, declared: Declarations
) -> Settled | Missed | datetime:
    return _settle(known, listing, replace_value(declared, settling_reads=2))


def _no_skew(intent: Intent, declared: Declarations) -> datetime:
    return intent.deadline + declared.call_bound + timedelta(milliseconds=1)


def _due_by_any_clock(s: Situation) -> Step | None:
    declared = replace_value(s.view.header.declarations, clock_skew=Duration())
    view = replace_value(s.view, header=replace_value(s.view.header, declarations=declared))
    return begin(Situation(view, s.listing, s.now))


def _stop_again(s: Situation, victims: list[Observation], why: str) -> Call | None:
    return _stop_first(Situation(replace_value(s.view, intents=()), s.listing, s.now), victims, why)


def _end_hold_at_once(s: Situation) -> Step | None:
    hold = s.view.hold
    if hold is None or hold.until is None:
        return None
    return Append(events=(ReleaseAsked(instance=hold.instance, by="until then"),), row="hold ends")


def _number_again(view: JobView, event: HoldAsked | ReleaseAsked | StopAsked) -> JobView:
    return replace_value(_asked(view, event), last_instance=view.last_instance)


def _late_is_refused(intent: Intent, error: DispatchError, now: datetime) -> Settled | None:
    settled = _outcome_of(intent, error, now)
    if settled is not None and isinstance(error, Expired):
        return replace_value(settled, outcome=Outcome.REJECTED, retry_at=None)
    return settled


def _brake_late(view: JobView, policy: Policy, decided: Decided) -> Decided:
    brake = policy.crash_loop
    if brake is None:
        return decided
    more = replace_value(brake, executions=brake.executions + 1)
    return _brake(view, replace_value(policy, crash_loop=more), decided)


def _fail_unmatched(policy: Policy, decided: Decided, why: str) -> Decided:
    return replace_value(_unmatched(policy, decided, why), action=Action.FAIL, due=None)


def _reached_once_asked(view: JobView, until: Until) -> bool:
    asked = view.stop is not None and until is Until.ACKNOWLEDGED
    return asked or _has_reached(view, until)


def _drop_what_has_not_begun(self: Operator, job: str, why: str = "") -> JobView:
    view = self.ledger.view(job)
    return view if view.current is None else _ask_stop(self, job, why)


MUTANTS = (
    Mutant(
        "two reads whatever is declared", "R2",
        "A cluster may need more reads than two, and says so.",
        (Swap(deciding, "settle", _two_reads),), 30, climates.PATIENT,
    ),
    Mutant(
        "no allowance for clocks in the landing bound", "R3",
        "The deadline was checked by another clock than the read's.",
        (Swap(landing, "landing_bound", _no_skew),), 60,
    ),
    Mutant(
        "a due time by any clock", "B1",
        "A wait is never cut short, though clocks differ.",
        (instead(begin, _due_by_any_clock),), 60, climates.PREEMPTING,
    ),
    Mutant(
        "a stop is sent again while one is open", "O7",
        "An open intent is the lock: beside it its own like is not written.",
        (Swap(stopping, "_stop_first", _stop_again),), 60,
    ),
    Mutant(
        "what is still cleaned up is gone", "E4",
        "A node that cleans up runs the last execution still.",
        (instead(judge, _judge_while_it_is_cleaned), Swap(stopping, "is_gone", _is_final)), 60, climates.CLEANING_LONG,
    ),
    Mutant(
        "evidence of an end is not awaited", "E2",
        "What neither the queue nor accounting shows yet may be shown soon.",
        (instead(note_missing, _give_up_soon),), 30,
    ),
    Mutant(
        "what nobody knows is charged", "E5",
        "An end that nothing proves is charged to nobody.",
        (Swap(recovery, "_budget", constant(Budget.INFRASTRUCTURE)),), 30,
    ),
    Mutant(
        "a timed hold ends at once", "B7",
        "What was asked for until a time does not end before it.",
        (instead(expire_hold, _end_hold_at_once),), 30, climates.HELD_A_WHILE,
    ),
    Mutant(
        "the number of a hold comes again", "O5",
        "A late release of the first would lift the second.",
        (Swap(folding, "_asked", _number_again),), 60, climates.HELD,
    ),
    Mutant(
        "what was late is refused for good", "O7",
        "A call that came too late was not made; nobody has refused the job.",
        (Swap(acting, "outcome_of", _late_is_refused), Swap(batch, "outcome_of", _late_is_refused)), 60, climates.SLOW,
    ),
    Mutant(
        "the brake comes an execution late", "plan",
        "A crash loop ends where the policy says.",
        (Swap(recovery, "_brake", _brake_late),), 80, climates.PREEMPTING,
    ),
    Mutant(
        "an excluded node is used again", "plan",
        "The next execution is kept off the node that has failed.",
        (Swap(intents, "excluded_nodes", constant(())),), 80, climates.LOSING_NODES,
    ),
    Mutant(
        "what no rule matches fails", "plan",
        "The policy says what is done about what it does not name.",
        (Swap(recovery, "_unmatched", _fail_unmatched),), 60,
    ),
    Mutant(
        "the first free try is the last", "B1",
        "The protocol goes on by itself after a fault of the controller.",
        (Swap(recovery, "MOST_FREE_RETRIES", 0),), 30, climates.FORGETFUL,
    ),
    Mutant(
        "a stop is told before it is true", "E2",
        "Whoever waits for a stop is told once the job has ended, and not before.",
        (Swap(driving, "has_reached", _reached_once_asked),), 30, climates.STOPPED_AND_WAITED_FOR,
    ),
    Mutant(
        "a stop of what has not begun is dropped", "B7",
        "A request that was accepted is recorded.",
        (Swap(Operator, "ask_stop", _drop_what_has_not_begun),), 60, climates.STOPPED_AND_WAITED_FOR,
    ),
)  # fmt: skip
