"""Broken cores: calls, holds, stops, what is lost, and several supervisors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from conformance.breaking import Breakable
from conformance.breaking_core import adapter, in_place_of, row
from conformance.broken_holds import TakesEveryFlagForTheGate
from dispatch.adapters.memory.world import World
from dispatch.core import ceasing, deciding, ending, starting
from dispatch.core.situation import Situation
from dispatch.model.errors import Busy, OutcomeUnknown, Rejected, Unavailable
from dispatch.model.journal import Forgot, Intent, Outcome, Settled, Verb
from dispatch.model.policy import Cessation
from dispatch.model.status import Gate, HoldSeen, State
from dispatch.model.steps import Append, Call, Look, Step
from dispatch.model.view import JobView, Phase
from dispatch.shell import acting, intents
from dispatch.shell.clusters import Cluster
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.spi.adapter import CallMeta, Reading, StartOrder

# --------------------------------------------------------------------------------- calls


@adapter
class StartsAgain(Breakable):
    """a start that is simply made again when its reply is lost"""

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        try:
            return await super().start(order, meta)
        except OutcomeUnknown:
            return await super().start(order, meta)


@in_place_of(acting, "outcome_of")
def gives_up_at_once(real: Any, intent: Intent, error: Exception, now: datetime) -> Settled | None:
    """a refusal for now that is taken for one for good"""
    found: Settled | None = real(intent, error, now)
    if isinstance(error, Busy) and found is not None:
        return Settled(intent=intent.id, outcome=Outcome.REJECTED, reason=found.reason)
    return found


@in_place_of(acting, "outcome_of")
def never_gives_up(real: Any, intent: Intent, error: Exception, now: datetime) -> Settled | None:
    """a refusal for good that is tried again"""
    found: Settled | None = real(intent, error, now)
    if isinstance(error, Rejected) and found is not None:
        again = now + timedelta(seconds=30)
        return replace(found, outcome=Outcome.BUSY, retry_at=again)
    return found


@in_place_of(acting.Writer, "make")
async def opens_unrecorded(
    real: Any, self: acting.Writer, view: JobView, call: Call, on: Any
) -> Any:
    """an open that is made before it is recorded"""
    # What is held would stay gated to the record, and every rule about holds would fail with it.
    if call.verb is Verb.OPEN and view.hold is None:
        deadline = self.ledger.clock.now() + timedelta(seconds=30)
        await self.backend.open(call.ref or "", CallMeta(deadline=deadline))
        return view
    return await real(self, view, call, on)


@in_place_of(deciding, "settle")
def never_finds_a_start(real: Any, known: Any, listing: Any, declared: Any) -> Any:
    """a start that no read is believed to show"""
    if known.intent.verb is Verb.START:
        listing = replace(listing, observations=())
    return real(known, listing, declared)


@in_place_of(deciding, "settle")
def believes_an_open(real: Any, known: Any, listing: Any, declared: Any) -> Any:
    """an open of unknown outcome that is taken for made"""
    if known.intent.verb is Verb.OPEN:
        return Settled(intent=known.intent.id, outcome=Outcome.LANDED)
    return real(known, listing, declared)


@row("settle_intents")
def never_settles_a_stop(real: Any, s: Situation) -> Step | None:
    """a stop of unknown outcome that is waited for without end"""
    if any(one.intent.verb is Verb.STOP for one in s.view.intents):
        return Look(row="await landing", why="", at=s.local(s.listing.sent + timedelta(seconds=30)))
    step: Step | None = real(s)
    return step


@in_place_of(Ledger, "_added")
def acts_on_what_it_lost(real: Any, self: Ledger, after: JobView, *, added: bool) -> Any:
    """an intent that another was faster with, and whose call is made all the same"""
    kept = real(self, after, added=added)
    return after if kept is None and after.intents else kept


# --------------------------------------------------------------------------------- holds


@in_place_of(Operator, "ask_hold")
def holds_nothing_new(real: Any, self: Operator, job: str, *given: Any, **named: Any) -> JobView:
    """a hold that is forgotten where nothing was started yet"""
    view = self.ledger.view(job)
    if not view.objects:
        return view
    held: JobView = real(self, job, *given, **named)
    return held


@row("keep_holds")
def holds_nothing_queued(real: Any, s: Situation) -> Step | None:
    """a hold that is never placed on what waits in the queue"""
    step: Step | None = real(s)
    return None if isinstance(step, Call) and step.verb is Verb.HOLD else step


@in_place_of(starting, "_place_hold")
def holds_the_first_alone(real: Any, s: Situation, seen: Any) -> Step | None:
    """a person's hold that is forgotten at the next submission"""
    if seen.key.submission > 1 and s.view.hold and s.view.hold.by == s.view.user:
        return None
    step: Step | None = real(s, seen)
    return step


