"""Many seeds: on several processors they come to the same, and long work tells how far it is."""

from __future__ import annotations

from dispatch.model.status import Cause
from dispatch.whatif.simulating import simulate, tallies
from dispatch.whatif.tally import tally
from whatif.makers import conditions, fixed, job, once_in, policy, rule, span

MIXED = (
    once_in("5h"),
    once_in("10d", Cause.NODE_LOST, per_node=True),
    once_in("2d", Cause.NON_ZERO_EXIT),
)
VARIED = policy(rule(Cause.PREEMPTED), rule(Cause.NODE_LOST), rule(Cause.NON_ZERO_EXIT, limit=6))
WAITS = {"queue_wait": {"": fixed("7m")}}


def test_processes_change_nothing() -> None:
    made = conditions(*MIXED, horizon=span("120d"), **WAITS)
    seeds = list(range(8))
    among_two = simulate(job(VARIED), made, seeds, processes=2, patience=0.0)
    assert among_two == simulate(job(VARIED), made, seeds)


def test_long_work_tells_how_far_it_is_and_short_work_tells_nothing() -> None:
    made, seeds = conditions(*MIXED, horizon=span("20d"), **WAITS), list(range(8))
    told: list[tuple[int, float]] = []

    def tell(done: int, left: float) -> None:
        told.append((done, left))

    for processes in (1, 2):
        told.clear()
        found = tallies(
            job(VARIED), made, seeds, processes=processes, patience=0.0, on_progress=tell
        )  # fmt: skip
        assert [done for done, _ in told] == list(range(1, 9 if processes > 1 else 8))
        runs = simulate(job(VARIED), made, seeds)
        assert found == [tally(job(VARIED), made, run) for run in runs]
    told.clear()
    tallies(job(VARIED), made, [1], patience=9.0, on_progress=tell)
    assert told == []
