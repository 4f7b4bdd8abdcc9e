"""Rows to values and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dispatch.model.codec import decode, encode
from dispatch.model.errors import CorruptRecord, Invalid
from dispatch.model.journal import SCHEMA, Entry
from dispatch.model.status import Cause, State
from dispatch.spi.store import Heartbeat, Summary
from dispatch.stores.shared import LONGEST_EVENT, micros, moment

if TYPE_CHECKING:
    from collections.abc import Sequence

SUMMARY = (
    "id, version, schema, name, cluster, user, state, cause, accepted_at, updated_at, key, spec_hash, submission,"
    " labels, finished, due, why"
)
EVENT = "version, at, actor, nonce, schema, event"

_COLUMNS = tuple(SUMMARY.split(", "))
INSERT_JOB = f"INSERT INTO jobs ({SUMMARY}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"  # noqa: S608
# Not the id: setting a parent key, even to itself, makes SQLite look for its children.
UPDATE_JOB = (
    f"UPDATE jobs SET {', '.join(f'{name} = :{name}' for name in _COLUMNS[1:])} WHERE id = :id"  # noqa: S608
)


def _text(value: Any) -> str:
    return encode(value).decode()


def summary_row(summary: Summary, schema: int) -> dict[str, Any]:
    """The columns of ``jobs``; ``schema`` is the highest of the job's events."""
    return {
        "id": summary.id,
        "version": summary.version,
        "schema": schema,
        "name": summary.name,
        "cluster": summary.cluster,
        "user": summary.user,
        "state": summary.state.value,
        "cause": summary.cause.value if summary.cause else None,
        "accepted_at": micros(summary.accepted_at),
        "updated_at": micros(summary.updated_at),
        "key": summary.key,
        "spec_hash": summary.spec_hash,
        "submission": summary.submission,
        "labels": _text(summary.labels),
        "finished": int(summary.finished),
        "due": None if summary.due is None else micros(summary.due),
        "why": summary.why,
    }


def summary_of(row: Sequence[Any]) -> Summary:
    """The summary of a row of ``SUMMARY``.

    It is for show, and one job's must not keep a list from being shown: words of a newer dispatch become ``Unknown``, and
    ``why`` tells. Whoever acts loads the events, and is refused there.
    """
    (
        job, version, schema, name, cluster, user, state, cause, accepted_at, updated_at, key, spec_hash, submission,
        labels, finished, due, why,
    ) = row  # fmt: skip
    newer = f"Written by a newer dispatch (events of schema {schema}, this one knows {SCHEMA}): left alone."
    return Summary(
        id=job,
        version=version,
        name=name,
        cluster=cluster,
        user=user,
        state=State(state) if state in _STATES else State.UNKNOWN,
        cause=None if cause is None else Cause(cause) if cause in _CAUSES else Cause.UNKNOWN,
        accepted_at=moment(accepted_at),
        updated_at=moment(updated_at),
        key=key,
        spec_hash=spec_hash,
        submission=submission,
        labels=_labels(labels),
        finished=bool(finished),
        due=None if due is None else moment(due),
        why=newer if schema > SCHEMA else why,
    )


_STATES = frozenset(state.value for state in State)
_CAUSES = frozenset(cause.value for cause in Cause)


def _labels(text: str) -> dict[str, str]:
    try:
        return decode(text, dict[str, str])
    except Invalid:
        return {}


def event_row(job: str, entry: Entry) -> tuple[Any, ...]:
    """The columns of ``events``. Raises ``Invalid`` for what cannot be stored."""
    event = _text(entry.event)
    if len(event) > LONGEST_EVENT:
        raise Invalid(
            f"Event {entry.version} of job {job} has {len(event)} characters, more than {LONGEST_EVENT}.",
            todo="Make the job's environment and labels smaller.",
        )
    at, actor = json.loads(encode(entry.at)), _text(entry.actor)
    return job, entry.version, at, actor, entry.nonce, entry.schema, event


def entry_of(job: str, row: Sequence[Any]) -> Entry:
    """The entry of a row of ``EVENT``. Raises ``CorruptRecord`` naming the job and the version."""
    version, at, actor, nonce, schema, event = row
    # One strict decoding of the whole is twenty times faster than one of the event's union by itself.
    text = (
        f'{{"version":{version},"at":{json.dumps(at)},"actor":{actor},"nonce":{json.dumps(nonce)},'
        f'"schema":{schema},"event":{event}}}'
    )
    try:
        return decode(text, Entry)
    except (Invalid, ValueError) as error:
        raise CorruptRecord(
            f"Event {version} of job {job} cannot be read: {error}",
            todo="Nothing acts on this job any more; the others go on. Restore the records from a backup, or report this.",
        ) from error


def heartbeat_row(beat: Heartbeat) -> tuple[Any, ...]:
    """The columns of ``heartbeats``."""
    return beat.id, beat.host, beat.pid, beat.version, micros(beat.seen), _text(beat.clusters)


def heartbeat_of(row: Sequence[Any]) -> Heartbeat:
    """The heartbeat of a row."""
    supervisor, host, pid, version, seen, clusters = row
    return Heartbeat(
        id=supervisor,
        host=host,
        pid=pid,
        version=version,
        seen=moment(seen),
        clusters=tuple(json.loads(clusters)),
    )