@row("expire_hold")
def holds_for_ever(real: Any, s: Situation) -> Step | None:
    """a hold with a time that never ends"""
    del real, s
    return None


@in_place_of(starting, "_held_by_us_alone", TakesEveryFlagForTheGate)
def releases_beneath(real: Any, hold: HoldSeen, gate: Gate) -> bool:
    """a release beneath an administrator's hold"""
    del real, gate
    return hold.instance is not None


# --------------------------------------------------------------------------------- stops


@in_place_of(starting, "stopped")
def starts_the_stopped(real: Any, s: Situation, why: str) -> Step | None:
    """a start of what is stopped already"""
    step: Step | None = None if not s.view.intents and not s.view.objects else real(s, why)
    return step


@row("stop_what_lives")
def spares_the_queue(real: Any, s: Situation) -> Step | None:
    """a stop that waits until what is queued runs"""
    queued = s.current_seen is not None and s.current_seen.state is State.PENDING
    step: Step | None = None if queued else real(s)
    return step


@row("stop_what_lives")
def spares_the_held(real: Any, s: Situation) -> Step | None:
    """a stop that waits for the release of a hold"""
    step: Step | None = None if s.view.hold else real(s)
    return step


@row("prove_cessation")
def stops_after_the_backoff(real: Any, s: Situation) -> Step | None:
    """a stop that waits for the end of a backoff"""
    decision = s.view.last_decision
    if s.view.stop and decision is not None and decision.due and s.listing.sent < decision.due:
        return Look(row="await due", why="backing off", at=decision.due)
    step: Step | None = real(s)
    return step


# -------------------------------------------------------------------------- what is lost


@in_place_of(ending, "cease")
def takes_silence_for_death(real: Any, view: Any, known: Any, listing: Any) -> Any:
    """a proof that asks no node"""
    answered = tuple(replace(one, responding=True) for one in listing.nodes or ())
    return real(view, known, replace(listing, nodes=answered))


@in_place_of(ending, "cease")
def never_sees_them_back(real: Any, *given: Any) -> Any:
    """a lost node that is never believed to be back"""
    found = real(*given)
    return None if type(found).__name__ == "NodesBack" else found


@in_place_of(ceasing, "_await")
def assumes_nothing(real: Any, view: JobView, *given: Any) -> Any:
    """a declared wait that is never over"""
    job = view.job
    strict = replace(job.policy, cessation=Cessation()) if job.policy else None
    patient = replace(view, header=replace(view.header, job=replace(job, recovery=strict)))
    return real(patient, *given)


@row("learn_of_success")
def learns_of_nothing(real: Any, s: Situation) -> Step | None:
    """a late success that nobody learns of"""
    del real, s
    return None


@adapter
class SeesNothing(Breakable):
    """an adapter that takes a cluster which does not answer for an empty one"""

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        try:
            return await super().find_many(jobs, known)
        except Unavailable:
            return Reading(sent=self._world.clock.now(), boot=self._world.boot)


@adapter
class SeesWhatComes(Breakable):
    """an adapter that shows no end from before it was opened"""

    def __init__(self, world: World, *, alias: str = "memory", read_only: bool = False) -> None:
        super().__init__(world, alias=alias, read_only=read_only)
        self.since = world.clock.now()

    def shown(self, reading: Reading) -> Reading:
        seen = [one for one in reading.observations if one.ended is None or one.ended >= self.since]
        return replace(reading, observations=tuple(seen))


@row("notice_forgetting")
def distrusts_a_boot(real: Any, s: Situation) -> Step | None:
    """a controller that has restarted, and is taken to have forgotten all"""
    known = s.view.current
    if known is not None and known.phase is Phase.OPEN and known.boot != s.listing.boot:
        why = "the controller has restarted"
        return Append(events=(Forgot(submission=known.submission, why=why),), row="forgotten")
    step: Step | None = real(s)
    return step


@in_place_of(Cluster, "is_away")
def never_comes_back(real: Any, self: Cluster, now: datetime) -> bool:
    """a cluster that is left alone for good once it was away"""
    return self.away_since is not None or bool(real(self, now))


@in_place_of(intents, "excluded_nodes")
def excludes_nothing(real: Any, *given: Any) -> tuple[str, ...]:
    """nodes that are excluded in the record alone"""
    del real, given
    return ()
