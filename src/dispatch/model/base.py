"""The base of every value: frozen, strict, camelCase on the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct

Instant = Annotated[datetime, Meta(tz=True)]
"""A moment, always aware and in UTC; RFC 3339 on the wire."""

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""The beginning of time, for sorting what has no time of its own."""


class Value(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename="camel",
):
    """A value of the model.

    Fields that have their default are left out on the wire, so a new field with a default changes no stored document
    and no hash; therefore a default, once released, never changes.
    """
