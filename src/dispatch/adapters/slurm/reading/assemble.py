"""From the sections of one or two scripts to a ``Reading``: which row is whose, which run is the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from dispatch.adapters.slurm.reading.classify import classify
from dispatch.adapters.slurm.reading.documents import (
    AccountingRow,
    QueueRow,
    accounting_row,
    queue_row,
    read_document,
)
from dispatch.adapters.slurm.reading.facts import Facts, Owner
from dispatch.adapters.slurm.reading.key import Marks, Ref, decode_comment, job_of
from dispatch.adapters.slurm.reading.legacy import accounting_rows, queue_rows
from dispatch.adapters.slurm.reading.script import Section
from dispatch.adapters.slurm.reading.tickets import NO_TICKETS, Tickets, decode_tickets, merge
from dispatch.model.base import Value
from dispatch.model.errors import Unavailable
from dispatch.model.status import Cause, Observation, State

_WITHOUT_ACCOUNTING = ("Slurm accounting storage is disabled",)
"""What sacct says where there is none: not an error, only less evidence."""

_UNKNOWN_TO_QUEUE = ("Invalid job id specified",)
"""What squeue says of an id that it does not know: an answer, so accounting is asked (field case F11)."""


_NO_REFS: Mapping[str, Sequence[Ref]] = {}


class Answer(Value):
    """One script's answer: the host's clock, who reads, the controller's incarnation, and all rows and tickets."""

    sent: datetime
    owner: Owner
    boot: str
    queue: tuple[QueueRow, ...] = ()
    runs: tuple[AccountingRow, ...] = ()
    before: dict[str, Tickets] = {}
    tickets: dict[str, Tickets] = {}


def answer_of(sections: Sequence[Section]) -> Answer:
    """Decode one script's sections. Raises ``Unavailable`` wherever an error could pass for an absence."""
    by_name: dict[str, list[Section]] = {}
    for section in sections:
        by_name.setdefault(section.name, []).append(section)
    boots = by_name.get("boot", [])
    for section in boots:
        if section.returncode or not section.out.strip():
            raise _unavailable(section, "scontrol show config")
    if len(boots) != 2 or len(by_name.get("hello", [])) != 1 or not by_name.get("queue"):
        raise Unavailable("The read was cut short.", todo="It is tried again at the next poll.")
    sent, owner, old = _hello(by_name["hello"][0])
    boot = _same_boot(*boots)
    queue = [row for section in by_name["queue"] for row in _queue(section, old=old)]
    runs = [
        row for section in by_name.get("accounting", []) for row in _accounting(section, old=old)
    ]
    tickets = [_tickets(section) for section in by_name.get("tickets", [])] or [{}]
    return Answer(
        sent=sent,
        owner=owner,
        boot=boot,
        queue=tuple(queue),
        # One that was asked for by name and by id is told twice.
        runs=tuple(dict.fromkeys(runs)),
        before=tickets[0],
        tickets=tickets[-1],
    )


def _hello(section: Section) -> tuple[datetime, Owner, bool]:
    lines = section.out.decode("utf-8", "replace").split("\n")
    if (
        section.returncode
        or len(lines) < 4
        or not (lines[0].isascii() and lines[0].isdigit() and len(lines[0]) < 15)
    ):
        raise _unavailable(section, "squeue --version")
    version = lines[3].strip().rpartition(" ")[2].split(".")
    match version:
        case [major, minor, *_] if major.isdigit() and minor.isdigit():
            old = (int(major), int(minor)) < (23, 11)
        case _:
            raise Unavailable(f"squeue --version printed no version: {lines[3][:200]!r}.")
    return (
        datetime.fromtimestamp(int(lines[0]) / 1000, tz=UTC),
        Owner(uid=lines[1], user=lines[2]),
        old,
    )


