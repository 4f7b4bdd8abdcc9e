"""Values to text for people and to documents for programs. Pure: nothing here writes or reads a clock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from dispatch.cli.telling import Told, moment, tell, verdict_words
from dispatch.cli.terminal import Cell, clean, table
from dispatch.core.explaining import Explanation
from dispatch.model import codec
from dispatch.model.job import Job
from dispatch.model.journal import Entry, Intended
from dispatch.model.plan import Plan
from dispatch.model.status import State
from dispatch.model.view import JobView, ObjectView
from dispatch.spi.store import AWAY, Heartbeat, Summary

COLOURS = {
    State.PENDING: "yellow",
    State.RUNNING: "cyan",
    State.SUCCEEDED: "green",
    State.FAILED: "red",
    State.CANCELLED: "magenta",
    State.UNKNOWN: "bright_red",
}

UNATTENDED = (
    "Nobody supervises these records, so nothing recovers a job or carries out a request: run `dispatch supervise`"
    " (or `dispatch supervise --once` from cron)."
)


# ---------------------------------------------------------------- documents


def job_document(job: Summary) -> dict[str, Any]:
    """Write the summary of a job, every field always there."""
    return {
        "id": job.id,
        "name": job.name,
        "key": job.key,
        "cluster": job.cluster,
        "user": job.user,
        "labels": job.labels,
        "state": job.state.value,
        "cause": job.cause.value if job.cause else None,
        "finished": job.finished,
        "why": job.why,
        "submission": job.submission,
        "version": job.version,
        "acceptedAt": moment(job.accepted_at),
        "updatedAt": moment(job.updated_at),
        "due": moment(job.due) if job.due else None,
    }


def view_document(
    view: JobView, explanation: Explanation, entries: Sequence[Entry]
) -> dict[str, Any]:
    """Write all that is known of one job."""
    return {
        "job": {
            "id": view.id,
            "name": view.job.name,
            "key": view.job.key,
            "cluster": view.header.cluster.alias,
            "user": view.user,
            "labels": view.job.labels,
            "state": explanation.state.value,
            "cause": explanation.cause.value if explanation.cause else None,
            "finished": view.verdict is not None,
            "why": explanation.headline,
            "submission": view.current.submission if view.current else 0,
            "version": view.version,
            "acceptedAt": moment(view.accepted_at),
            "endedAt": moment(view.ended_at) if view.ended_at else None,
        },
        "explanation": {
            "headline": explanation.headline,
            "why": list(explanation.why),
            "todo": list(explanation.todo),
        },
        "verdict": codec.to_builtins(view.verdict) if view.verdict else None,
        "spec": codec.to_builtins(view.job),
        "plan": codec.to_builtins(view.header.plan),
        "objects": [codec.to_builtins(known) for known in view.objects.values()],
        "history": history_document(entries),
    }


def history_document(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Write a history: each event as it is recorded, and in words."""
    intents: dict[str, Any] = {}
    documents: list[dict[str, Any]] = []
    for entry in entries:
        if isinstance(entry.event, Intended):
            intents[entry.event.intent.id] = entry.event.intent
        documents.append({**codec.to_builtins(entry), "text": tell(entry.event, intents)})
    return documents


def plan_document(plan: Plan) -> dict[str, Any]:
    """Write a plan."""
    rules = [
        {
            "rule": rule.rule,
            "action": rule.action.value,
            "executor": rule.executor.value,
            "restsOn": list(rule.rests_on),
        }
        for rule in plan.rules
    ]
    return {"rules": rules, "notes": list(plan.notes)}


def supervisor_document(supervisor: Heartbeat) -> dict[str, Any]:
    """Write a supervisor that is at work."""
    return {
        "id": supervisor.id,
        "host": supervisor.host,
        "pid": supervisor.pid,
        "version": supervisor.version,
        "seen": moment(supervisor.seen),
        "away": [line for line in supervisor.clusters if AWAY in line],
        "strays": [line for line in supervisor.clusters if AWAY not in line],
    }


# ---------------------------------------------------------------- for people


def age(duration: timedelta) -> str:
    """Write how long ago something was, in its largest unit: 45s, 12m, 3h, 5d."""
    seconds = max(int(duration.total_seconds()), 0)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def jobs_table(jobs: Sequence[Summary], now: datetime, most: int | None) -> list[str]:
    """Lay out a list of jobs."""
    rows = [
        [
            Cell(job.id),
            Cell(job.name),
            Cell(job.state, COLOURS[job.state]),
            Cell(job.cause or "-"),
            Cell(str(job.submission)),
            Cell(age(now - job.accepted_at)),
            Cell(job.why),
        ]
        for job in jobs
    ]
    return table(("JOB", "NAME", "STATE", "CAUSE", "N", "AGE", "WHY"), rows, most)


