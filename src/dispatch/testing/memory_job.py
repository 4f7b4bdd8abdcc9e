"""A job of a test: what happens to it, what a person asks of it, and what its record says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol, Self

from dispatch.adapters.memory import Env, ExecutionTruth, Overlap
from dispatch.core.explaining import Explanation, explain
from dispatch.core.folding import fold
from dispatch.core.recovery import effective_job
from dispatch.model.job import Job
from dispatch.model.journal import Entry
from dispatch.model.status import Cause, State, Verdict
from dispatch.model.view import JobView, Phase
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator

PATIENCE = timedelta(days=2)
"""How much time may pass until what a test waits for has come."""

Reached = Callable[[JobView], bool]


class Surroundings(Protocol):
    """What a job needs of the scheduler that it was submitted to."""

    @property
    def env(self) -> Env:
        """The scheduler's side."""
        ...

    @property
    def ledger(self) -> Ledger:
        """The records."""
        ...

    @property
    def operator(self) -> Operator:
        """What records a person's requests."""
        ...

    def wait_until(
        self, reached: Callable[[], bool], what: str = ..., *, within: timedelta = ...
    ) -> None:
        """Let time pass until it is so."""
        ...

    def poke(self) -> None:
        """Let the supervisor look."""
        ...

    def keep_back(self, job: str) -> None:
        """Let another have the nodes of a job for a while."""
        ...


