"""The state of a tiny world: one job, one Slurm-like controller, a few engines on one record.

A call is unsent, then in flight, then it has landed; its reply may be lost, its process may die. The controller may save
at any moment and crash at any other: it then knows what it had saved, under another boot, while the processes of
executions that it forgot run on until their node has registered. One *tick* of time is longer than every bound, so that
of a moment only two things matter: this tick, or an earlier one. A second start of one epoch is fenced by the start
ticket (12, O4), unless the case says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from core.builders import JOB, STORE, entry, header, nodes_wanted, s
from dispatch.core.folding import fold
from dispatch.model.answers import Action
from dispatch.model.errors import CorruptRecord
from dispatch.model.journal import AnyEvent, Outcome, Settled, Verb
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.status import (
    By,
    Cause,
    Detail,
    Gate,
    Listing,
    NodeReport,
    ObjectKey,
    Observation,
    State,
    Verdict,
)
from dispatch.model.view import JobView, Phase

TICK = timedelta(seconds=1000)
START = datetime(2026, 1, 1, tzinfo=UTC)
RUNS = datetime(2025, 1, 1, tzinfo=UTC)
"""Start times name the run and nothing else, so they lie in a year of their own."""

POLICY = Policy(
    rules=(
        Rule(
            when=(Cause.NODE_LOST, Cause.UNKNOWN),
            do=Action.RESUBMIT,
            limit=1,
            backoff=Backoff(initial=s("1s"), max=s("1s")),
        ),
    )
)


NOT_ITS_OWN = (Cause.CANCELLED, Cause.STOPPED, Cause.FORGOTTEN, Cause.FENCED)
"""Causes which no job of this world may end with, unless a person stops it."""


class Bounds(NamedTuple):
    """How much may go wrong in one case."""

    engines: int = 2
    ticks: int = 3
    objects: int = 2
    crashes: int = 0
    deaths: int = 0
    lost_replies: int = 0
    lost_nodes: int = 0
    stop: bool = False
    hung: bool = False
    """A call in flight may outlive its bound."""
    fenced: bool = True
    """A second start of an epoch is refused by its start ticket. Where it is not, the controller's own second start of a
    job that it had released is left out, since nothing but a ticket can help against it."""


class Obj(NamedTuple):
    """What the controller knows of an object; ``run`` numbers its execution, 0 while it has none."""

    n: int
    attempt: str
    gate: bool = True
    state: str = "pending"
    cause: Cause | None = None
    run: int = 0
    there: bool = False
    """Whether the processes of the run are alive; a restored controller may believe in one that is gone."""


class Message(NamedTuple):
    """A call in flight."""

    intent: str
    verb: Verb
    target: int | None
    n: int
    attempt: str


class Engine(NamedTuple):
    """One process: idle, or with a listing, or with a call which it has not sent, or whose reply it awaits."""

    at: str = "idle"
    listing: Listing | None = None
    message: Message | None = None
    tick: int = 0
    reply: Settled | None = None


class World(NamedTuple):
    """One state of everything."""

    view: JobView
    objs: tuple[Obj, ...] = ()
    saved: tuple[Obj, ...] = ()
    ghosts: tuple[tuple[int, bool], ...] = ()
    """Runs which the controller does not know, and whether their node has registered again."""
    boot: int = 0
    tick: int = 0
    engines: tuple[Engine, ...] = ()
    net: tuple[Message, ...] = ()
    opens: tuple[int, ...] = ()
    """The submissions whose open was ever intended."""
    tickets: tuple[int, ...] = ()
    runs: int = 0
    calls: int = 0
    crashes: int = 0
    deaths: int = 0
    lost_replies: int = 0
    lost_nodes: int = 0
    bad: str = ""


Move = tuple[str, World]


def initial(bounds: Bounds) -> World:
    """A job that has just been accepted."""
    view = fold([entry(1, header(POLICY))])
    return World(view=view, engines=(Engine(),) * bounds.engines)


def now(w: World) -> datetime:
    """The time, which all clocks agree on."""
    return START + w.tick * TICK


def append(w: World, *events: AnyEvent, keeper: int | None = None) -> World:
    """Append; every listing that was read before is stale, but for the writer's own (it explains what was written)."""
    try:
        entries = [entry(w.view.version + k, event, now(w)) for k, event in enumerate(events, 1)]
        view = fold(entries, w.view)
    except CorruptRecord as error:
        return w._replace(bad=f"corrupt record: {error}")
    verdict = view.verdict
    if verdict and view.stop is None and verdict.cause in NOT_ITS_OWN:
        w = w._replace(bad=f"LOST: nobody stopped the job, and it ended as {verdict.cause}")
    engines = tuple(
        Engine() if engine.at == "listed" and k != keeper else engine
        for k, engine in enumerate(w.engines)
    )
    return w._replace(view=view, engines=engines)


# --- the controller


def controller(w: World, b: Bounds) -> Iterator[Move]:
    """What the cluster does by itself."""
    for k, x in enumerate(w.objs):
        if x.state == "pending" and not x.gate:
            yield f"object {k} runs", run(w, b, k)
        if x.state == "running":
            yield f"object {k} succeeds", put(w, k, x._replace(state="succeeded", there=False))
            if x.there and w.lost_nodes < b.lost_nodes:
                lost = put(w, k, x._replace(state="failed", cause=Cause.NODE_LOST, there=False))
                ghosts = (*w.ghosts, (x.run, False))
                yield (
                    f"object {k} loses its node",
                    lost._replace(ghosts=ghosts, lost_nodes=w.lost_nodes + 1),
                )
    for ghost in w.ghosts:
        rest = tuple(other for other in w.ghosts if other != ghost)
        back = "its processes end" if ghost[1] else "its node registers"
        after = rest if ghost[1] else tuple(sorted((*rest, (ghost[0], True))))
        yield f"run {ghost[0]}: {back}", w._replace(ghosts=after)
    if w.crashes < b.crashes and w.saved != w.objs:
        yield "the controller saves", w._replace(saved=w.objs)
        if b.fenced or not _starts_again(w):
            yield "THE CONTROLLER CRASHES", crash(w)


