"""Tables of the fields of values, from the model itself: name, what is allowed, default, meaning, who honours it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from dispatch.adapters.slurm.cluster import answers_of, read_cluster
from dispatch.model import codec
from dispatch.model.answers import Answers, Feature
from dispatch.model.base import Value
from dispatch.model.documents_words import allowed
from dispatch.model.quantity import Duration, Size, TimeLimit

Kind = type[Value]

SLURM_CONFIG = "ClusterName=c\nKillWait=30 sec\nMinJobAge=300 sec\nMessageTimeout=10 sec\n"


def slurm_answers() -> Answers:
    """What the Slurm adapter answers for an ordinary cluster."""
    return answers_of(read_cluster("slurm 26.05.5", SLURM_CONFIG))


def struct_of(kind: Kind) -> inspect.StructType:
    """The fields of a value as msgspec knows them."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info


def field_table(
    kind: Kind, texts: Mapping[str, str], *, on_slurm: Callable[[str], str] | None = None
) -> list[str]:
    """Write the table of one value's fields. ``texts`` must have a meaning for each, and for no other."""
    names = [field.encode_name for field in struct_of(kind).fields]
    if sorted(names) != sorted(texts):
        raise ValueError(
            f"{kind.__name__}: meanings are for {sorted(texts)}, fields {sorted(names)}"
        )
    heads = ["field", "allowed", "default", "meaning", *(["on Slurm"] if on_slurm else [])]
    rows = [
        [
            f"`{field.encode_name}`",
            words_of(field.type),
            default_of(field),
            texts[field.encode_name],
            *([on_slurm(field.encode_name)] if on_slurm else []),
        ]
        for field in struct_of(kind).fields
    ]
    return table(heads, rows)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def words_of(kind: inspect.Type) -> str:
    """Say what is allowed; a mapping with fields of its own by its name, which has a table of its own."""
    match kind:
        case inspect.Metadata():
            inner = words_of(kind.type)
            return inner if inner.startswith("[") else short(allowed(kind))
        case inspect.StructType():
            return link(kind.cls)
        case inspect.UnionType():
            members = [item for item in kind.types if not isinstance(item, inspect.NoneType)]
            return ", or ".join(map(words_of, members))
        case inspect.VarTupleType() | inspect.ListType():
            item = kind.item_type
            return f"a list of: {words_of(item)}" if holds_struct(item) else short(allowed(kind))
        case inspect.DictType():
            value = kind.value_type
            if holds_struct(value):
                return f"a mapping of names to {words_of(value)}"
            return short(allowed(kind))
        case inspect.EnumType():
            names = [f"`{item.value}`" for item in kind.cls]
            return ", ".join(names) if len(names) <= 6 else link(kind.cls)
        case _:
            return short(allowed(kind))


SHORT = (
    ("text: 1 to 128 characters, none of them a control character", "1 to 128 characters"),
    (
        "text: a scheduler's name: at most 256 characters, no spaces, quotes or control characters",
        "a scheduler's name",
    ),
    (f"{TimeLimit.ALLOWED}", "a time limit"),
    (f"{Duration.ALLOWED}", "a duration"),
    (f"{Size.ALLOWED}", "a size"),
    ("a list of texts: a list: the program and its arguments", "a list of texts"),
    ("text: non-empty text", "text"),
    (
        "a mapping of names to texts or whole numbers or values",
        "a mapping of names to texts, whole numbers, true or false",
    ),
)
"""What the pages say once, above their tables, or what error messages say at more length."""


def short(words: str) -> str:
    """Shorten what an error message says of a type."""
    for long, brief in SHORT:
        words = words.replace(long, brief)
    return words


def holds_struct(kind: inspect.Type) -> bool:
    """Whether a type is, or may be, a value with fields of its own, or a long choice of names."""
    match kind:
        case inspect.Metadata():
            return holds_struct(kind.type)
        case inspect.UnionType():
            return any(map(holds_struct, kind.types))
        case inspect.StructType() | inspect.EnumType():
            return True
        case _:
            return False


PAGES = {"Policy": "recovery.md", "Cause": "causes.md#causes", "State": "causes.md#states"}
"""Values that another page describes."""


def link(kind: type) -> str:
    """Link to where a value is described: a heading of its name, on this page where no other is named."""
    name = spoken(kind.__name__)
    return f"[{name}]({PAGES.get(kind.__name__, '#' + name.replace(' ', '-'))})"


def spoken(name: str) -> str:
    """Write a class's name as words: ``ExcludeNodes`` as ``exclude nodes``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def default_of(field: inspect.Field) -> str:
    """Write a field's default."""
    if field.required:
        return "**required**"
    value: Any = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    plain = codec.to_builtins(value)
    if isinstance(value, Value):
        return "its own defaults"
    if plain is None or plain in ({}, [], ()):
        return "none"
    if isinstance(plain, bool):
        return f"`{str(plain).lower()}`"
    return f"`{plain}`"


FEATURES = {
    feature.value.split(".")[-1]: feature for feature in Feature if ":" not in feature.value
}


def honoured(name: str) -> str:
    """Say whether the Slurm adapter honours a field of the job file."""
    feature = FEATURES.get({"maxActive": "matrix", "gpuType": "gpusPerNode"}.get(name, name))
    if name == "launcher":
        told = {
            item.value.removeprefix("launcher: "): slurm_answers().feature(item)
            for item in Feature
            if item.value.startswith("launcher: ")
        }
        return "; ".join(
            f"`{word}` {'yes' if answer.yes else f'no: {answer.reason}'}"
            for word, answer in {"plain": None, **told}.items()
            for answer in [answer or slurm_answers().feature(Feature.SETUP)]
        )
    if feature is None:
        return "yes"
    answer = slurm_answers().feature(feature)
    return "yes" if answer.yes else f"**no**: {answer.reason}"
