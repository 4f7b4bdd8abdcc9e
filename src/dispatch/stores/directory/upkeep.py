"""Checking the records as a whole, and writing anew what follows from them. Both read everything."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from dispatch.model.errors import CorruptRecord, NewerSchema, NotFound
from dispatch.stores.directory import layout
from dispatch.stores.directory.layout import FRESH, JOBS, QUEUE, Marker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dispatch.stores.directory.files import Files
    from dispatch.stores.directory.finished import Finished
    from dispatch.stores.directory.queue import Queue
    from dispatch.stores.directory.records import Records


def all_jobs(files: Files, low: str = "", high: str = "~") -> Iterator[str]:
    """The ids of the jobs that have a directory, in a half-open range; one without a header is no job."""
    for shard in sorted(files.names(files.root / JOBS)):
        if low[: layout.SHARD] <= shard <= high and len(shard) == layout.SHARD:
            names = files.names(files.root / JOBS / shard)
            yield from sorted(name for name in names if layout.is_job(name) and low <= name < high)


def rebuild_queue(files: Files, records: Records) -> None:
    """Put every job in a new queue, and that in its place when it is whole; who is finished is found out when due."""
    fresh = files.root / f"{FRESH}{os.urandom(12).hex()}"
    files.make_directory(fresh)
    for job in all_jobs(files):
        with suppress(NotFound):
            try:
                marker = Marker.of(records.head(job).summary)
            except CorruptRecord:
                marker = Marker(job, 0, layout.name_digest("?"))
            files.replace(fresh / str(marker), b"\n", durable=True)
    with suppress(FileExistsError):
        files.disk.rename(fresh, files.root / QUEUE)
    files.disk.sync_directory(files.root)


def verify(files: Files, records: Records, queue: Queue, finished: Finished) -> Iterator[str]:
    """List what is wrong: records with a gap or that cannot be read, jobs that stand in no list."""
    queued = queue.scan().keys()
    done = {found.job for found in finished.newest(None, None)}
    for job in all_jobs(files):
        try:
            entries = records.load(job, 0)
        except NotFound:
            continue
        except NewerSchema:
            pass
        except CorruptRecord as error:
            yield error.what
        else:
            head = records.head(job)
            if (len(entries), head.summary.version) != (head.last, head.last):
                yield f"Job {job} has {len(entries)} events and its summary says {head.summary.version}."
        if job not in queued and job not in done:
            yield f"Job {job} is listed neither as unfinished nor as finished."
