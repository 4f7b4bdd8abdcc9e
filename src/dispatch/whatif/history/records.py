"""A history out of our own records: what each execution of a job came to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from dispatch.core.folding import fold
from dispatch.model.codec import decode
from dispatch.model.documents_leaves import is_list, is_mapping
from dispatch.model.documents_words import show
from dispatch.model.errors import CorruptRecord, Fault, Invalid
from dispatch.model.journal import Entry
from dispatch.model.status import Verdict
from dispatch.model.view import JobView
from dispatch.whatif.history.past import LONGEST_MS, History, Past


def read_records(records: Iterable[Sequence[Entry]]) -> History:
    """Read the executions of these jobs, each the entries of its record."""
    found: list[Past] = []
    unfinished = 0
    for entries in records:
        executions, running = _executions(fold(entries))
        found += executions
        unfinished += running
    notes = (f"{unfinished} that never ran or have not ended are left out",) if unfinished else ()
    return History(tuple(sorted(found, key=lambda past: past.started)), notes)


def read_shown(document: object, where: str) -> tuple[Entry, ...]:
    """Read the record out of what ``dispatch show --json`` prints; the words beside each event are ours to leave."""
    history = document.get("history") if is_mapping(document) else None
    if not is_list(history):
        fault = Fault(path="history", found=show(history), allowed="the list of a job's events")
        raise Invalid(f"{where} is no history that can be read.", faults=(fault,))
    entries: list[Entry] = []
    for index, raw in enumerate(history):
        plain = {k: v for k, v in raw.items() if k != "text"} if is_mapping(raw) else raw
        try:
            entries.append(decode(json.dumps(plain), Entry))
        except Invalid as error:
            what = f"{where} has an event that cannot be read: history[{index}]. {error.what}"
            raise Invalid(what, todo="Print it with `dispatch show JOB --json`.") from error
    try:
        fold(entries)
    except CorruptRecord as error:
        raise Invalid(f"{where} has no whole record: {error.what}") from error
    return tuple(entries)


def _executions(view: JobView) -> tuple[list[Past], int]:
    verdicts = {decided.submission: decided.verdict for _, decided in view.decisions}
    current = view.current
    if view.verdict is not None and current is not None:
        verdicts.setdefault(current.submission, view.verdict)
    found: list[Past] = []
    unfinished = 0
    for submission, known in sorted(view.objects.items()):
        seen, verdict = known.ran or known.seen, verdicts.get(submission)
        if seen is None or seen.started is None or seen.ended is None or verdict is None:
            unfinished += 1
            continue
        nodes = len(seen.nodes) or view.job.nodes
        found.append(_past(seen.submitted, seen.started, seen.ended, nodes, verdict))
    return found, unfinished


def _past(
    submitted: datetime | None, started: datetime, ended: datetime, nodes: int, verdict: Verdict
) -> Past:
    return Past(
        started=int(started.timestamp() * 1000),
        ran=min(_ms(ended - started), LONGEST_MS),
        nodes=nodes,
        cause=verdict.cause,
        exit_code=verdict.detail.exit_code if verdict.cause else None,
        signal=verdict.detail.signal if verdict.cause else None,
        queued=None if submitted is None else _ms(started - submitted),
    )


def _ms(length: timedelta) -> int:
    return max(length // timedelta(milliseconds=1), 0)
