"""Everything that one read knows of one object, and the view of it on which the rules are written."""

from __future__ import annotations

from datetime import UTC, datetime

from dispatch.adapters.slurm.reading.documents import AccountingRow, Exit, QueueRow, StepRow
from dispatch.adapters.slurm.reading.hostlist import expand
from dispatch.adapters.slurm.reading.key import Ref
from dispatch.adapters.slurm.reading.tables import BY_NAME, CLOCK_MARGIN, Code, Kind
from dispatch.adapters.slurm.reading.tickets import NO_TICKETS, Ended, Fenced, Started, Tickets
from dispatch.model.base import Instant, Value
from dispatch.model.epoch import SCALE, Epoch
from dispatch.model.status import Evidence, ObjectKey, Source


class Owner(Value):
    """Whose account reads: the user's name and number."""

    user: str = ""
    uid: str = ""


class Facts(Value):
    """The evidence on one object.

    ``tickets_before`` were read before the queue was, ``tickets`` at the end: a start that only the later ones have may be
    younger than the row that calls the object pending. ``boot`` is the controller's boot time in Unix seconds.
    """

    ref: Ref
    key: ObjectKey
    read_at: Instant
    queue: QueueRow | None = None
    runs: tuple[AccountingRow, ...] = ()
    tickets_before: Tickets = NO_TICKETS
    tickets: Tickets = NO_TICKETS
    owner: Owner = Owner()
    boot: int = 0


class Seen(Value):
    """The latest run of an object, of whichever source knows it, and what other sources add to it."""

    facts: Facts
    codes: tuple[Code, ...]
    unknown: tuple[str, ...]
    reason: str
    description: str
    exit: Exit
    derived: Exit
    start: int
    end: int
    limit: int
    restarts: int
    nodes: str
    failed_node: str
    run: AccountingRow | None
    before: AccountingRow | None
    """The run before the latest, where accounting knows it."""

    @property
    def base(self) -> str:
        """The name of the state, or the empty text where only flags, or nothing known, is shown."""
        return next((code.name for code in self.codes if code.kind is Kind.BASE), "")

    @property
    def epoch(self) -> Epoch:
        """The execution."""
        return Epoch(self.facts.ref.submission, self.restarts)

    @property
    def batch(self) -> StepRow | None:
        """The job script, as accounting knows it."""
        return next((step for step in self.steps if step.name == "batch"), None)

    @property
    def steps(self) -> tuple[StepRow, ...]:
        """The steps that accounting knows of the latest run."""
        return self.run.steps if self.run else ()

    @property
    def never_ran(self) -> bool:
        """Whether Slurm says that the latest run was never given nodes."""
        return not self.nodes

    @property
    def started(self) -> Started | None:
        """The start ticket of this execution."""
        return self.facts.tickets.start_of(
            self.epoch, self.facts.ref.number, self.facts.ref.attempt
        )

    @property
    def started_before(self) -> Started | None:
        """The start ticket of this execution, if it was there before the queue was read."""
        return self.facts.tickets_before.start_of(
            self.epoch, self.facts.ref.number, self.facts.ref.attempt
        )

    @property
    def ended(self) -> Ended | None:
        """The end ticket of this execution."""
        return self.facts.tickets.end_of(self.epoch, self.facts.ref.attempt)

    @property
    def own_end(self) -> Ended | None:
        """The end ticket of this execution, where it is older than the end that Slurm tells of, or owes nothing to it.

        When Slurm tells of an end that contradicts the script's, it is killing what it finds of the run, on any of its
        nodes; what a program returns then is none of its own (12, E5).
        """
        end = self.ended
        if end is None or 0 < end.at < self.end - CLOCK_MARGIN:
            return end
        return end if self._succeeded_untold(end) else None

    def _succeeded_untold(self, end: Ended) -> bool:
        """Whether the command succeeded where Slurm could end it only together with the script, which was not told.

        An execution that a controller has forgotten runs on while it is stopped or refused elsewhere (12, E6).
        """
        succeeded = end.launched and end.status == 0 and not end.signal
        return succeeded and not end.told and self.ran_on_one_node

    @property
    def ran_on_one_node(self) -> bool:
        """Whether the start ticket names a single node."""
        nodes = expand(self.started.nodes or self.started.node) if self.started else ()
        return len(nodes) == 1

    @property
    def fenced(self) -> Fenced | None:
        """The ticket of a launch of this execution that the job script refused."""
        return self.facts.tickets.fenced_of(
            self.epoch, self.facts.ref.number, self.facts.ref.attempt
        )

    @property
    def one_boot(self) -> bool:
        """Whether the controller that tells of the end is the one that saw the start (12, E5)."""
        return 0 < self.facts.boot <= self.start

    def has(self, *names: str) -> bool:
        """Whether one of these states or flags is shown."""
        return any(code.name in names for code in self.codes)