class MemoryJob:
    """A submitted job. What it tells is read from its record anew each time.

    What happens to a program (``preempt``, ``lose_node``, ``finish``, …) happens to a further execution each time: where
    none runs yet, time passes until one does. It happens at once, maybe before the record shows that it runs.
    """

    def __init__(self, around: Surroundings, id: str) -> None:  # noqa: A002 - its name everywhere
        self._around = around
        self._struck = 0
        self.id = id

    # ------------------------------------------------------------ what its record says

    @property
    def view(self) -> JobView:
        """The job as its record folds."""
        return self._around.ledger.view(self.id)

    @property
    def history(self) -> tuple[Entry, ...]:
        """Its whole record."""
        return self._around.ledger.history(self.id)

    @property
    def explanation(self) -> Explanation:
        """What ``dispatch show --why`` tells."""
        return explain(self.view)

    @property
    def state(self) -> State:
        """Its state, as ``dispatch status`` shows it."""
        return self.explanation.state

    @property
    def cause(self) -> Cause | None:
        """The cause of its state: why it ended, or what it waits for."""
        return self.explanation.cause

    @property
    def verdict(self) -> Verdict | None:
        """Its final verdict; ``None`` until it has ended."""
        return self.view.verdict

    @property
    def submissions(self) -> int:
        """How many objects were made for it."""
        return len(self.view.objects)

    @property
    def spec(self) -> Job:
        """The job with the changes that its rules have made so far: raised limits, another partition."""
        return effective_job(self.view)

    @property
    def story(self) -> str:
        """Where it stood when, a line for each change."""
        return "\n".join(_story(self.history))

    # ------------------------------------------------------------------ what is really so

    @property
    def executions(self) -> tuple[ExecutionTruth, ...]:
        """Every execution that really began, in order."""
        truths = self._around.env.truths(self.id)
        return tuple(sorted((e for t in truths for e in t.executions), key=lambda e: e.serial))

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of its newest execution; empty where none has begun."""
        return self.executions[-1].nodes if self.executions else ()

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        """Where two executions of it lived at once: never, but where its policy assumes that one is gone."""
        return self._around.env.overlaps(self.id)

    # ------------------------------------------------------------------- what a test awaits

    def wait_running(self, *, within: timedelta = PATIENCE) -> Self:
        """Wait until a further execution runs, one that nothing has happened to yet, and its record shows that."""
        __tracebackhide__ = True
        return self._wait(self._runs, "running", within, True)

    def wait_ended(self, *, within: timedelta = PATIENCE) -> Self:
        """Wait until it has its final verdict."""
        __tracebackhide__ = True
        return self._wait(lambda view: view.verdict is not None, "ended", within)

    def wait_for(self, cause: Cause, *, within: timedelta = PATIENCE) -> Self:
        """Wait until that is the cause of its state, such as ``Cause.HELD``."""
        __tracebackhide__ = True
        return self._wait(lambda view: explain(view).cause is cause, f"{cause}", within, True)

    def wait_until(
        self, reached: Reached, what: str = "there", *, within: timedelta = PATIENCE
    ) -> Self:
        """Wait until its view is so; ``what`` names it for the error."""
        __tracebackhide__ = True
        return self._wait(reached, what, within)

    def _wait(self, reached: Reached, what: str, within: timedelta, alive: bool = False) -> Self:  # noqa: FBT001, FBT002 - of this class alone
        """Wait; where only what lives can get there, an end is the end of the wait."""
        __tracebackhide__ = True
        over = False

        def is_over() -> bool:
            nonlocal over
            view = self.view
            there = reached(view)
            over = alive and not there and view.verdict is not None
            return there or over

        name = f"the job {self.view.job.name} is {what}"
        self._around.wait_until(is_over, name, within=within)
        if over:
            raise AssertionError(f"{name}: never, since it has ended.\n{self.story}")
        return self

    def _running(self) -> ExecutionTruth | None:
        """The execution that really runs, which nothing has happened to yet."""
        live = self._around.env.live(self.id)
        return live[-1] if live and live[-1].serial > self._struck else None

    def _runs(self, view: JobView) -> bool:
        """Whether the record shows that execution as running."""
        known, newest = view.current, self._running()
        if known is None or newest is None or known.seen is None or known.seen_at is None:
            return False
        is_it = known.ref == newest.ref and known.seen_at >= newest.started
        return is_it and known.phase is Phase.OPEN and known.seen.state is State.RUNNING

    # --------------------------------------------------------------------- what happens

    def preempt(self) -> Self:
        """Let the scheduler take its nodes away, for some minutes."""
        __tracebackhide__ = True
        self._around.env.preempt(self._strike())
        self._around.keep_back(self.id)
        return self

    def finish(self, exit_code: int = 0, *, signal: str | int | None = None) -> Self:
        """Let its program end by itself, with that code or by a signal such as ``"SEGV"``."""
        __tracebackhide__ = True
        self._around.env.finish(self._strike(), exit_code, signal=signal)
        return self

    def out_of_memory(self) -> Self:
        """Let the kernel kill it for its memory."""
        __tracebackhide__ = True
        self._around.env.out_of_memory(self._strike())
        return self

    def time_out(self) -> Self:
        """Let it reach its time limit."""
        __tracebackhide__ = True
        self._around.env.time_out(self._strike())
        return self

    def cancel(self, who: str = "root") -> Self:
        """Let somebody cancel it in the scheduler: ``root``, its ``owner`` by hand, or another user."""
        __tracebackhide__ = True
        self._around.env.cancel(self._strike(), who=who)
        return self

    def lose_node(self) -> str:
        """Let its first node fall silent, and name it. The scheduler notices in its time; the processes may live on."""
        __tracebackhide__ = True
        self._strike()
        node = self.nodes[0]
        self._around.env.lose_node(node)
        return node

    def _strike(self) -> str:
        """Wait for a further execution, and give its ref; what happens to it happens once."""
        __tracebackhide__ = True
        self._wait(lambda _: self._running() is not None, "running", PATIENCE, True)
        execution = self._around.env.live(self.id)[-1]
        self._struck = execution.serial
        return execution.ref

    # ------------------------------------------------------------------ what a person asks

    def stop(self, why: str = "") -> Self:
        """Ask for its end, as ``dispatch stop``."""
        self._around.operator.ask_stop(self.id, why)
        self._around.poke()
        return self

    def hold(self, why: str = "", until: datetime | None = None) -> Self:
        """Ask for a hold, as ``dispatch hold``."""
        self._around.operator.ask_hold(self.id, why, until)
        self._around.poke()
        return self

    def release(self) -> Self:
        """Ask for its release, as ``dispatch release``."""
        self._around.operator.ask_release(self.id)
        self._around.poke()
        return self

    def __repr__(self) -> str:
        return f"MemoryJob({self.id!r}, {self.state}, {self.cause}, {self.submissions} submissions)"


def _story(history: tuple[Entry, ...]) -> list[str]:
    """Tell where a job stood at the end of each moment, where that differs from before."""
    view: JobView | None = None
    lines: dict[str, str] = {}
    for entry in history:
        view = fold([entry], view)
        known = view.current
        which = f"submission {known.submission}: " if known and view.verdict is None else ""
        lines[f"{entry.at:%Y-%m-%d %H:%M:%S}"] = which + explain(view).headline
    told = list(lines.items())
    before = [None, *(text for _, text in told)]
    return [f"{at}  {text}" for (at, text), last in zip(told, before, strict=False) if text != last]
