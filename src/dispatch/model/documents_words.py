"""The words in which a fault of a document is told: what was found, what is allowed, what may have been meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from enum import Enum
from reprlib import Repr
from typing import cast

from msgspec import inspect

_SHORT = 60
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")

# A value that aliases have blown up must not be written out to be told of.
_REPR = Repr()
_REPR.maxlevel, _REPR.maxdict, _REPR.maxlist, _REPR.maxstring, _REPR.maxlong = (
    2,
    3,
    4,
    _SHORT,
    _SHORT,
)


def member(path: str, key: object) -> str:
    """Name a field or a key below a path, in quotes where the bare key would mislead."""
    text = key if isinstance(key, str) else repr(key)
    if not _PLAIN_KEY.fullmatch(text):
        return f"{path}[{show(key)}]"
    return f"{path}.{text}" if path else text


def element(path: str, index: int) -> str:
    """Name an element of a list."""
    return f"{path}[{index}]"


def show(value: object) -> str:
    """Write a value out, shortened, as text that every terminal and encoding can show."""
    text = _REPR.repr(value)
    return text.encode("utf-8", "backslashreplace").decode()


def found(value: object) -> str:
    """Tell a value together with what it is, so that ``"16"`` and 16 are told apart."""
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return f"{str(value).lower()} (a truth value)"
        case int():
            return f"{show(value)} (a number)"
        case float():
            return f"{value!r} (a number with a fraction)"
        case str():
            return f"{show(value)} (text)"
        case date() | time():
            return f"{value.isoformat()} (a date or time)"
        case Mapping():
            return f"{show(cast('object', value))} (a mapping)"
        case list() | tuple():
            return f"{show(cast('object', value))} (a list)"
        case _:
            return f"{show(value)} (a {type(value).__name__})"


def names_of(kind: type[Enum]) -> tuple[str, ...]:
    """List the names of an enum as documents spell them."""
    return tuple(str(item.value) for item in kind)


def one_of(names: Sequence[str]) -> str:
    """Tell a choice of names."""
    return names[0] if len(names) == 1 else f"one of {', '.join(names)}"


def nearest(text: str, names: Iterable[str]) -> str:
    """Find the name that was probably meant; empty when none is near."""
    plain = {_letters(name): name for name in names}
    close = difflib.get_close_matches(_letters(text)[:_SHORT], plain, n=1, cutoff=0.7)
    return plain[close[0]] if close else ""


def perhaps(text: str, names: Iterable[str]) -> str:
    """Ask whether the nearest of the names was meant; empty when none is near."""
    name = nearest(text, names)
    return f"; did you mean {name}?" if name else ""


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def allowed(kind: inspect.Type) -> str:
    """Tell what a type allows: its own description where it has one."""
    match kind:
        case inspect.Metadata():
            schema: dict[str, object] = getattr(kind, "extra_json_schema", None) or {}
            said = schema.get("description")
            return f"{_noun(kind.type)}: {said}" if said else allowed(kind.type)
        case inspect.UnionType():
            members = [item for item in kind.types if not isinstance(item, inspect.NoneType)]
            return ", or ".join(map(allowed, members))
        case inspect.EnumType():
            return one_of(names_of(kind.cls))
        case inspect.LiteralType():
            return one_of([str(value) for value in kind.values])
        case inspect.CustomType():
            return str(getattr(kind.cls, "ALLOWED", kind.cls.__name__))
        case inspect.StructType():
            return (
                f"a mapping with the fields {', '.join(field.encode_name for field in kind.fields)}"
            )
        case inspect.IntType():
            return f"a whole number{_range(kind)}"
        case inspect.StrType() | inspect.VarTupleType() | inspect.ListType() | inspect.DictType():
            return f"{_noun(kind)}{_length(kind)}"
        case _:
            return _noun(kind)


def _noun(kind: inspect.Type) -> str:
    match kind:
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number"
        case inspect.VarTupleType() | inspect.ListType():
            return f"a list of {_plural(kind.item_type)}"
        case inspect.DictType():
            return f"a mapping of names to {_plural(kind.value_type)}"
        case inspect.NoneType():
            return "nothing (null)"
        case inspect.DateTimeType():
            return "a moment such as 2026-11-30T12:00:00Z, as text"
        case _:
            return "text, whole numbers, true, false, lists and mappings"


def _plural(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata():
            return _plural(kind.type)
        case inspect.StrType():
            return "texts"
        case inspect.IntType():
            return "whole numbers"
        case inspect.StructType():
            return "mappings"
        case inspect.UnionType():
            return " or ".join(map(_plural, kind.types))
        case inspect.EnumType():
            return "names"
        case _:
            return "values"


def _range(kind: inspect.IntType) -> str:
    low = kind.ge if kind.ge is not None else None if kind.gt is None else kind.gt + 1
    high = kind.le if kind.le is not None else None if kind.lt is None else kind.lt - 1
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of at least {low}"
    return f" of at most {high}" if high is not None else ""


def _length(
    kind: inspect.StrType | inspect.VarTupleType | inspect.ListType | inspect.DictType,
) -> str:
    unit = "characters" if isinstance(kind, inspect.StrType) else "elements"
    if kind.min_length == 1 and kind.max_length is None:
        return ", not empty"
    if kind.min_length and kind.max_length is None:
        return f" of at least {kind.min_length} {unit}"
    if kind.max_length is not None:
        return f" of {kind.min_length or 0} to {kind.max_length} {unit}"
    return ""
