"""Run one seed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from dispatch.core.folding import fold
from dispatch.model.errors import CorruptRecord
from dispatch.shell.identity import randomness
from dispatch.sim import acts, liveness
from dispatch.sim.coverage import read_record
from dispatch.sim.options import Options, Outcome
from dispatch.sim.pausing import PausableLoop
from dispatch.sim.site import Site
from dispatch.sim.telling import tell_truth, tell_view
from dispatch.sim.upgrading import is_refusal
from dispatch.sim.working import without_interrupts
from dispatch.testing.loop import SimulationError
from dispatch.testing.loop.errors import summary
from dispatch.testing.loop.simulate import run_on
from dispatch.testing.points import Crash

Mutant = Callable[[], AbstractContextManager[object]]
"""Makes a context within which one thing of dispatch is broken."""


def run(seed: int, options: Options | None = None, mutant: Mutant = nullcontext) -> Outcome:
    """Run one seed to its end, or to the first rule that is broken. The same seed gives the same run everywhere.

    ``mutant`` breaks dispatch for as long as the run lasts. Ctrl-C is heard at its end.
    """
    options = options or Options()
    loop = PausableLoop(patience=100_000)
    site = Site(seed, options, loop)
    loop.set_exception_handler(_told_of_errors(site))
    # Broken off anywhere, a run would leave coroutines behind, which complain as they are dropped.
    with (
        without_interrupts(),
        mutant(),
        _listening(site),
        randomness(site.chance.stream("names").data),
    ):
        try:
            run_on(loop, _main(site))
        except SimulationError as error:
            site.break_rule("fault", f"the simulation cannot go on: {error}")
    return _outcome(seed, site)


async def _main(site: Site) -> None:
    site.loop.begin()
    tasks = [
        *(asyncio.ensure_future(person.live()) for person in site.people),
        *(asyncio.ensure_future(site.supervise(n)) for n in range(1, site.options.supervisors + 1)),
        *(asyncio.ensure_future(site.supervise(n, site.others)) for n in (9,) if site.others),
        asyncio.ensure_future(_weather(site)),
    ]
    for task in tasks:
        task.add_done_callback(lambda task: _look(site, task))
    await site.over
    for task in [*tasks, *site.commands, *(p.task for p in site.processes if p.task)]:
        task.cancel()
    for process in site.processes:
        process.dead = True


def _look(site: Site, task: asyncio.Future[None]) -> None:
    """A part of the simulation itself that fails is no finding, but must not be missed."""
    if not task.cancelled() and (error := task.exception()) is not None:
        site.break_rule("fault", f"the simulator fails with {error!r}")
        raise error


async def _weather(site: Site) -> None:
    """Let the storm pass, make everything good, and see all come to rest."""
    site.scheduler.tick()
    acts.plan(site)
    if site.options.scenario is not None and site.options.scenario.room_at:
        site.env.set_capacity(0)
        site.loop.call_later(site.options.scenario.room_at, site.env.set_capacity, None)
    await asyncio.sleep(site.weather.seconds)
    site.faults.ceased = True
    site.step("weather", "the faults cease")
    acts.make_good(site)
    site.scheduler.cease()
    await liveness.come_to_rest(site)
    site.check_promises()
    site.end()


def _told_of_errors(site: Site) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Make what hears of the errors that nobody looks at: with what a dead process raises on its way up nothing is wrong."""

    def hear(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not is_death(context.get("exception")):
            site.break_rule("fault", summary(context))
            if site.options.trace:
                loop.default_exception_handler(context)  # who replays a seed wants the traceback

    return hear


def is_death(error: BaseException | None) -> bool:
    """Whether an error, with all that it groups, says no more than that the process was dead."""
    match error:
        case BaseExceptionGroup(exceptions=members):
            return all(map(is_death, members))
        case _:
            return isinstance(error, Crash)


@contextmanager
def _listening(site: Site) -> Generator[None]:
    """Hear of what the program itself calls unforeseen."""
    logger = logging.getLogger("dispatch")
    ear, level, passes_on = _Ear(site), logger.level, logger.propagate
    logger.addHandler(ear)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(ear)
        logger.setLevel(level)
        logger.propagate = passes_on


class _Ear(logging.Handler):
    def __init__(self, site: Site) -> None:
        super().__init__()
        self._site = site

    def emit(self, record: logging.LogRecord) -> None:
        error = f": {record.exc_info[1]!r}" if record.exc_info else ""
        told = f"{record.getMessage()}{error}"
        site = self._site
        if site.misled and REFUSED in told:
            return
        if not is_refusal(site, told) and not (error == "" and site.disk.has_said(told)):
            site.break_rule("fault", told)


REFUSED = "was accepted for the cluster"
"""What a supervisor says that finds another cluster behind the alias (12, T2)."""


def _outcome(seed: int, site: Site) -> Outcome:
    moves: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for kept in (kept for records in site.stores for kept in records.jobs.values()):
        if site.options.coverage:
            for move, made in read_record(kept.entries):
                moves.update([move] if move else [])
                cases.update(made)
        summary = kept.summary
        ended = f"{summary.state} {summary.cause or ''}".strip()
        ends[ended if summary.finished else "unfinished"] += 1
    return Outcome(
        seed=seed,
        violation=site.violation,
        steps=site.steps,
        seconds=site.now,
        faults=tuple(site.faults.happened),
        excused=tuple(site.excused),
        rows=site.coverage.rows,
        moves=moves,
        cases=cases,
        ends=ends,
        trace=tuple(site.lines),
        dump=_dump(site) if site.options.trace else "",
    )


def _dump(site: Site) -> str:
    """The records and the ground truth, in text."""
    parts: list[str] = []
    for job, history in site.histories.items():
        kept = site.kept(job)
        parts.append(f"{history.label} = {job}")
        if kept:
            with suppress(CorruptRecord):
                parts += tell_view(fold(kept.entries))
        for truth in site.env.truths(job):
            parts += tell_truth(truth)
    return "\n".join(parts)
