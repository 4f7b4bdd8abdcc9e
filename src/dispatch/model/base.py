"""The base of every value: frozen, strict, camelCase on the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, dataclass_transform

from msgspec import Meta, Struct, StructMeta, field

Instant = Annotated[datetime, Meta(tz=True)]
"""A moment, always aware and in UTC; RFC 3339 on the wire."""

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""The beginning of time, for sorting what has no time of its own."""


class _KeywordOnly(StructMeta):
    """Make every subclass keyword-only: the one option that msgspec does not hand down."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        options.setdefault("kw_only", True)
        return super().__new__(mcs, name, bases, namespace, **options)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Value(
    Struct,
    metaclass=_KeywordOnly,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename="camel",
):
    """A value of the model.

    Fields that have their default are left out on the wire, so a new field with a default changes
    no stored document and no hash; therefore a default, once released, never changes.
    """
