"""Small, readable makers of what the core decides on: records, reads and moments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from dispatch.core.ceasing import whose_nodes
from dispatch.core.deciding import next_step
from dispatch.core.folding import fold
from dispatch.core.sighting import nodes_of
from dispatch.model.answers import Action, ClusterIdentity, Declarations
from dispatch.model.job import Job
from dispatch.model.journal import (
    Accepted,
    Actor,
    AnyEvent,
    Entry,
    Intended,
    Intent,
    Observed,
    Outcome,
    Settled,
    Verb,
)
from dispatch.model.plan import Plan, PlannedRule
from dispatch.model.policy import Policy
from dispatch.model.quantity import Duration
from dispatch.model.status import (
    By,
    Cause,
    Detail,
    Gate,
    HoldSeen,
    Listing,
    NodeReport,
    ObjectKey,
    Observation,
    State,
    Verdict,
)
from dispatch.model.steps import Append, Call, Look, Rest, Step
from dispatch.model.view import JobView

T0 = datetime(2026, 1, 1, tzinfo=UTC)
JOB = "01JDXW0000000000000000000A"
STORE = "store-1"
WHO = Actor(user="alice", host="login1", role="test")
DECLARED = Declarations(
    call_bound=Duration(seconds=25),
    call_window=Duration(seconds=30),
    save_window=Duration(seconds=30),
    evidence_window=Duration(minutes=5),
    clock_skew=Duration(seconds=2),
    kill_wait=Duration(seconds=40),
    settling_reads=2,
)


def at(seconds: float) -> datetime:
    """So many seconds after the beginning."""
    return T0 + timedelta(seconds=seconds)


def s(text: str) -> Duration:
    """A duration by its text."""
    return Duration.parse(text)


def header(
    policy: Policy | None = None, declared: Declarations = DECLARED, **fields: Any
) -> Accepted:
    """The header of a job with this policy, every rule carried out by the supervisor."""
    values: dict[str, Any] = {"command": ("train",), "recovery": policy, **fields}
    job = Job(**values)
    rules = tuple(
        PlannedRule(rule=index, action=rule.do)
        for index, rule in enumerate(policy.rules if policy else ())
    )
    return Accepted(
        id=JOB,
        job=job,
        spec_hash="hash",
        plan=Plan(rules=rules),
        cluster=ClusterIdentity(alias="c", adapter="memory", name="cluster"),
        store=STORE,
        declarations=declared,
    )


def entry(version: int, event: AnyEvent, when: datetime = T0) -> Entry:
    """An event in its place."""
    return Entry(version=version, at=when, actor=WHO, nonce=str(version), event=event)


def record(
    *events: AnyEvent, policy: Policy | None = None, head: Accepted | None = None
) -> JobView:
    """The view that a record of the header and these events folds to."""
    return tell(fold([entry(1, head or header(policy))]), *events)


def tell(view: JobView, *events: AnyEvent, when: datetime = T0) -> JobView:
    """Append these events to what the view was folded from."""
    return fold((entry(view.version + n, event, when) for n, event in enumerate(events, 1)), view)


def ref(n: int) -> str:
    """The reference of the object of submission n."""
    return f"ref-{n}"


def key(n: int = 1, *, store: str = STORE, attempt: str | None = None) -> ObjectKey:
    """What the object of submission n says of itself."""
    return ObjectKey(job=JOB, store=store, submission=n, attempt=attempt or f"try-{n}")


def intent(verb: Verb, n: int = 1, *, at_: float = 0, boot: str = "b1", **fields: Any) -> Intent:
    """A write intended at that moment, named after its verb and submission."""
    values: dict[str, Any] = {"id": f"{verb}-{n}", "ref": ref(n)}
    if verb is Verb.START:
        values |= {"ref": None, "attempt": f"try-{n}", "base": 1_000}
    return Intent(
        verb=verb,
        submission=n,
        deadline=at(at_) + DECLARED.call_window,
        boot=boot,
        **{**values, **fields},
    )


BOUND = 57.5
"""The seconds after its intent from which a read may settle a write: window, bound, skew, and a little."""


def started(n: int = 1, **fields: Any) -> tuple[AnyEvent, ...]:
    """The events of a start that landed."""
    made = intent(Verb.START, n, **fields)
    return (
        Intended(intent=made),
        Settled(intent=made.id, outcome=Outcome.LANDED, ref=ref(n)),
    )


def opening(n: int = 1, **fields: Any) -> tuple[AnyEvent, ...]:
    """The events up to an open of unknown outcome."""
    return (
        *started(n, boot=fields.get("boot", "b1")),
        read(gated(n)),
        Intended(intent=intent(Verb.OPEN, n, **fields)),
    )


def opened(n: int = 1, **fields: Any) -> tuple[AnyEvent, ...]:
    """The events up to an open that landed."""
    return (*opening(n, **fields), Settled(intent=f"open-{n}", outcome=Outcome.LANDED))


def read(seen: Observation, *, sent: float = 0, boot: str = "b1") -> Observed:
    """The event that this observation was read."""
    return Observed(submission=seen.key.submission, observation=seen, sent=at(sent), boot=boot)


def ran(n: int = 1, *, sent: float = 0, boot: str = "b1", **fields: Any) -> tuple[AnyEvent, ...]:
    """The events up to an execution that was seen running."""
    return (*opened(n, boot=boot), read(running(n, **fields), sent=sent, boot=boot))


# --- observations


def seen(n: int, verdict: Verdict, **fields: Any) -> Observation:
    """An observation of the object of submission n."""
    values: dict[str, Any] = {"ref": ref(n), "key": key(n), "final": verdict.state.ended}
    return Observation(verdict=verdict, **{**values, **fields})


def gated(n: int = 1, **fields: Any) -> Observation:
    """Created, and kept from running by its gate."""
    verdict = Verdict(state=State.PENDING, cause=Cause.GATED)
    return seen(n, verdict, **{"gate": Gate.CLOSED, **fields})


def queued(n: int = 1, **fields: Any) -> Observation:
    """Waiting in the queue."""
    verdict = fields.pop("verdict", Verdict(state=State.PENDING, cause=Cause.NO_CAPACITY))
    return seen(n, verdict, **fields)


def held(n: int = 1, instance: int | None = 1, by: By | None = None, **fields: Any) -> Observation:
    """Waiting in the queue under a hold."""
    return queued(n, hold=HoldSeen(instance=instance, by=by), **fields)


def running(n: int = 1, *, start: float = 0, **fields: Any) -> Observation:
    """Running, since then, on n1 and n2."""
    values: dict[str, Any] = {"started": at(start), "nodes": ("n1", "n2")}
    return seen(n, Verdict(state=State.RUNNING), **{**values, **fields})


def ended(
    n: int = 1,
    cause: Cause | None = Cause.PREEMPTED,
    *,
    state: State = State.FAILED,
    proven: bool = True,
    ran_for: float | None = 600,
    detail: Detail | None = None,
    **fields: Any,
) -> Observation:
    """Ended with that cause after so many seconds of running on n1 and n2 (``None``: it never ran)."""
    values: dict[str, Any] = {}
    if ran_for is not None:
        values = {"started": at(0), "ended": at(ran_for), "nodes": ("n1", "n2")}
    verdict = Verdict(state=state, cause=cause, detail=detail or Detail(), proven=proven)
    return seen(n, verdict, **{**values, **fields})


def succeeded(n: int = 1, **fields: Any) -> Observation:
    """Ended well."""
    return ended(n, None, state=State.SUCCEEDED, **fields)


def cancelled(n: int = 1, by: By | None = By.OWNER, **fields: Any) -> Observation:
    """Ended by somebody's cancellation, before it ran where nothing else is said."""
    values: dict[str, Any] = {"ran_for": None, "detail": Detail(by=by), **fields}
    return ended(n, Cause.CANCELLED, state=State.CANCELLED, **values)


