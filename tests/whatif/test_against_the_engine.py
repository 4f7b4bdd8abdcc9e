"""A simulation and the whole engine, with records and a scheduler in memory, come to the same on the same failures."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dispatch.model.journal import Decided
from dispatch.model.policy import Backoff, CrashLoop, Limits, Policy
from dispatch.model.status import Cause
from dispatch.model.view import JobView, Phase
from dispatch.spi.store import Query
from dispatch.whatif.history.past import sources_of
from dispatch.whatif.history.records import read_records
from dispatch.whatif.playing import Run
from shell.world import World
from whatif.makers import HOUR, every, played, policy, rule, span

HOURS = 3_600

DOUBLING = Backoff(initial=span("10m"), max=span("1h"), jitter=0)
POLICIES = {
    "limits": policy(rule(Cause.PREEMPTED, limit=2), rule(Cause.PREEMPTED, limit=3, within=span("6h"))),
    "budget": policy(rule(Cause.PREEMPTED), limits=Limits(total=4)),
    "backoff": policy(rule(Cause.PREEMPTED, backoff=DOUBLING, limit=5)),
    "brake": policy(rule(Cause.PREEMPTED), crash_loop=CrashLoop(executions=3, shorter_than=span("2h"))),
}  # fmt: skip


def engine(place: Path, found: Policy, executions: int) -> World:
    """Let the engine drive a job that is preempted after each hour, so often."""
    world = World(place)
    job = world.submit(found, nodes=4)

    def has(number: int) -> Any:
        def reached(view: JobView) -> bool:
            current = view.current
            return (
                current is not None and current.submission == number and current.phase is Phase.OPEN
            )

        return reached

    for number in range(1, executions + 1):
        world.until(job, has(number))
        world.env.run(job)
        world.turn(job)
        world.clock.advance(timedelta(seconds=HOURS))
        world.env.preempt(job)
        world.until(job, lambda view, number=number: len(view.decisions) == number)  # type: ignore[misc]
    return world


def gist(one: Decided) -> Decided:
    """A decision without the names and the evidence of its cluster, and without its moment."""
    verdict = replace(one.verdict, evidence=(), detail=replace(one.verdict.detail, reason=None))
    return replace(one, verdict=verdict, due=None)


@pytest.mark.parametrize("name", POLICIES)
def test_the_engine_decides_the_same_about_the_same_ends(tmp_path: Path, name: str) -> None:
    run = played(POLICIES[name], every("1h"))
    world = engine(tmp_path, POLICIES[name], len(run.executions))
    decisions = world.decisions(run_job(world))
    assert len(decisions) >= 3
    assert list(map(gist, decisions)) == [gist(one.decided) for one in run.decisions]
    view = world.view(run_job(world))
    assert run.outcome == ("failed" if view.verdict else "held")


def run_job(world: World) -> str:
    [summary] = world.store.list(Query())
    return summary.id


@pytest.mark.parametrize("name", ["limits", "backoff"])
def test_the_engine_starts_again_as_soon(tmp_path: Path, name: str) -> None:
    """A call and a poll later: those are real there, and take no time here."""
    run = played(POLICIES[name], every("1h"))
    world = engine(tmp_path, POLICIES[name], len(run.executions))
    past = read_records([world.history(run_job(world))]).executions
    for ours, theirs in zip(
        pauses_of(run), pauses([(one.started, one.ran) for one in past]), strict=True
    ):
        assert -15 <= theirs - ours <= 15
    assert [one.cause for one in past] == [Cause.PREEMPTED] * len(run.executions)
    (source,) = sources_of(past)
    assert source.mean_ms == pytest.approx(HOUR, rel=0.01)


def pauses_of(run: Run) -> list[float]:
    return pauses([(one.started, one.ended - one.started) for one in run.executions])


def pauses(executions: list[tuple[int, int]]) -> list[float]:
    """Seconds from each end to the next start, of starts and lengths in milliseconds."""
    return [(after - start - ran) / 1000 for (start, ran), (after, _) in pairwise(executions)]