def put(w: World, k: int, x: Obj) -> World:
    """Change one object."""
    return w._replace(objs=(*w.objs[:k], x, *w.objs[k + 1 :]))


def run(w: World, b: Bounds, k: int) -> World:
    """Give an object its nodes."""
    x = w.objs[k]
    if b.fenced and x.n in w.tickets:
        fenced = put(w, k, x._replace(state="failed", cause=Cause.FENCED, run=w.runs + 1))
        return fenced._replace(runs=w.runs + 1)
    bad = w.bad
    if w.ghosts or any(other.there for other in w.objs):
        bad = bad or f"S1: object {k} runs while another execution lives"
    if w.tickets and x.n <= max(w.tickets):
        bad = bad or f"S5: epoch {x.n} runs after epoch {max(w.tickets)}"
    if w.view.verdict is not None:
        bad = bad or f"S9: object {k} runs after the verdict"
    if x.n not in w.opens:
        bad = bad or f"S2: object {k} runs without a recorded open"
    w = put(w, k, x._replace(state="running", run=w.runs + 1, there=True))
    return w._replace(runs=w.runs + 1, tickets=(*w.tickets, x.n), bad=bad)


def crash(w: World) -> World:
    """Restart the controller with what it had saved; what it forgot runs on as a ghost."""
    alive = {x.run for x in w.objs if x.there}
    restored = tuple(x._replace(there=x.state == "running" and x.run in alive) for x in w.saved)
    known = {x.run for x in restored if x.there}
    ghosts = tuple(sorted((*w.ghosts, *((run_, True) for run_ in alive - known))))
    return w._replace(
        objs=restored, saved=restored, ghosts=ghosts, boot=w.boot + 1, crashes=w.crashes + 1
    )


def _starts_again(w: World) -> bool:
    """Whether the restored controller would run by itself what has run already."""
    return any(not x.gate and x != w.objs[k] for k, x in enumerate(w.saved))


def land(w: World, message: Message) -> tuple[World, Outcome, str | None]:
    """Let a call have its effect; its outcome as the scheduler tells it, and a new object's reference."""
    if message.verb is Verb.START:
        made = Obj(message.n, message.attempt)
        return w._replace(objs=(*w.objs, made)), Outcome.LANDED, str(len(w.objs))
    found = message.target
    if found is None or found >= len(w.objs):
        return w, Outcome.NOT_LANDED, None
    x = w.objs[found]
    if x.state not in ("pending", "running"):
        return w, Outcome.LANDED if message.verb is Verb.STOP else Outcome.NOT_LANDED, None
    if message.verb is Verb.OPEN:
        return put(w, found, x._replace(gate=False)), Outcome.LANDED, None
    known = w.view.objects.get(x.n)
    bad = w.bad
    if known and known.ref == str(found) and known.phase in (Phase.GATED, Phase.OPEN):
        bad = bad or (w.view.stop is None and f"LOST: the recorded object {found} is stopped") or ""
    ended = x._replace(state="cancelled", cause=Cause.CANCELLED, there=False)
    return put(w, found, ended)._replace(bad=bad), Outcome.LANDED, None


def passing(w: World, b: Bounds) -> Iterator[Move]:
    """Let time pass: every bound runs out, the controller has saved, nodes have killed what they should not run."""
    if w.tick < b.ticks:
        yield (
            "time passes",
            w._replace(
                tick=w.tick + 1,
                saved=w.objs,
                ghosts=tuple(ghost for ghost in w.ghosts if not ghost[1]),
                net=w.net if b.hung else (),
            ),
        )


# --- reading


def observe(w: World, k: int, x: Obj) -> Observation:
    """What a read says of an object."""
    state = {
        "pending": State.PENDING,
        "running": State.RUNNING,
        "succeeded": State.SUCCEEDED,
        "failed": State.FAILED,
        "cancelled": State.CANCELLED,
    }[x.state]
    detail = Detail(by=By.OWNER) if x.cause is Cause.CANCELLED else Detail()
    return Observation(
        ref=str(k),
        key=ObjectKey(job=JOB, store=STORE, submission=x.n, attempt=x.attempt),
        verdict=Verdict(state=state, cause=x.cause, detail=detail),
        gate=Gate.CLOSED if x.gate else Gate.OPEN,
        final=state.ended,
        nodes=(f"n{x.run}",) if x.run else (),
        started=RUNS + timedelta(seconds=x.run) if x.run else None,
    )


def read(w: World) -> Listing:
    """Read every object, and the nodes where the record wants them."""
    wanted = nodes_wanted(w.view)
    reports = None
    if wanted is not None:
        away = {f"n{number}" for number, back in w.ghosts if not back}
        names = wanted or tuple(f"n{number}" for number in range(1, w.runs + 2))
        reports = tuple(NodeReport(name=name, responding=name not in away) for name in names)
    return Listing(
        version=w.view.version,
        requested=now(w),
        sent=now(w),
        boot=str(w.boot),
        observations=tuple(observe(w, k, x) for k, x in enumerate(w.objs)),
        nodes=reports,
    )