def nodes(**responding: bool) -> tuple[NodeReport, ...]:
    """Node reports: ``nodes(n1=True, n2=False)``."""
    return tuple(NodeReport(name=name, responding=up) for name, up in responding.items())


BOTH_UP = nodes(n1=True, n2=True)


# --- deciding


def listing(
    view: JobView, *observations: Observation, sent: float = 0, boot: str = "b1", **fields: Any
) -> Listing:
    """A read of these objects that was sent after the view was folded, at a moment that all clocks agree on."""
    values: dict[str, Any] = {"version": view.version, "requested": at(sent), "sent": at(sent)}
    return Listing(boot=boot, observations=observations, **{**values, **fields})


def step(
    view: JobView, *observations: Observation, sent: float = 0, boot: str = "b1", **fields: Any
) -> Step:
    """What to do about the job on a read of these objects, now."""
    now = fields.pop("now", None)
    made = listing(view, *observations, sent=sent, boot=boot, **fields)
    return next_step(view, made, at(sent if now is None else now))


def settled_step(
    view: JobView, *observations: Observation, sent: float = 0, boot: str = "b1", **fields: Any
) -> tuple[JobView, Step]:
    """Append whatever the read says, until there is something else to do than to append."""
    for _ in range(20):
        made = step(view, *observations, sent=sent, boot=boot, **fields)
        if not isinstance(made, Append):
            return view, made
        view = tell(view, *made.events, when=at(sent))
    raise AssertionError("it appends without end")


def judged(view: JobView, *observations: Observation, sent: float = 0, boot: str = "b1") -> JobView:
    """Read an end, and again a save window later: its verdict is recorded."""
    view, _ = settled_step(view, *observations, sent=sent, boot=boot)
    made = step(view, *observations, sent=sent + 31, boot=boot)
    assert isinstance(made, Append), made
    return tell(view, *made.events, when=at(sent + 31))


def ceased(view: JobView, *observations: Observation, sent: float = 0) -> JobView:
    """Read an end, and that all nodes respond, until its cessation is recorded."""
    view = judged(view, *observations, sent=sent)
    for later in (32, 73):
        view, _ = settled_step(view, *observations, sent=sent + later, nodes=BOTH_UP)
    return view


def calls(made: Step) -> tuple[Verb, int] | None:
    """The verb and the submission of a call, or ``None`` where the step is none."""
    return (made.verb, made.submission) if isinstance(made, Call) else None


def waits(made: Step) -> tuple[str, float | None]:
    """The row of a look, and its moment in seconds."""
    assert isinstance(made, Look), made
    return made.row, None if made.at is None else (made.at - T0).total_seconds()


def kinds(made: Step) -> list[str]:
    """The names of the events of an append."""
    assert isinstance(made, Append), made
    return [type(event).__name__ for event in made.events]


def row(made: Step) -> str:
    """The row of the decision table that made the step."""
    assert isinstance(made, Append | Call | Look | Rest)
    return made.row


def planned(view: JobView, *actions: Action) -> JobView:
    """The same job, its rules planned with these actions."""
    plan = Plan(rules=tuple(PlannedRule(rule=i, action=a) for i, a in enumerate(actions)))
    return replace(view, header=replace(view.header, plan=plan))


def nodes_wanted(view: JobView, *, fence: bool = False) -> tuple[str, ...] | None:
    """The nodes that are read together with the job; empty means all where it could have run, absent that none are."""
    known = whose_nodes(view, fence=fence)
    return None if known is None else nodes_of(known)
