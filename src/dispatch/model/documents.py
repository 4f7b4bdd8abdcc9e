"""Documents that people write, as plain data, to values: strict, and with every fault at once.

``codec.decode`` stops at the first fault, which is right for what dispatch itself wrote. A person who has made three
mistakes wants to hear of three. Both accept the same documents; this one also refuses what no cluster could be given.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from dispatch.model import codec
from dispatch.model.base import Instant
from dispatch.model.documents_leaves import (
    MISSING,
    Missing,
    fits_int,
    fits_text,
    hint,
    is_list,
    is_mapping,
    stand_in,
    takes,
    within,
)
from dispatch.model.documents_words import (
    allowed,
    element,
    found,
    member,
    names_of,
    nearest,
    one_of,
    perhaps,
    show,
)
from dispatch.model.errors import Fault, Invalid

T = TypeVar("T")

LONGEST_TEXT = 131_071
"""Bytes. Linux takes no longer argument or environment string (``MAX_ARG_STRLEN`` less its NUL)."""
MOST_NODES = 50_000
"""Values in one document, an alias counted wherever it stands: what stops a small file of aliases of aliases."""
DEEPEST = 32
MOST_FAULTS = 100
_LONGEST_QUANTITY = 64  # characters; int() refuses thousands of digits in words of its own


def decode_document(data: object, kind: type[T], *, where: str, path: str = "") -> T:
    """Turn plain data (what YAML, TOML or JSON give) into a value of ``kind``.

    ``where`` names the document for people, such as ``train.yaml``; ``path`` is where the data stands in it. Raises
    ``Invalid`` with every fault: its path in the document's own spelling, what was found, and what is allowed.
    """
    walk = _Walk()
    try:
        value = walk.value(data, _type_info(cast("Any", kind)), path, 0)
        faults = tuple(walk.faults)
    except _Enough as error:
        value, faults = MISSING, error.faults
    if faults:
        count = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise Invalid(f"{where} has {count}.", faults=faults)
    return cast("T", value)


@cache
def _type_info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


class _Enough(Exception):
    """Ends a walk early, with what is told."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(str(faults[-1]))
        self.faults = faults


