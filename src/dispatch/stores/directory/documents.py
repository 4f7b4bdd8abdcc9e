"""What stands in the files: one append each, and who has a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw

from dispatch.model.base import EARLIEST, Value
from dispatch.model.codec import decode, encode
from dispatch.model.errors import CorruptRecord, Invalid, NewerSchema
from dispatch.model.journal import SCHEMA, Entry
from dispatch.model.status import Cause, State
from dispatch.spi.store import Summary
from dispatch.stores.shared import LONGEST_EVENT

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_APPEND = 4 * LONGEST_EVENT
_RESTORE = "Nothing acts on this job any more; the others go on. Restore the records from a backup, or report this."


class Append(Value):
    """One append as it stands in its file: all of it, or none.

    ``schema`` is the highest of the job's events up to here, so that the last file tells whether the job is of a newer
    writer. The entries and the summary stay as they are until somebody needs them.
    """

    job: str
    first: int
    last: int
    schema: int
    summary: Raw
    entries: Raw


class Holder(Value):
    """Who has a key. The whole header is in it, so that anybody can finish what its writer could not."""

    key: str
    header: Raw


def compose(job: str, entries: Sequence[Entry], summary: Summary, schema: int) -> bytes:
    """Encode an append on a job of that schema. Raises ``Invalid`` for what cannot be stored."""
    try:
        parts = [encode(entry) for entry in entries]
        append = Append(
            job=job,
            first=entries[0].version,
            last=entries[-1].version,
            schema=max(schema, *(entry.schema for entry in entries)),
            summary=Raw(encode(summary)),
            entries=Raw(b"[" + b",\n".join(parts) + b"]"),
        )
        data = encode(append) + b"\n"
    except UnicodeEncodeError as error:
        raise Invalid(
            f"Cannot append to job {job}: there is text in it that is no Unicode ({error})."
        ) from error
    longest = max(map(len, parts))
    if longest > LONGEST_EVENT or len(data) > LONGEST_APPEND:
        raise Invalid(
            f"Event {entries[0].version} of job {job} has {longest} bytes, more than {LONGEST_EVENT},"
            f" or with the others more than {LONGEST_APPEND}.",
            todo="Make the job's environment and labels smaller.",
        )
    return data


def parse(job: str, first: int, data: bytes) -> Append:
    """Read an append from its file's content. Raises ``CorruptRecord`` naming the job and the version."""
    try:
        append = decode(data, Append)
    except Invalid as error:
        raise corrupt(job, first, str(error)) from error
    if (append.job, append.first) != (job, first) or append.last < first:
        raise corrupt(job, first, f"it says that it is event {append.first} of job {append.job}")
    return append


def entries_of(append: Append) -> tuple[Entry, ...]:
    """The entries of an append of a known schema. Raises ``CorruptRecord`` naming the job and the version."""
    try:
        entries = decode(bytes(append.entries), tuple[Entry, ...])
    except (Invalid, ValueError) as error:
        raise _first_fault(append, error) from error
    if [entry.version for entry in entries] != list(range(append.first, append.last + 1)):
        raise corrupt(append.job, append.first, "its versions are not those that it says")
    return entries


def _first_fault(append: Append, error: Exception) -> CorruptRecord:
    for offset, part in enumerate(decode(bytes(append.entries), tuple[Raw, ...])):
        try:
            decode(bytes(part), Entry)
        except (Invalid, ValueError) as fault:
            return corrupt(append.job, append.first + offset, str(fault))
    return corrupt(append.job, append.first, str(error))


def corrupt(job: str, version: int, why: str) -> CorruptRecord:
    """The error for an event that cannot be read."""
    return CorruptRecord(f"Event {version} of job {job} cannot be read: {why}", todo=_RESTORE)


def check_schema(job: str, schema: int) -> None:
    """Raise ``NewerSchema`` where the job has events of a newer writer (12, T4)."""
    if schema > SCHEMA:
        raise NewerSchema(
            f"Job {job} has events of schema {schema}, written by a newer dispatch; this one knows {SCHEMA}."
            " It was left alone.",
            todo="Upgrade dispatch here; other jobs are not affected.",
        )


def summary_of(append: Append) -> Summary:
    """The summary after an append, for show: what a newer dispatch wrote must not keep a list from being shown."""
    raw = bytes(append.summary)
    if append.schema <= SCHEMA:
        try:
            return decode(raw, Summary)
        except Invalid as error:
            why = f"Its summary cannot be read: {error}"
    else:
        why = f"Written by a newer dispatch (events of schema {append.schema}, this one knows {SCHEMA}): left alone."
    try:
        return _as_far_as_known(decode(raw, dict[str, Any]), why)
    except Invalid:
        return unreadable(append.job, append.last, why)


def _as_far_as_known(found: dict[str, Any], why: str) -> Summary:
    known = {name: value for name, value in found.items() if name in _SUMMARY_FIELDS}
    if known.get("state") not in _STATES:
        known["state"] = State.UNKNOWN.value
    if known.get("cause") not in (None, *_CAUSES):
        known["cause"] = Cause.UNKNOWN.value
    return decode(encode({**known, "why": why}), Summary)


_SUMMARY_FIELDS = frozenset(Summary.__struct_encode_fields__)
_STATES = frozenset(state.value for state in State)
_CAUSES = frozenset(cause.value for cause in Cause)


def unreadable(job: str, version: int, why: str) -> Summary:
    """What a list shows of a job whose record cannot be read, so that it is not passed over in silence."""
    return Summary(
        id=job,
        version=version,
        name="?",
        cluster="?",
        user="?",
        state=State.UNKNOWN,
        accepted_at=EARLIEST,
        updated_at=EARLIEST,
        why=why,
    )
