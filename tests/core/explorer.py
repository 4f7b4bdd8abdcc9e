"""Every interleaving of the tiny world within small bounds, breadth-first, around the real ``fold`` and ``next_step``."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from core.world import (
    Bounds,
    Engine,
    Message,
    Move,
    World,
    append,
    controller,
    initial,
    land,
    now,
    passing,
    put,
    read,
    run,
)
from dispatch.core import deciding
from dispatch.model.codec import encode
from dispatch.model.journal import Intended, Intent, Outcome, Settled, StopAsked, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Append, Call, Look

# --- the engines


def engines(w: World, b: Bounds) -> Iterator[Move]:
    """What each process may do next."""
    for p, engine in enumerate(w.engines):
        if engine in w.engines[:p]:
            continue  # its twin does the same
        if engine.at == "idle":
            yield f"P{p} folds and lists", be(w, p, Engine("listed", read(w), None, w.tick))
        elif engine.at == "listed" and engine.listing is not None:
            yield from decide(w, b, p, engine.listing)
        elif engine.at == "unsent" and engine.message is not None:
            yield from send(w, b, p, engine, engine.message)


def be(w: World, p: int, engine: Engine) -> World:
    """Change one process."""
    return w._replace(engines=(*w.engines[:p], engine, *w.engines[p + 1 :]))


def decide(w: World, b: Bounds, p: int, listing: Listing) -> Iterator[Move]:
    """Decide on the listing, and append by compare-and-set."""
    step = deciding.next_step(w.view, listing, now(w))
    if isinstance(step, Append):
        names = ", ".join(type(event).__name__ for event in step.events)
        after = append(w, *step.events, keeper=p)
        kept = replace(listing, version=after.view.version)
        yield f"P{p} appends {names}", be(after, p, Engine("listed", kept, None, w.tick))
    elif isinstance(step, Call):
        if step.verb is Verb.START and len(w.objs) >= b.objects:
            return
        yield f"P{p} intends {step.verb} {step.submission}", intend(w, p, step, listing)
    elif isinstance(step, Look):
        yield f"P{p} waits: {step.row}", be(w, p, Engine())


def intend(w: World, p: int, step: Call, listing: Listing) -> World:
    """Record the intent; the call is not sent yet."""
    name, attempt = f"i{w.calls}", f"a{w.calls}"
    starts = step.verb is Verb.START
    intent = Intent(
        id=name,
        verb=step.verb,
        submission=step.submission,
        deadline=now(w) + w.view.header.declarations.call_window,
        boot=listing.boot,
        ref=step.ref,
        attempt=attempt if starts else None,
        base=0 if starts else None,
    )
    target = None if step.ref is None else int(step.ref)
    message = Message(name, step.verb, target, step.submission, attempt)
    opens = tuple({*w.opens, step.submission}) if step.verb is Verb.OPEN else w.opens
    after = append(w._replace(calls=w.calls + 1, opens=opens), Intended(intent=intent))
    return be(after, p, Engine("unsent", None, message, w.tick))


def send(w: World, b: Bounds, p: int, engine: Engine, message: Message) -> Iterator[Move]:
    """Send the call unless its deadline has passed; or die before."""
    if w.tick > engine.tick:
        expired = Settled(intent=message.intent, outcome=Outcome.NOT_LANDED)
        yield f"P{p}: {message.verb} has expired", be(append(w, expired), p, Engine())
    else:
        sent = be(w, p, Engine("sent", None, message, w.tick))
        yield f"P{p} sends {message.verb}", sent._replace(net=tuple(sorted((*w.net, message))))
    if w.deaths < b.deaths:
        yield f"P{p} DIES before its call", be(w, p, Engine())._replace(deaths=w.deaths + 1)


def network(w: World, b: Bounds) -> Iterator[Move]:
    """Land what is in flight, and bring its reply home, or lose it."""
    for message in w.net:
        after, outcome, ref = land(w, message)
        after = after._replace(net=tuple(other for other in w.net if other != message))
        waiting = [p for p, e in enumerate(w.engines) if e.at == "sent" and e.message == message]
        for p in waiting:
            told = Settled(intent=message.intent, outcome=outcome, ref=ref)
            yield f"{message.verb} lands", be(after, p, Engine("told", reply=told))
            if w.lost_replies < b.lost_replies:
                lost = be(after, p, Engine())._replace(lost_replies=w.lost_replies + 1)
                yield f"{message.verb} lands, its reply is lost", lost
        if not waiting:
            yield f"{message.verb} lands unheard", after
    for p, engine in enumerate(w.engines):
        if engine.at == "told" and engine.reply is not None:
            yield f"P{p} records its reply", append(be(w, p, Engine()), engine.reply)
        if engine.at == "sent" and engine.tick < w.tick:
            yield f"P{p} gives up waiting", be(w, p, Engine())


def people(w: World, b: Bounds) -> Iterator[Move]:
    """Let a person stop the job."""
    if b.stop and w.view.stop is None and w.view.verdict is None:
        yield "a person asks for a stop", append(w, StopAsked(by="alice"))


def moves(w: World, b: Bounds) -> Iterator[Move]:
    """Everything that may happen next."""
    for part in (network, engines, controller, passing, people):
        yield from part(w, b)


# --- exploring

_MOMENT = re.compile(rb'"2026-01-01T(\d\d):(\d\d):(\d\d)(?:\.\d+)?Z"')


def key(w: World) -> Any:
    """The state, with moments told apart only as far as that matters: this tick, or an earlier one."""

    def age(match: re.Match[bytes]) -> bytes:
        hours, minutes, seconds = map(int, match.groups())
        return b"0" if (hours * 3600 + minutes * 60 + seconds) // 1000 >= w.tick else b"1"

    view = w.view
    told = (
        list(view.objects.values()), view.intents, view.stop, view.decisions, view.lost_starts, view.verdict,
        view.retry_at, [engine.listing and replace(engine.listing, version=0) for engine in w.engines],
    )  # fmt: skip
    text = _MOMENT.sub(age, msgspec.json.encode(told, enc_hook=_duration))
    procs = tuple((e.at, e.message, e.tick == w.tick, e.reply) for e in w.engines)
    return text, procs, w._replace(view=None, engines=())  # type: ignore[arg-type]


def _duration(value: Any) -> str:
    return encode(value).decode()


class Found(NamedTuple):
    """What an exploration came to: the shortest way to a violation, or none and how many states there are."""

    states: int
    bad: str = ""
    trace: tuple[str, ...] = ()
    rows: frozenset[str] = frozenset()


def finish(w: World, b: Bounds) -> str:
    """Let all faults cease and one engine go on: say how the job is lost, where it does not come to its end."""
    w = w._replace(engines=(Engine(),))
    for _ in range(200):
        if w.view.verdict is not None and not any(x.state == "running" for x in w.objs):
            return ""
        w = _onward(w, b)
        if w.bad:
            return w.bad
    return f"LOST: it comes to no end; {w.view.current}"


def _onward(w: World, b: Bounds) -> World:
    """Go one step without a fault: the engine while it has something to do, then the cluster, then time."""
    more = b._replace(ticks=w.tick + 1, objects=99)
    for part in (network, engines):
        for name, after in part(w, more):
            if "waits" not in name:
                return after
    w = w._replace(engines=(Engine(),))
    for k, x in enumerate(w.objs):
        if x.state == "pending" and not x.gate:
            return run(w, b, k)
        if x.state == "running":
            return put(w, k, x._replace(state="succeeded", there=False))
    ghosts = tuple((number, True) for number, _ in w.ghosts)
    return next(passing(w._replace(ghosts=ghosts), more))[1]


def explore(bounds: Bounds, limit: int = 2_000_000, ends: int = 0) -> Found:
    """Explore every interleaving within the bounds; the first violation is the shortest.

    From every state of which ``ends`` divides the number, the job must come to its end once the faults cease.
    """
    first = initial(bounds)
    parents: dict[Any, tuple[Any, str] | None] = {key(first): None}
    queue = deque([(key(first), first)])
    while queue:
        here, w = queue.popleft()
        for name, after in moves(w, bounds):
            there = key(after)
            if there in parents:
                continue
            parents[there] = (here, name)
            bad = after.bad
            if not bad and ends and len(parents) % ends == 0:
                bad = finish(after, bounds)
            if bad:
                return Found(len(parents), bad, _trace(parents, there))
            queue.append((there, after))
        assert len(parents) <= limit, f"more than {limit} states"
    return Found(len(parents))


def _trace(parents: dict[Any, tuple[Any, str] | None], last: Any) -> tuple[str, ...]:
    names: list[str] = []
    while (parent := parents[last]) is not None:
        last, name = parent
        names.append(name)
    return tuple(reversed(names))
