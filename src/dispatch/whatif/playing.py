"""Play one seed: the real ``next_step`` on a real record, against a cluster that fails as the conditions say.

The record is folded from events as a supervisor would append them; every call lands at once, since what is asked here
is what a policy does, not whether the protocol holds (`docs/decisions/0020`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, assert_never

from msgspec.structs import replace

from dispatch.core.ceasing import whose_nodes
from dispatch.core.deciding import next_step
from dispatch.core.folding import fold
from dispatch.core.recovery import effective_job, excluded_nodes
from dispatch.core.sighting import nodes_of
from dispatch.model.answers import ClusterIdentity, Declarations
from dispatch.model.epoch import ulid
from dispatch.model.job import Job
from dispatch.model.journal import (
    Accepted,
    Actor,
    AnyEvent,
    Decided,
    Entry,
    Intended,
    Intent,
    Outcome,
    ReleaseAsked,
    Settled,
    Verb,
)
from dispatch.model.plan import Plan
from dispatch.model.status import (
    Cause,
    Gate,
    HoldSeen,
    Listing,
    ObjectKey,
    Observation,
    State,
    Verdict,
)
from dispatch.model.steps import Append, Call, Look, Rest
from dispatch.model.view import JobView
from dispatch.whatif.cluster import Cluster, Execution, Fate
from dispatch.whatif.conditions import MOST_EXECUTIONS, Conditions

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""When each run begins; nothing depends on it."""
WHO = Actor(user="simulated", host="simulated", role="simulate")
STORE = "simulated"
BOOT = "simulated"
NO_VERDICT = Verdict(state=State.PENDING)
GATED = Verdict(state=State.PENDING, cause=Cause.GATED)
HELD = Verdict(state=State.PENDING, cause=Cause.HELD)


class Decision(NamedTuple):
    """What the core decided about an execution, and when."""

    at: int
    decided: Decided


class Run(NamedTuple):
    """What came of one seed. Times are in milliseconds since the job was accepted.

    ``outcome`` is ``finished``, ``failed``, ``held``, ``waiting`` (for what never comes), ``running`` (at the horizon)
    or ``endless`` (too many executions); ``why`` has the core's words for it. ``waits`` has the time between executions
    by the row of the decision table that waited.
    """

    seed: int | None
    outcome: str
    why: str
    ended: int
    base: int
    executions: tuple[Execution, ...]
    decisions: tuple[Decision, ...]
    waits: dict[str, int]


def play(job: Job, plan: Plan, conditions: Conditions, seed: int | None) -> Run:
    """Play the job once. The same job, conditions and seed give the same run, in every process."""
    return _Game(job, plan, conditions, seed).play()


