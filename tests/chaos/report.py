"""The report of a chaos run: one page for people, and the same as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from chaos.judge import Evidence, Execution, Finding, Record, Sort, inside_an_intent, truth_of
from dispatch.model.journal import Verb

Delays = dict[str, list[float]]


@dataclass(frozen=True)
class Report:
    """What a run came to. ``matrix`` counts executions by what the test did and by the recorded cause."""

    seed: int
    jobs: int
    seconds: float
    findings: tuple[Finding, ...]
    matrix: dict[str, dict[str, int]]
    kills: dict[str, int]
    inside: dict[Verb, int]
    deeds: dict[str, int]
    to_decision: Delays
    to_start: Delays
    executions: int
    troubles: tuple[str, ...] = ()

    @property
    def killed_inside(self) -> int:
        """How many kills fell inside an open intent."""
        return sum(self.inside.values())

    @property
    def overlaps(self) -> int:
        """How many tasks began beside another of their rank."""
        return self.count(Sort.OVERLAP)

    def count(self, sort: Sort) -> int:
        """How many findings are of that sort."""
        return sum(finding.sort is sort for finding in self.findings)

    def as_json(self) -> str:
        """The report as a JSON document."""
        return json.dumps(asdict(self), indent=1)

    def as_text(self) -> str:
        """The report as a page for people."""
        return "\n".join(
            [
                f"chaos: seed {self.seed}, {self.jobs} jobs, {self.executions} executions, {self.seconds:.0f} s",
                "",
                *(f"{self.count(sort):5d}  {sort.value}" for sort in Sort),
                "",
                *_lines("done to the cluster and to jobs", self.deeds),
                *_lines("killed processes of ours", self.kills),
                f"{self.killed_inside} kills inside an open intent: "
                + ", ".join(f"{count} {verb.value}" for verb, count in self.inside.items()),
                "",
                *_matrix(self.matrix),
                "",
                *_delays(self.to_decision, self.to_start),
                *(f"  {finding.sort}: {finding.job}: {finding.what}" for finding in self.findings),
            ]
        )


def make_report(
    evidence: Evidence,
    findings: tuple[Finding, ...],
    *,
    seed: int,
    seconds: float,
    troubles: Sequence[str] = (),
) -> Report:
    """Sum up a run."""
    matrix: dict[str, Counter[str]] = {}
    to_decision: Delays = {}
    to_start: Delays = {}
    for record in evidence.records:
        for execution in record.executions:
            column = _called(execution)
            row = truth_of(execution, record, evidence).row
            matrix.setdefault(row, Counter())[column] += 1
            _add_delays(evidence, record, execution, to_decision, to_start)
    return Report(
        seed=seed,
        jobs=len(evidence.fates),
        seconds=seconds,
        findings=findings,
        matrix={row: dict(columns) for row, columns in sorted(matrix.items())},
        kills=dict(Counter(one.role.partition("-")[0] for one in evidence.killed)),
        inside=inside_an_intent(evidence),
        deeds=dict(Counter(done.deed.value for done in evidence.done)),
        to_decision=to_decision,
        to_start=to_start,
        executions=sum(len(record.executions) for record in evidence.records),
        troubles=tuple(troubles),
    )


def _called(execution: Execution) -> str:
    name = execution.cause.value if execution.cause else execution.state.value
    return name if execution.proven else f"{name}?"


def _add_delays(
    evidence: Evidence, record: Record, execution: Execution, decision: Delays, start: Delays
) -> None:
    lines = evidence.told.get(record.key, ())
    own = [one.at for one in lines if one.what == "end" and one.submission == execution.submission]
    ended = max(own) if own else execution.ended
    if ended is None:
        return
    cause = _called(execution)
    decision.setdefault(cause, []).append(max(0.0, execution.decided - ended))
    later = [
        one.at for one in lines if one.what == "start" and one.submission > execution.submission
    ]
    if execution.resubmitted and later:
        start.setdefault(cause, []).append(min(later) - ended)


def _lines(title: str, counts: dict[str, int]) -> Iterable[str]:
    told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return [f"{title}: {told or 'none'}"]


def _matrix(matrix: dict[str, dict[str, int]]) -> Iterable[str]:
    columns = sorted({name for row in matrix.values() for name in row})
    width = max(12, *(len(row) + 2 for row in matrix), 12)
    yield "what the test did (rows) and the recorded cause (columns; ? is suspected)"
    yield " " * width + " ".join(f"{name:>13}" for name in columns)
    for row, counts in matrix.items():
        cells = " ".join(f"{counts.get(name, 0) or '.':>13}" for name in columns)
        yield f"{row:{width}}{cells}"


def _delays(decision: Delays, start: Delays) -> Iterable[str]:
    yield "seconds from the end of an execution: to the decision, to the next start (median / greatest)"
    for cause, times in sorted(decision.items()):
        then = start.get(cause, [])
        again = f"{median(then):6.1f} / {max(then):6.1f} ({len(then)})" if then else "     -"
        yield f"{cause:16} {median(times):6.1f} / {max(times):6.1f} ({len(times)})   {again}"
