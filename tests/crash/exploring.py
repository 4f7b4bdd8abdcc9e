"""Tell a story once without faults, to list its points, and then once for each fault at each point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from crash.checking import broken
from crash.site import Process, Records, Site
from crash.story import Story, Tale
from dispatch.model.errors import DispatchError, OutcomeUnknown
from dispatch.model.journal import Accepted, AnyEvent, Decided, Ended, Observed
from dispatch.testing.faults import Die, Fault, LoseReply, Pause, Points

MOST_ROUNDS = 150
"""A story takes 5 to 40 rounds; a hot loop takes any number."""
MOST_POINTS = 900
LATEST = timedelta(seconds=54)
"""Just within call window + call bound of the memory cluster: the latest that a call lands."""
LONG_DEAD = timedelta(minutes=10)
NOT_LONG = timedelta(0)
RECOVERY = 17
"""So many points of the second process are tried in pairs; by then it has read, settled and acted."""

Planned = Callable[["Telling"], Fault]


@dataclass(frozen=True)
class Plan:
    """What is tried: faults of the first process, and of the second, by point; how long nobody lives in between."""

    name: str
    first: tuple[int, Planned] | None = None
    also: tuple[int, ...] = ()
    """Points at which the first process meets the same fault again."""
    second: int | None = None
    absence: timedelta = NOT_LONG


@dataclass(frozen=True)
class Failure:
    """A plan under which something did not hold."""

    plan: Plan
    point: str
    broken: tuple[str, ...]
    record: str

    def __str__(self) -> str:
        return f"{self.plan.name} at {self.point}: {'; '.join(self.broken)}\n{self.record}"


class Telling:
    """One telling of a story by several processes, each after the death of the one before."""

    def __init__(self, story: Story, records: Records, plan: Plan, kind: type[Process]) -> None:
        self.site = Site(records, **story.settings)
        self.tale = Tale(story, self.site, records.new_key())
        self.plan = plan
        self.kind = kind
        self.lives: list[Points] = []

    def tell(self) -> None:
        """Let processes live and die until the story is over."""
        self.live(self._planned())
        if self.lives[0].dead:
            self._absence()
            self.live({} if self.plan.second is None else {self.plan.second: Die()})
        if self.lives[-1].dead:
            self._absence()
            self.live({})

    def _planned(self) -> dict[int, Fault]:
        if self.plan.first is None:
            return {}
        at, fault = self.plan.first
        return {number: fault(self) for number in (at, *self.plan.also)}

    def live(self, faults: dict[int, Fault], rounds: int = MOST_ROUNDS) -> None:
        """Let one process live to its death, or the end of the story."""
        points = Points(faults)
        self.lives.append(points)
        process = self.kind(self.site, f"host{len(self.lives)}", points)
        with points.life():
            asyncio.run(self.tale.live(process, rounds))
        if points.dead:
            self.tale.bury()

    def _absence(self) -> None:
        if self.plan.absence:
            self.site.clock.advance(self.plan.absence)
            asyncio.run(self.tale.play(None))

    def failure(self) -> Failure | None:
        """What did not hold, once told."""
        found = list(broken(self.tale))
        if (count := max(len(life.passed) for life in self.lives)) > MOST_POINTS:
            found.append(f"a hot loop: one process passed {count} points")
        return self.failed(found) if found else None

    def failed(self, found: list[str]) -> Failure:
        """A failure of this telling."""
        points = self.lives[0]
        where = self.plan.first[0] if self.plan.first else 0
        passed = [f"{number}: {name}" for number, name in enumerate(points.passed)]
        return Failure(
            self.plan,
            passed[where] if where < len(passed) else f"{where}, never reached",
            tuple(found),
            self.record(),
        )

    def record(self) -> str:
        """The record of each job, for people."""
        return "\n".join(
            f"    {job} {entry.version} {entry.at:%H:%M:%S} {entry.actor.host} {said(entry.event)}"
            for job in self.tale.jobs
            for entry in self.site.history(job)
        )


def said(event: AnyEvent) -> str:
    """An event in a line."""
    match event:
        case Observed(observation=seen):
            return f"Observed {seen.state} {seen.cause} {seen.gate} {seen.hold}"
        case Accepted():
            return "Accepted"
        case Decided(submission=submission, verdict=verdict, action=action):
            return f"Decided {submission} {verdict.state} {verdict.cause}: {action}"
        case Ended(verdict=verdict):
            return f"Ended {verdict.state} {verdict.cause}"
        case _:
            return str(event)


def tell(
    story: Story, records: Records, plan: Plan, kind: type[Process] = Process
) -> tuple[Points, Failure | None]:
    """Tell a story under a plan; the points of the first process, and what did not hold."""
    telling = Telling(story, records, plan, kind)
    try:
        telling.tell()
        failure = telling.failure()
    except DispatchError as error:
        failure = telling.failed([f"the story cannot go on: {error}"])
    if failure is not None:
        records.renew()
    return telling.lives[0], failure


def points_of(story: Story, records: Records) -> list[str]:
    """List the points of the story by telling it without faults. Raises ``AssertionError`` where that fails."""
    points, failure = tell(story, records, Plan("no fault"))
    assert failure is None, str(failure)
    return points.passed


def explore(
    story: Story,
    records: Records,
    plans: Iterable[Plan],
    kind: type[Process] = Process,
    *,
    most: int = 3,
) -> tuple[int, list[Failure]]:
    """Tell the story under each plan; how many were told, and the first failures, after which it ends."""
    failures: list[Failure] = []
    count = 0
    for plan in plans:
        count += 1
        _, failure = tell(story, records, plan, kind)
        if failure is not None:
            failures.append(failure)
            if len(failures) == most:
                break
    return count, failures


# --- plans


def crashes(names: list[str]) -> Iterator[Plan]:
    """A crash at each point.

    The point after something and the point before the next are one state: of the two, one is recovered from at once, the
    other after ten minutes.
    """
    for number, _ in enumerate(names):
        if is_same_as_last(names, number):
            yield Plan("crash, nobody for ten minutes", (number, _die), absence=LONG_DEAD)
        else:
            yield Plan("crash", (number, _die))


def is_same_as_last(names: list[str], number: int) -> bool:
    """Whether nothing happens between the point before this one and this one."""
    return number > 0 and names[number].endswith("before") and names[number - 1].endswith("after")


def late_crashes(names: list[str]) -> Iterator[Plan]:
    """A crash during each call, which lands as late as it can, while the next process is at work."""
    for number, name in enumerate(names):
        if name.endswith("during"):
            yield Plan("crash, the call lands late", (number, _die_late))


def lost_replies(names: list[str]) -> Iterator[Plan]:
    """The reply of each call is lost, and the call lands at once, late or never; the process goes on.

    Of many in one call the reply also breaks off in the middle: from one on nothing is heard, whether they land or not.
    """
    for number, name in enumerate(names):
        if name.endswith("during"):
            yield Plan("lost reply", (number, _lose))
            yield Plan("lost reply, the call lands late", (number, _lose_late))
            yield Plan("lost reply, the call never lands", (number, _lose_all))
            if rest := tuple(_same_call(names, number)):
                yield Plan("the reply breaks off", (number, _lose), rest)
                yield Plan("the call breaks off", (number, _lose_all), rest)


def _same_call(names: list[str], number: int) -> Iterator[int]:
    """The other points after this one at which the same call is under way."""
    for other in range(number + 1, len(names)):
        if names[other] != names[number]:
            return
        yield other


def pauses(names: list[str]) -> Iterator[Plan]:
    """A pause past every deadline in each state, while another process does all that is left, or only begins.

    In which of them it does which, takes turns. Around a call, and between its intent and it, both are tried: there the
    deadline is looked at, and the outcome recorded late.
    """
    states = [n for n, _ in enumerate(names) if not is_same_as_last(names, n)]
    for turn, number in enumerate(states):
        both = any(name.startswith("call") for name in names[number : number + 2])
        if both or turn % 2:
            yield Plan("pause, another begins", (number, _pause(2)))
        if both or not turn % 2:
            yield Plan("pause, another goes on to the end", (number, _pause(MOST_ROUNDS)))
    for number, name in enumerate(names):
        if name.startswith("call") and is_same_as_last(names, number):
            yield Plan("pause, another goes on to the end", (number, _pause(MOST_ROUNDS)))


def pairs(names: list[str]) -> Iterator[Plan]:
    """A crash in each state, and then one of the next process, at one of its first points: another one each time."""
    for number, _ in enumerate(names):
        if not is_same_as_last(names, number):
            second = number * 5 % RECOVERY
            yield Plan(f"crash, and again at point {second}", (number, _die), second=second)


def _die(_: Telling) -> Fault:
    return Die()


def _die_late(telling: Telling) -> Fault:
    return Die(first=lambda: telling.site.land_late(LATEST))


def _lose(_: Telling) -> Fault:
    return LoseReply()


def _lose_late(telling: Telling) -> Fault:
    return LoseReply(first=lambda: telling.site.land_late(LATEST))


def _lose_all(telling: Telling) -> Fault:
    never = OutcomeUnknown("The connection broke before the command began.")
    return LoseReply(first=lambda: telling.site.env.refuse_next(never))


def _pause(rounds: int) -> Planned:
    def planned(telling: Telling) -> Fault:
        def meanwhile() -> None:
            telling.site.clock.advance(timedelta(seconds=40))
            telling.site.elsewhere(
                lambda: telling.live({}, min(rounds, 8) if telling.tale.busy else rounds)
            )

        return Pause(meanwhile)

    return planned
