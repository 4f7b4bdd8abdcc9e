"""The parts of a document that have no parts: what fits a type, what stands in for it, and how it is rightly written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import Any, TypeGuard

from msgspec import inspect

from dispatch.model.documents_words import show

INT64 = range(-(2**63), 2**63)
"""What the encoding of records holds."""


class Missing:
    """Stands for a value that could not be made; what it lacked is among the faults."""


MISSING = Missing()


def stand_in(kind: inspect.Type) -> Any:
    """Make any value of a type, or the sentinel where that takes more than a line."""
    match kind:
        case inspect.Metadata():
            return stand_in(kind.type)
        case inspect.StrType():
            return "?"
        case inspect.IntType():
            return kind.ge or 0
        case inspect.EnumType():
            return next(iter(kind.cls))
        case inspect.VarTupleType():
            item = stand_in(kind.item_type)
            return item if item is MISSING else (item,)
        case inspect.UnionType():
            return stand_in(kind.types[0])
        case _:
            return MISSING


def is_mapping(data: object) -> TypeGuard[Mapping[object, object]]:
    """Tell whether this is a mapping of whatever it is."""
    return isinstance(data, Mapping)


def is_list(data: object) -> TypeGuard[Sequence[object]]:
    """Tell whether this is a list of whatever it is; text is none."""
    return isinstance(data, list | tuple)


def takes(kind: inspect.Type, data: object) -> bool:
    """Tell whether this is the member of a union that data of such a kind is meant for."""
    match kind:
        case inspect.Metadata():
            return takes(kind.type, data)
        case inspect.NoneType():
            return data is None
        case inspect.BoolType():
            return isinstance(data, bool)
        case inspect.IntType():
            return isinstance(data, int) and not isinstance(data, bool)
        case inspect.StructType() | inspect.DictType():
            return is_mapping(data)
        case inspect.VarTupleType() | inspect.ListType():
            return is_list(data)
        case inspect.AnyType():
            return True
        case _:
            return isinstance(data, str)


def within(size: int, low: int | None, high: int | None) -> bool:
    return (low is None or size >= low) and (high is None or size <= high)


def fits_text(data: str, kind: inspect.StrType) -> bool:
    if not within(len(data), kind.min_length, kind.max_length):
        return False
    if kind.pattern is None:
        return True
    match = re.search(kind.pattern, data)
    # Python's "$" also matches before a final newline, and a newline has no place in any name.
    return match is not None and not (kind.pattern.endswith("$") and match.end() != len(data))


def fits_int(data: int, kind: inspect.IntType) -> bool:
    return (
        data in INT64
        and (kind.ge is None or data >= kind.ge)
        and (kind.gt is None or data > kind.gt)
        and (kind.le is None or data <= kind.le)
        and (kind.lt is None or data < kind.lt)
    )


def hint(data: object, kind: inspect.Type) -> str:
    """Say how to write what was probably meant."""
    match kind, data:
        case inspect.Metadata(), _:
            return hint(data, kind.type)
        case inspect.UnionType(), _:
            return next(filter(None, (hint(data, item) for item in kind.types)), "")
        case inspect.StrType(), bool():
            return f'; write it in quotes: "{str(data).lower()}"'
        case inspect.StrType(), int() | float():
            return f'; write it in quotes: "{show(data)}"'
        case inspect.StrType(), date() | time():
            return f'; write it in quotes: "{data.isoformat()}"'
        case inspect.IntType(), str() if re.fullmatch(r"-?[0-9]{1,18}", data):
            return f"; write it without quotes: {data}"
        case inspect.BoolType(), str() if data.lower() in {
            "true",
            "false",
            "yes",
            "no",
            "on",
            "off",
        }:
            return f"; write {str(data.lower() in {'true', 'yes', 'on'}).lower()} without quotes"
        case ((inspect.VarTupleType() | inspect.ListType()), str()):
            return "; write it in brackets: [a, b]"
        case _:
            return ""