def _same_boot(before: Section, after: Section) -> str:
    if before.out != after.out:
        raise Unavailable(
            "The controller restarted while it was read.", todo="It is read again at the next poll."
        )
    return before.out.decode("utf-8", "replace").strip()


def _queue(section: Section, *, old: bool) -> list[QueueRow]:
    if section.returncode:
        if any(words in section.err for words in _UNKNOWN_TO_QUEUE):
            return []
        raise _unavailable(section, "squeue")
    if old:
        return queue_rows(section.out.decode("utf-8", "replace"))
    return [queue_row(job) for job in read_document(section.out, "squeue --json")]


def _accounting(section: Section, *, old: bool) -> list[AccountingRow]:
    said = section.err + section.out.decode("utf-8", "replace") if section.returncode else ""
    if any(words in said for words in _WITHOUT_ACCOUNTING):
        return []
    if section.returncode:
        raise _unavailable(section, "sacct")
    if old:
        return accounting_rows(section.out.decode("utf-8", "replace"))
    return [accounting_row(job) for job in read_document(section.out, "sacct --json")]


def _tickets(section: Section) -> dict[str, Tickets]:
    # A directory that cannot be read leaves ends unproven; it makes nothing true.
    return decode_tickets(section.out.decode("utf-8", "replace"))


def _unavailable(section: Section, asked: str) -> Unavailable:
    match section.returncode:
        case 124 | 137:
            words = "it did not answer in time"
        case 127:
            words = "there is no such command on the host's PATH"
        case code:
            words = (
                section.err
                or section.out.decode("utf-8", "replace")[:400].strip()
                or f"return code {code}"
            )
    return Unavailable(
        f"Slurm cannot be seen: {asked}: {words}.",
        todo="Nothing is concluded about any job; it is tried again.",
    )


# --- which row is whose


class Found(Value):
    """What was found of the jobs: the facts on each object, and how many rows were not ours."""

    facts: tuple[Facts, ...]
    foreign: int = 0


UNREADABLE = Marks(store="unreadable", submission=0, attempt="unreadable", base=0, spec="")
"""The marks of an object whose comment says nothing that is ours."""


class Wanted(Value):
    """Whose rows are looked for: jobs by their names, and objects that somebody may have renamed by their ids."""

    jobs: frozenset[str]
    known: dict[int, tuple[Ref, ...]] = {}

    def ref(self, row: QueueRow | AccountingRow, said: Marks) -> Ref | None:
        """The object that this row is of, where it is one that is wanted; an id alone proves nothing."""
        job = job_of(row.name)
        if job is not None and job in self.jobs:
            return said.ref(job, row.number)
        marks = (said.submission, said.base, said.attempt)
        candidates = self.known.get(row.number, ())
        return next(
            (ref for ref in candidates if (ref.submission, ref.base, ref.attempt) == marks), None
        )


def _wanted(jobs: Sequence[str], known: Sequence[Ref]) -> Wanted:
    by_number: dict[int, tuple[Ref, ...]] = {}
    for ref in known:
        by_number[ref.number] = (*by_number.get(ref.number, ()), ref)
    return Wanted(jobs=frozenset(jobs), known=by_number)