class _Walk:
    """One walk over a document: gathers faults, and keeps to the bounds."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._nodes = 0

    def fault(self, path: str, what: str, may_be: str) -> Missing:
        if len(self.faults) == MOST_FAULTS:
            more = Fault(path=path, found="yet more faults", allowed="none; correct these first")
            raise _Enough((*self.faults, more))
        self.faults.append(Fault(path=path or "the document", found=what, allowed=may_be))
        return MISSING

    def wrong(self, data: object, kind: inspect.Type, path: str) -> Missing:
        return self.fault(path, found(data), allowed(kind) + hint(data, kind))

    def value(self, data: object, kind: inspect.Type, path: str, depth: int) -> Any:
        """Make the value of a type, or the sentinel once its faults are noted."""
        self._count(path, depth)
        match kind:
            case inspect.Metadata():
                return self._described(data, kind, path, depth)
            case inspect.UnionType():
                return self._union(data, kind, path, depth)
            case inspect.StructType():
                return self._struct(data, kind, path, depth)
            case inspect.DictType():
                return self._dict(data, kind, path, depth)
            case inspect.VarTupleType() | inspect.ListType():
                return self._list(data, kind, path, depth)
            case inspect.AnyType():
                return self._any(data, path, depth)
            case _:
                return self._leaf(data, kind, path)

    def _count(self, path: str, depth: int) -> None:
        self._nodes += 1
        if depth > DEEPEST:
            may_be = f"at most {DEEPEST} levels"
            raise _Enough((Fault(path=path, found="deeper nesting", allowed=may_be),))
        if self._nodes > MOST_NODES:
            what = f"more than {MOST_NODES} values, aliases counted wherever they stand"
            raise _Enough((Fault(path=path, found=what, allowed=f"at most {MOST_NODES}"),))

    def _described(self, data: object, kind: inspect.Metadata, path: str, depth: int) -> Any:
        """Tell a type's own description wherever the fault is one of the value itself, not of a part of it."""
        before = len(self.faults)
        value = self.value(data, kind.type, path, depth)
        for index in range(before, len(self.faults)):
            fault = self.faults[index]
            if fault.path == (path or "the document") and fault.allowed.startswith(
                allowed(kind.type)
            ):
                said = allowed(kind) + fault.allowed.removeprefix(allowed(kind.type))
                self.faults[index] = Fault(path=fault.path, found=fault.found, allowed=said)
        return value

    def _union(self, data: object, kind: inspect.UnionType, path: str, depth: int) -> Any:
        for choice in kind.types:
            if takes(choice, data):
                return self.value(data, choice, path, depth)
        return self.wrong(data, kind, path)

    def _struct(self, data: object, kind: inspect.StructType, path: str, depth: int) -> Any:
        if not is_mapping(data):
            return self.wrong(data, kind, path)
        fields = {field.encode_name: field for field in kind.fields}
        before, meant = len(self.faults), set[str]()
        for key in data:
            if key not in fields:
                meant.add(nearest(str(key), fields))
                may_be = f"the fields {', '.join(fields)}"
                self.fault(
                    member(path, key), f"an unknown field{perhaps(str(key), fields)}", may_be
                )
        values = {
            field.name: self.value(data[name], field.type, member(path, name), depth + 1)
            for name, field in fields.items()
            if name in data
        }
        lacking = [name for name, field in fields.items() if field.required and name not in data]
        for name in lacking:
            self.fault(
                member(path, name),
                "nothing",
                f"{allowed(fields[name].type)}; this field is required",
            )
        values = {name: value for name, value in values.items() if value is not MISSING}
        known = {fault.path for fault in self.faults[before:]}
        return self._made(kind, values, path, known, meant)

    def _made(
        self,
        kind: inspect.StructType,
        values: dict[str, object],
        path: str,
        known: set[str],
        meant: set[str],
    ) -> Any:
        """Make the struct, which checks its fields against each other.

        For those that are at fault their default stands in, or any value, so that the check of the others is heard too.
        What it says of a field that is at fault itself (``known``) or misspelt (``meant``) is nothing new, and is dropped.
        """
        required = [item for item in kind.fields if item.required and item.name not in values]
        stand_ins = {item.name: stand_in(item.type) for item in required}
        if MISSING in stand_ins.values():
            return MISSING
        try:
            made = kind.cls(**values, **stand_ins)
        except Invalid as error:
            told = error.faults or (_together(error),)
        except (ValueError, TypeError) as error:
            told = (_together(error),)
        else:
            return MISSING if stand_ins else made
        suspects = meant | {
            re.split(r"[.\[]", item.removeprefix(path).lstrip("."))[0] for item in known
        }
        for fault in told:
            where = f"{path}.{fault.path}" if path and fault.path else path or fault.path
            words = set(re.findall(r"\w+", f"{fault.found} {fault.allowed}"))
            if not words & suspects and not any(_overlap(item, where) for item in known):
                self.fault(where, fault.found, fault.allowed)
        return MISSING

    def _dict(self, data: object, kind: inspect.DictType, path: str, depth: int) -> Any:
        if not is_mapping(data):
            return self.wrong(data, kind, path)
        made: dict[object, object] = {}
        for key, item in data.items():
            where = member(path, key)
            name = self.value(key, kind.key_type, where, depth + 1)
            value = self.value(item, kind.value_type, where, depth + 1)
            if name is not MISSING and value is not MISSING:
                made[name] = value
        if not within(len(data), kind.min_length, kind.max_length):
            return self.wrong(data, kind, path)
        return made

    def _list(
        self, data: object, kind: inspect.VarTupleType | inspect.ListType, path: str, depth: int
    ) -> Any:
        if not is_list(data):
            return self.wrong(data, kind, path)
        if not within(len(data), kind.min_length, kind.max_length):
            return self.wrong(data, kind, path)
        made = [
            self._element(item, kind, element(path, i), depth + 1) for i, item in enumerate(data)
        ]
        if MISSING in made:
            return MISSING
        return made if isinstance(kind, inspect.ListType) else tuple(made)

    def _element(
        self, data: object, kind: inspect.VarTupleType | inspect.ListType, path: str, depth: int
    ) -> Any:
        """Make an element; for one at fault any other stands in, so that those behind it keep their numbers."""
        value = self.value(data, kind.item_type, path, depth)
        return stand_in(kind.item_type) if value is MISSING else value

    def _any(self, data: object, path: str, depth: int) -> Any:
        """Take plain data as it is, such as settings that an adapter decodes later, but hold it to the bounds."""
        anything = inspect.AnyType()
        if is_mapping(data):
            return self._dict(data, inspect.DictType(inspect.StrType(), anything), path, depth)
        if is_list(data):
            return self._list(data, inspect.ListType(anything), path, depth)
        for kind in (inspect.StrType(), inspect.BoolType(), inspect.IntType(), inspect.NoneType()):
            if takes(kind, data):
                return self._leaf(data, kind, path)
        return self.wrong(data, anything, path)

    def _leaf(self, data: object, kind: inspect.Type, path: str) -> Any:
        match kind:
            case inspect.StrType() if isinstance(data, str):
                if self._text(data, path) is MISSING or fits_text(data, kind):
                    return data
            case inspect.IntType() if isinstance(data, int) and not isinstance(data, bool):
                if fits_int(data, kind):
                    return data
            case inspect.BoolType() if isinstance(data, bool):
                return data
            case inspect.NoneType() if data is None:
                return data
            case inspect.EnumType() if isinstance(data, str):
                return self._enum(data, kind, path)
            case inspect.LiteralType():
                if any(data == value and type(data) is type(value) for value in kind.values):
                    return data
            case inspect.CustomType() if isinstance(data, str):
                return self._quantity(data, kind, path)
            case inspect.DateTimeType() if isinstance(data, str):
                return self._moment(data, kind, path)
            case _:
                pass
        return self.wrong(data, kind, path)

    def _text(self, data: str, path: str) -> Any:
        """Refuse what no program can be given, whatever the field."""
        if "\0" in data:
            return self.fault(path, f"{show(data)}, with a NUL character", "no NUL in any text")
        try:
            size = len(data.encode())
        except UnicodeEncodeError:
            return self.fault(
                path,
                f"{show(data)}, with half of a surrogate pair",
                "characters that UTF-8 can hold",
            )
        if size > LONGEST_TEXT:
            return self.fault(
                path,
                f"{size} bytes",
                f"at most {LONGEST_TEXT}, the kernel's limit for one argument",
            )
        return data

    def _enum(self, data: str, kind: inspect.EnumType, path: str) -> Any:
        names = names_of(kind.cls)
        if data in names:
            return kind.cls(data)
        return self.fault(path, found(data) + perhaps(data, names), one_of(names))

    def _quantity(self, data: str, kind: inspect.CustomType, path: str) -> Any:
        if len(data) > _LONGEST_QUANTITY:
            return self.wrong(data, kind, path)
        try:
            return cast("Any", kind.cls).parse(data)
        except ValueError as error:
            return self.fault(path, found(data), str(error))

    def _moment(self, data: str, kind: inspect.DateTimeType, path: str) -> Any:
        try:
            return msgspec.convert(data, type=Instant)
        except msgspec.ValidationError:
            return self.wrong(data, kind, path)


def check_value(value: T, *, where: str) -> T:
    """Hold a value that was made in Python to what its document would be held to, since constructors check no types.

    Raises ``Invalid`` with every fault, as ``decode_document`` does.
    """
    try:
        plain = codec.to_builtins(value)
    except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
        raise Invalid(f"{where} holds a value of a type that it cannot have: {error}.") from error
    return decode_document(plain, type(value), where=where)


def _overlap(one: str, other: str) -> bool:
    """Tell whether two paths are the same, or one lies below the other."""
    short, long = sorted((one, other), key=len)
    return long == short or long.startswith((f"{short}.", f"{short}["))


def _together(error: Exception) -> Fault:
    return Fault(path="", found="these fields together", allowed=str(error))