class _Game:
    """One run as it goes on."""

    def __init__(self, job: Job, plan: Plan, conditions: Conditions, seed: int | None) -> None:
        self._conditions = conditions
        self._cluster = Cluster(conditions, seed, job)
        self._seed = seed
        self._horizon = conditions.horizon.ms
        self._set_time(0)
        self._view = fold([self._entry(1, _header(job, plan, seed))])
        self._fate: Fate | None = None
        self._seen: Observation | None = None
        self._held_since = 0
        self._executions: list[Execution] = []
        self._waits: Counter[str] = Counter()

    def play(self) -> Run:
        """Go from step to step until the job has ended, or the horizon is reached."""
        while self._now < self._horizon:
            if len(self._executions) >= MOST_EXECUTIONS:
                return self._over("endless", f"more than {MOST_EXECUTIONS} executions")
            step = next_step(self._view, self._listing(), self._moment)
            match step:
                case Append(events=events):
                    self._append(*events)
                case Call() as call:
                    self._make(call)
                    if self._fate is not None and self._fate.cut:
                        outcome = "waiting" if self._fate.why else "running"
                        return self._over(outcome, self._fate.why)
                case Look() as look:
                    if not self._wait(look):
                        return self._over(*_stuck(self._view, look))
                case Rest():
                    break
                case _:
                    assert_never(step)
        if self._view.verdict is None:
            return self._over("held" if self._view.hold else "running", "")
        outcome = "finished" if self._view.verdict.state is State.SUCCEEDED else "failed"
        return self._over(outcome, _last_words(self._view))

    def _over(self, outcome: str, why: str) -> Run:
        decisions = tuple(Decision(_ms(at), decided) for at, decided in self._view.decisions)
        ended = min(self._now, self._horizon)
        return Run(
            self._seed, outcome, why, ended, self._view.job.nodes,
            tuple(self._executions), decisions, dict(self._waits),
        )  # fmt: skip

    # --- the record

    def _entry(self, version: int, event: AnyEvent) -> Entry:
        return Entry(version=version, at=self._moment, actor=WHO, nonce="", event=event)

    def _append(self, *events: AnyEvent) -> None:
        before = self._view.hold
        version = self._view.version
        entries = [self._entry(version + n, event) for n, event in enumerate(events, 1)]
        self._view = fold(entries, self._view)
        if self._view.hold is not None and self._view.hold != before:
            self._held_since = self._now

    def _forget_what_is_gone(self) -> None:
        """Drop objects that have ceased: no row looks at them, and thousands of them would cost time with each step."""
        current = self._view.current
        if current is not None:
            self._view = replace(self._view, objects={current.submission: current})

    # --- the scheduler

    def _listing(self) -> Listing:
        known = whose_nodes(self._view, fence=False)
        return Listing(
            version=self._view.version,
            requested=self._moment,
            sent=self._moment,
            boot=BOOT,
            observations=() if self._seen is None else (self._seen,),
            nodes=None if known is None else self._cluster.reports(nodes_of(known), self._now),
        )

    def _make(self, call: Call) -> None:
        """Let a call land at once, and do what it does."""
        is_start = call.verb is Verb.START
        intent = Intent(
            id=f"{call.verb}-{call.submission}-{self._view.version}",
            verb=call.verb,
            submission=call.submission,
            deadline=self._moment,
            boot=BOOT,
            ref=call.ref,
            attempt=str(call.submission) if is_start else None,
            base=0 if is_start else None,
            instance=call.instance,
        )
        ref = str(call.submission) if is_start else None
        if is_start:
            self._forget_what_is_gone()
        self._append(
            Intended(intent=intent), Settled(intent=intent.id, outcome=Outcome.LANDED, ref=ref)
        )
        match call.verb:
            case Verb.START:
                self._start(call.submission)
            case Verb.HOLD:
                self._show(hold=HoldSeen(instance=call.instance))
            case Verb.RELEASE:
                self._show(hold=None)
                self._run()
            case Verb.OPEN:
                self._show(gate=Gate.OPEN, verdict=NO_VERDICT)
                if self._view.hold is None:
                    self._run()
            case Verb.STOP:
                raise AssertionError("nobody stops a job that is simulated")
            case _:
                assert_never(call.verb)

    def _show(self, **changes: object) -> None:
        assert self._seen is not None
        self._seen = replace(self._seen, **changes)

    def _start(self, submission: int) -> None:
        text = str(submission)
        key = ObjectKey(job=self._view.id, store=STORE, submission=submission, attempt=text)
        self._seen = Observation(ref=text, key=key, verdict=GATED, gate=Gate.CLOSED)

    def _run(self) -> None:
        """Let the open object run to its end. Nobody need have looked meanwhile: only the end is decided on."""
        current = self._view.current
        assert current is not None
        excluded = excluded_nodes(self._view, self._moment)
        fate = self._cluster.execute(
            effective_job(self._view), excluded, current.submission, self._now
        )
        self._fate = fate
        self._executions.append(fate.execution)
        self._set_time(fate.execution.ended)
        if fate.cut:
            return
        self._show(
            verdict=_verdict(fate),
            hold=None,
            final=True,
            nodes=fate.names,
            started=_at(fate.execution.started),
            ended=_at(fate.execution.ended),
        )
        self._pass_time("await the next look", self._now + self._conditions.poll.ms)

    # --- time

    def _wait(self, look: Look) -> bool:
        """Wait until something can be otherwise; ``False`` where nothing ever will."""
        moments = [] if look.at is None else [_ms(look.at)]
        current, hold = self._view.current, self._view.hold
        if current is not None and current.awaiting:
            moments.append(self._cluster.returns(current.awaiting))
        if hold is not None and self._conditions.person_after is not None:
            released = self._held_since + self._conditions.person_after.ms
            if released <= self._now:
                self._append(ReleaseAsked(instance=hold.instance, by="a person"))
                return True
            moments.append(released)
        later = [moment for moment in moments if moment > self._now]
        if not later:
            return False
        self._pass_time("held" if hold is not None else look.row, min(later))
        return True

    def _pass_time(self, row: str, until: int) -> None:
        until = min(until, self._horizon)
        self._waits[row] += until - self._now
        self._set_time(until)

    def _set_time(self, now: int) -> None:
        # Both are kept: each step reads the time several times, and few let any pass.
        self._now, self._moment = now, _at(now)


def _verdict(fate: Fate) -> Verdict:
    """The verdict as an adapter gives it; what is not known is never proven, and so charged to nobody."""
    return Verdict(
        state=State.FAILED if fate.cause else State.SUCCEEDED,
        cause=fate.cause,
        detail=fate.detail,
        proven=fate.cause is not Cause.UNKNOWN,
    )


def _header(job: Job, plan: Plan, seed: int | None) -> Accepted:
    randomness = hashlib.sha256(f"job {seed}".encode()).digest()[:10]
    return Accepted(
        id=ulid(int(EPOCH.timestamp() * 1000), randomness),
        job=job,
        spec_hash="",
        plan=plan,
        cluster=ClusterIdentity(alias="simulated", adapter="simulated", name="simulated"),
        store=STORE,
        declarations=Declarations(),
    )


def _stuck(view: JobView, look: Look) -> tuple[str, str]:
    if view.hold is not None:
        return "held", view.hold.by.removeprefix("policy: ")
    return "waiting", look.why


def _last_words(view: JobView) -> str:
    last = view.last_decision
    return (
        last.why
        if last is not None and view.verdict is not None and last.verdict == view.verdict
        else ""
    )


def _at(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def _ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)