def facts_of(
    answer: Answer, jobs: Sequence[str], before: dict[str, Tickets], known: Sequence[Ref] = ()
) -> Found:
    """Gather the facts on each object of the jobs, by their names, and on the ``known`` objects, by their ids.

    ``before`` are tickets of an earlier read.
    """
    wanted, foreign = _wanted(jobs, known), 0
    rows: dict[Ref, QueueRow] = {}
    marks: dict[Ref, Marks] = {}
    for row in answer.queue:
        # Of our account and by our name, with a comment that somebody has changed: whose it is cannot be told, and it may
        # run. Under a store's name that none has it counts as somebody else's, which keeps the job from a second copy.
        ref = _claim(row, decode_comment(row.comment) or UNREADABLE, wanted, marks)
        foreign += ref is None
        if ref is not None:
            rows[ref] = row
    runs: dict[Ref, list[AccountingRow]] = {ref: [] for ref in rows}
    for run in answer.runs:
        ref = _claim(
            run, decode_comment(run.comment) or decode_comment(run.submit_line), wanted, marks
        )
        # Accounting has the comment only at the end, and not everywhere: a run without one is of the queue's object.
        ref = ref or next(
            (known for known in rows if known.number == run.number and _named(known, run)), None
        )
        foreign += ref is None
        if ref is not None and "RESIZING" not in run.states:
            runs.setdefault(ref, []).append(run)
    for ref, found in _told_by_tickets(answer, wanted.jobs).items():
        if ref not in runs:
            runs[ref], marks[ref] = [], found
    boot = int(answer.boot) if answer.boot.isascii() and answer.boot.isdigit() else 0

    def facts(ref: Ref) -> Facts:
        earlier, first = before.get(ref.job, NO_TICKETS), answer.before.get(ref.job, NO_TICKETS)
        return Facts(
            ref=ref,
            key=marks[ref].key(ref.job),
            read_at=answer.sent,
            queue=rows.get(ref),
            runs=_in_order(runs[ref]),
            tickets_before=merge(earlier, first),
            tickets=merge(first, answer.tickets.get(ref.job, NO_TICKETS)),
            owner=answer.owner,
            boot=boot,
        )

    return Found(facts=tuple(map(facts, runs)), foreign=foreign)


def _claim(
    row: QueueRow | AccountingRow, said: Marks | None, wanted: Wanted, marks: dict[Ref, Marks]
) -> Ref | None:
    ref = None if said is None else wanted.ref(row, said)
    if ref is not None and said is not None:
        marks[ref] = said
    return ref


def _named(ref: Ref, run: AccountingRow) -> bool:
    return job_of(run.name) == ref.job


def _in_order(runs: list[AccountingRow]) -> tuple[AccountingRow, ...]:
    return tuple(sorted(runs, key=lambda run: (run.restarts or 0, run.submitted)))


def _told_by_tickets(answer: Answer, wanted: frozenset[str]) -> dict[Ref, Marks]:
    """Objects of which only their tickets are left, where those say whose they are (12, E6)."""
    told: dict[Ref, Marks] = {}
    for job, tickets in answer.tickets.items():
        for start in tickets.starts if job in wanted else ():
            if not (start.store and start.base and start.number and start.attempt):
                continue
            said = Marks(
                store=start.store,
                submission=start.epoch.submission,
                attempt=start.attempt,
                base=start.base,
                spec="",
            )
            ref = said.ref(job, start.number)
            told[ref] = said
    return told


# --- what to ask more about


def unsettled(
    found: Found, jobs: Sequence[str], refs: Mapping[str, Sequence[Ref]] = _NO_REFS
) -> list[str]:
    """The jobs of which the queue alone does not tell enough: accounting and later tickets are asked about these.

    ``refs`` are the known objects of each job: one that is not shown by its name may have been renamed.
    """
    objects = {facts.ref for facts in found.facts if facts.queue is not None}
    shown = {facts.ref.job for facts in found.facts if facts.queue is not None}
    doubtful = {
        facts.ref.job
        for facts in found.facts
        if (seen := classify(facts)) is not None and _doubtful(seen)
    }
    return [
        job
        for job in jobs
        if job not in shown or job in doubtful or not objects.issuperset(refs.get(job, ()))
    ]


def _doubtful(seen: Observation) -> bool:
    match seen.state:
        case State.PENDING:
            return seen.cause is Cause.REQUEUED
        case State.RUNNING:
            return False
        case _:
            return True


def observations_of(found: Found) -> tuple[Observation, ...]:
    """Classify each object, in the order of job and submission."""
    seen = [observation for facts in found.facts if (observation := classify(facts)) is not None]
    return tuple(sorted(seen, key=lambda one: (one.key.job, one.key.submission, one.ref)))
