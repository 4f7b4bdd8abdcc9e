"""Where a command's records and configuration are, and which job is meant."""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.cli.options import Common
from dispatch.cli.render import UNATTENDED, age
from dispatch.cli.terminal import note
from dispatch.model.errors import Invalid, NotFound
from dispatch.shell.config import Config, find_config, load_config, records_place
from dispatch.spi.store import AWAY, Heartbeat, Query, Store, Summary
from dispatch.stores.opening import AnyStore, open_store

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

FRESH = timedelta(seconds=40)
"""As ``dispatch.shell.supervisor.FRESH``, which a command that only reads does not import: it would double its start."""
MOST_CANDIDATES = 10


def configuration(common: Common) -> Config:
    """Load the configuration that this command goes by."""
    return load_config([common.config], required=True) if common.config else find_config()


def place_of_records(common: Common) -> Path:
    """Say where the records are; named on the command line, no configuration is needed to know."""
    return common.records or records_place(configuration(common))


@contextmanager
def reading(common: Common) -> Generator[AnyStore]:
    """Open the records for reading."""
    store = open_store(place_of_records(common), now=utc_now(), read_only=True)
    try:
        for warning in store.warnings:
            note(f"warning: {warning}")
        yield store
    finally:
        store.close()


def utc_now() -> datetime:
    """Read this host's clock."""
    return datetime.now(UTC)


def meant(store: Store, text: str) -> Summary:
    """Find the job that is meant by an id, a prefix of one, a name or a key; ``Invalid`` where several may be."""
    found = store.resolve(text)
    if len(found) == 1:
        return found[0]
    if found:
        raise Invalid(
            f"{text!r} may mean {len(found)} jobs.", todo=f"Name one of them: {_candidates(found)}."
        )
    raise NotFound(
        f"There is no job {text!r} in the records {store.place}.", todo=_suggestion(store, text)
    )


def _candidates(found: tuple[Summary, ...]) -> str:
    now = utc_now()
    told = [
        f"{job.id} ({job.name}, {job.state}, {age(now - job.accepted_at)} ago)"
        for job in found[:MOST_CANDIDATES]
    ]
    more = [f"and {len(found) - MOST_CANDIDATES} more"] if len(found) > MOST_CANDIDATES else []
    return ", ".join([*told, *more])


def _suggestion(store: Store, text: str) -> str:
    names = {
        name: None for job in store.list(Query(limit=500)) for name in (job.name, job.key or job.id)
    }
    near = difflib.get_close_matches(text, names, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return "`dispatch status --all` lists every job; a prefix of an id has 6 letters at least."


def supervisors(store: Store) -> tuple[Heartbeat, ...]:
    """List the supervisors that are at work on these records."""
    return store.heartbeats(utc_now() - FRESH)


def note_absences(attended: Iterable[Heartbeat]) -> None:
    """Say which clusters the supervisors cannot reach: what is known of their jobs is as old as that; and what is stray."""
    for line in sorted({line for one in attended for line in one.clusters}):
        note(f"{line} Its jobs are shown as they were then." if AWAY in line else line)


def note_if_unattended(store: Store) -> None:
    """Say so where nobody supervises, with the command that helps."""
    if not supervisors(store):
        note(UNATTENDED)