def look(facts: Facts) -> Seen:
    """Take the latest run of an object from its facts; those have a queue row or a run."""
    queue, runs = facts.queue, facts.runs
    if queue is None:
        return _of_run(facts, runs[-1], len(runs) - 1)
    run = next(
        (
            run
            for place, run in reversed([*enumerate(runs)])
            if _restarts(run, place) == queue.restarts
        ),
        None,
    )
    codes, unknown = _codes(queue.states)
    return Seen(
        facts=facts, codes=codes, unknown=unknown, reason=queue.reason, description=queue.description, exit=queue.exit,
        derived=queue.derived if queue.derived != Exit() or run is None else run.derived, start=queue.start,
        end=queue.end, limit=queue.limit or (run.limit if run else 0), restarts=min(queue.restarts, SCALE - 1),
        nodes=queue.nodes, failed_node=queue.failed_node or (run.failed_node if run else ""), run=run,
        before=_before(runs, queue.restarts),
    )  # fmt: skip


def _of_run(facts: Facts, run: AccountingRow, place: int) -> Seen:
    codes, unknown = _codes(run.states)
    restarts = _restarts(run, place)
    return Seen(
        facts=facts, codes=codes, unknown=unknown, reason=run.reason, description="", exit=run.exit, derived=run.derived,
        start=run.start, end=run.end, limit=run.limit, restarts=min(restarts, SCALE - 1), nodes=run.nodes,
        failed_node=run.failed_node, run=run, before=_before(facts.runs, restarts),
    )  # fmt: skip


def _restarts(run: AccountingRow, place: int) -> int:
    return place if run.restarts is None else run.restarts


def _before(runs: tuple[AccountingRow, ...], restarts: int) -> AccountingRow | None:
    return next(
        (run for place, run in enumerate(runs) if _restarts(run, place) == restarts - 1), None
    )


def _codes(states: tuple[str, ...]) -> tuple[tuple[Code, ...], tuple[str, ...]]:
    known = tuple(BY_NAME[state] for state in states if state in BY_NAME)
    return known, tuple(state for state in states if state not in BY_NAME)


def moment(seconds: int) -> Instant | None:
    """A moment of Unix seconds; ``None`` for 0 and for what no calendar has."""
    if not 0 < seconds < 253_402_300_800:
        return None
    return datetime.fromtimestamp(seconds, tz=UTC)


def evidence(seen: Seen) -> tuple[Evidence, ...]:
    """List the raw facts: of the queue, of accounting, of the tickets of this execution."""
    facts = seen.facts
    said = [(Source.QUEUE, *pair) for pair in _of_queue(facts.queue)] if facts.queue else []
    if seen.before is not None:
        said.append((Source.ACCOUNTING, "State of the run before", " ".join(seen.before.states)))
    said += [(Source.ACCOUNTING, *pair) for pair in _of_accounting(seen.run)] if seen.run else []
    if ticket := seen.started:
        said.append(
            (Source.TICKET, "start", f"on {ticket.node or 'an unnamed node'} at {ticket.at}")
        )
    if end := seen.ended:
        said.append((Source.TICKET, "end", f"status={end.status} signal={end.signal} at {end.at}"))
    if fenced := seen.fenced:
        said.append(
            (Source.TICKET, "fenced", f"seen={fenced.seen} on {fenced.node} at {fenced.at}")
        )
    return tuple(
        Evidence(source=source, field=field, value=value[:400], read_at=facts.read_at)
        for source, field, value in said
    )


def _of_queue(row: QueueRow) -> list[tuple[str, str]]:
    said = [("job_state", " ".join(row.states)), ("state_reason", row.reason)]
    optional = {
        "state_description": row.description,
        "exit_code": str(row.exit) if row.exit != Exit() else "",
        "derived_exit_code": str(row.derived) if row.derived != Exit() else "",
        "failed_node": row.failed_node,
        "preempt_time": str(row.preempted or ""),
    }
    return said + [(field, value) for field, value in optional.items() if value]


def _of_accounting(run: AccountingRow) -> list[tuple[str, str]]:
    said = [("State", " ".join(run.states)), ("ExitCode", str(run.exit))]
    optional = {"FailedNode": run.failed_node, "kill_request_user": run.killer}
    said += [(field, value) for field, value in optional.items() if value]
    return said + [
        (f"step {step.name}", f"{' '.join(step.states)} {step.exit}") for step in run.steps[:8]
    ]