def one_line(view: JobView, explanation: Explanation) -> str:
    """Tell in a line where a job stands."""
    headline = explanation.headline
    said = (
        headline if headline.startswith(explanation.state) else f"{explanation.state}: {headline}"
    )
    return clean(f"{view.job.name} {view.id} {said}")


def explained(explanation: Explanation) -> list[str]:
    """Tell where a job stands, why, and what to do."""
    cause, headline = explanation.cause, explanation.headline
    belongs = f" ({cause})" if cause and cause not in headline else ""
    said = (
        headline
        if headline.startswith(explanation.state)
        else f"{explanation.state}{belongs}: {headline}"
    )
    lines = [said]
    lines += [f"  because  {why}" for why in explanation.why if why]
    lines += [f"  to do    {todo}" for todo in explanation.todo]
    return [clean(line) for line in lines]


def shown(
    view: JobView, explanation: Explanation, told: Sequence[Told], most: int | None
) -> list[str]:
    """Tell all of one job: where it stands, its objects, and its history."""
    job = view.job
    facts = [
        ("job", view.id),
        ("name", job.name),
        ("key", job.key or ""),
        ("labels", " ".join(f"{name}={value}" for name, value in sorted(job.labels.items()))),
        ("cluster", f"{view.header.cluster.alias} ({view.header.cluster.adapter})"),
        ("command", " ".join(job.command)),
        ("size", f"{job.nodes} node{'s' if job.nodes > 1 else ''}"),
        ("accepted", f"{moment(view.accepted_at)} from {view.user}"),
        ("held", _held(view)),
        ("ended", moment(view.ended_at) if view.ended_at else ""),
    ]
    lines = [f"{name:<9} {clean(text)}" for name, text in facts if text]
    lines += ["", *explained(explanation)]
    if view.objects:
        lines += ["", *_objects(view, most)]
    return [*lines, "", *history_lines(told)]


def _held(view: JobView) -> str:
    hold = view.hold
    if hold is None:
        return ""
    until = f" until {moment(hold.until)}" if hold.until else ""
    return f"by {hold.by}{until}" + (f": {hold.why}" if hold.why else "")


def _objects(view: JobView, most: int | None) -> list[str]:
    rows = [
        [Cell(str(number)), Cell(known.ref), Cell(known.phase), Cell(str(known.restarts)), Cell(_where(known)), Cell(_how(view, number))]
        for number, known in sorted(view.objects.items())
    ]  # fmt: skip
    return table(("N", "OBJECT", "PHASE", "R", "NODES", "VERDICT"), rows, most)


def _where(known: ObjectView) -> str:
    seen = known.ran or known.seen
    return ",".join(seen.nodes) if seen and seen.nodes else "-"


def _how(view: JobView, submission: int) -> str:
    verdicts = [
        decided.verdict for _, decided in view.decisions if decided.submission == submission
    ]
    if not verdicts and view.verdict is not None and submission == max(view.objects):
        verdicts = [view.verdict]  # a success needs no decision
    return verdict_words(verdicts[-1]) if verdicts else "-"


def history_lines(told: Sequence[Told]) -> list[str]:
    """Tell a history, a line for each event and for each piece of evidence."""
    lines: list[str] = []
    for event in told:
        lines.append(f"{moment(event.at)}  {clean(event.text)}")
        lines += [f"{'':22}· {clean(fact)}" for fact in event.evidence]
    return lines


def plan_lines(job: Job, plan: Plan) -> list[str]:
    """Tell a plan."""
    policy = job.policy
    lines = [f"{clean(job.name)} can run on {clean(job.cluster or '')}."]
    if policy is None or not policy.rules:
        lines.append("  no recovery: the job ends with its first cause")
    for rule in plan.rules:
        causes = (
            ", ".join(str(getattr(when, "cause", when)) for when in policy.rules[rule.rule].when)
            if policy
            else ""
        )
        lines.append(f"  {rule.rule + 1}. {causes}: {rule.action}, by the {rule.executor}")
        lines += [f"     rests on {clean(fact)}" for fact in rule.rests_on]
    return lines + [f"  note: {clean(note)}" for note in plan.notes]


def pretty(document: object) -> list[str]:
    """Write a document over several lines, as a file to submit again."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # In JSON's own escapes, so that it still reads back as the same document.
    shown = (
        letter if letter == "\n" or letter.isprintable() else json.dumps(letter)[1:-1]
        for letter in text
    )
    return "".join(shown).split("\n")
