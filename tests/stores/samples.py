"""Entries and summaries to fill a store with: those of the shipped suite."""

from __future__ import annotations

from dispatch.conformance.store.samples import (
    ACTOR,
    NOW,
    SECOND,
    end,
    entry,
    grow,
    header,
    hold,
    job_id,
    make,
    stop,
    summary,
)

__all__ = [
    "ACTOR",
    "NOW",
    "SECOND",
    "end",
    "entry",
    "grow",
    "header",
    "hold",
    "job_id",
    "make",
    "stop",
    "summary",
]
