"""Hostile texts, and every place of a document in which a text, a number or a name may stand, by the model's own types."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import inspect

from dispatch.model.documents_leaves import is_list, is_mapping
from dispatch.model.job import Job

CANARY = "CANARY-of-the-hostile-tests"
"""A file that exists once anything has been run by a shell that should not have been."""

TEXTS: Mapping[str, str] = {
    "single quotes": "it's 'so'",
    "a lone single quote": "'",
    "double quotes": 'she said "so"',
    "a lone double quote": '"',
    "a backslash": "a\\b\\n\\$x\\",
    "a newline": "one\ntwo",
    "a last newline": "one\n",
    "a carriage return": "one\rtwo\r\n",
    "a tab": "one\ttwo",
    "spaces": "  one   two  ",
    "substitution": f"$(touch {CANARY})",
    "backticks": f"`touch {CANARY}`",
    "a variable": "$HOME ${PATH} $$ $0 $((1+1))",
    "a subscript": f"a[$(touch {CANARY})]",
    "a semicolon": f"; touch {CANARY}",
    "a pipe": f"| touch {CANARY}",
    "and": f"&& touch {CANARY}",
    "a background": f"& touch {CANARY} &",
    "a newline and a command": f"x\ntouch {CANARY}\n",
    "closing single quotes": f"'; touch {CANARY}; '",
    "closing double quotes": f'"; touch {CANARY}; "',
    "closing a list": f"')\ntouch {CANARY}\n(",
    "a redirection": f"> {CANARY}",
    "process substitution": f"<(touch {CANARY})",
    "NUL": "one\0two",
    "escape sequences": "\x1b]0;owned\x07\x1b[2J\x1b[31m",
    "C1 controls": "\x9b2J\x85",
    "DEL": "a\x7fb",
    "a glob": "*",
    "a bracket and a brace": "[a-z]? {a,b}",
    "a tilde": "~",
    "somebody's tilde": "~root",
    "a dash": "-",
    "two dashes": "--",
    "an option": f"--wrap=touch {CANARY}",
    "a short option": "-h",
    "placeholders of Slurm": "%j %N %u %x %A_%a %",
    "a directive": f"#SBATCH --wrap=touch\\ {CANARY}",
    "a directive on a line": f"\n#SBATCH --wrap='touch {CANARY}'\n",
    "a field of scontrol": "x\n   JobState=COMPLETED Comment=dispatch/1 s=0 n=1",
    "separators": "a|b\x1fc\x1ed;e,f=g:h",
    "an end of a here-document": "EOF\nEOF\n",
    "a history": "!! !$ ^a^b",
    "a null": "null",
    "a number": "017",
    "right to left": "\u202eexe.txt\u2066",
    "letters": "é ü 日本語 тренировка e\u0301",
    "an emoji": "🧨👩‍🚀",
    "a line separator": "one\u2028two",
    "a replacement": "\ufffd\ufeff",
    "half a pair": "one\ud800two",
    "as long as it may be": "x" * 131_000,
    "128 KiB and one": "x" * (128 * 1024 + 1),
    "a megabyte": "x" * 1_000_000,
    "nothing": "",
}
"""What is put into every text. Each is tried in YAML and in JSON."""

TOO_LONG = 131_071
"""The bytes of the longest text: what the kernel takes for one argument."""

Make = Callable[[Any], Any]


@dataclass(frozen=True)
class Place:
    """Somewhere in a document: how to name it to people, its type, and how to make a document that has a value there."""

    path: str
    kind: inspect.Type
    make: Make
    is_key: bool = False

    @property
    def is_text(self) -> bool:
        """Whether any text may stand here, as far as the type alone tells."""
        return isinstance(self.kind, inspect.StrType)

    @property
    def right(self) -> Any:
        """Plain data that is right here."""
        return RIGHT.get(self.path) or sample(self.kind)

    @property
    def told(self) -> str:
        """How a fault here is told, as far as it does not depend on the value: up to the mapping whose key it is."""
        path = self.path.removesuffix(".{key}")
        while "{}" in path:
            mapping = path.partition(".{}")[0]
            path = path.replace("{}", KEYS.get(mapping, "name"), 1)
        return path

    def document(self, value: Any) -> dict[str, Any]:
        """Make a document of a job that is right but for what the value does to it."""
        document = copy.deepcopy(COMPANIONS.get(self.path, {}))
        made = self.make(value)
        base = {} if "command" in made else {"command": ["true"]}
        return {**base, **merged(made, document)}

    def value(self, document: Any) -> Any:
        """Find what stands here in a document that ``document`` has made, or one that was read from it."""
        for step in self.path.replace("[", ".[").split("."):
            if step == "{key}":
                return next(iter(document))
            if step == "[0]":
                document = document[0]
            elif step == "{}":
                document = next(iter(document.values()))
            else:
                document = document[step]
        return document


COMPANIONS: dict[str, dict[str, Any]] = {
    "gpuType": {"gpusPerNode": 1},
    "maxActive": {"matrix": {"A": [1]}},
    "recovery.rules[0].orElse": {"recovery": {"rules": [{"do": "restart"}]}},
    "recovery.rules[0].within": {"recovery": {"rules": [{"limit": 1}]}},
    "recovery.notify.on[0]": {"recovery": {"notify": {"command": ["true"]}}},
}
"""Fields without which another one has no meaning."""

KEYS = {"slurm.options": "wckey", "env": "NAME", "secretEnv": "NAME", "matrix": "NAME", "recovery.rules[0].with.env": "NAME"}  # fmt: skip
"""A name that is right, for mappings in which not every name is."""


def merged(below: object, above: object) -> Any:
    """Lay one document over another."""
    if is_mapping(below) and is_mapping(above):
        both = {name: merged(below[name], above[name]) for name in below if name in above}
        return {**below, **above, **both}
    if is_list(below) and is_list(above) and below and above:
        return [merged(below[0], above[0]), *above[1:]]
    return above


def places(
    kind: inspect.Type | None = None, path: str = "", make: Make = lambda value: value
) -> Iterator[Place]:
    """Walk a type, a job's by default, and give each of its leaves and each of its mappings' keys."""
    match kind:
        case None:
            yield from places(inspect.type_info(Job))
        case inspect.Metadata():
            yield from places(kind.type, path, make)
        case inspect.UnionType():
            for choice in kind.types:
                yield from places(choice, path, make)
        case inspect.StructType():
            for item in kind.fields:
                inner = f"{path}.{item.encode_name}" if path else item.encode_name
                yield from places(item.type, inner, _member(make, kind, item.encode_name))
        case inspect.DictType():
            yield Place(f"{path}.{{key}}", _plain(kind.key_type), _key(make, kind), is_key=True)
            yield from places(kind.value_type, f"{path}.{{}}", _item(make, KEYS.get(path, "name")))
        case inspect.VarTupleType() | inspect.ListType():
            yield from places(kind.item_type, f"{path}[0]", lambda value: make([value]))
        case inspect.NoneType():
            return
        case _:
            yield Place(path, kind, make)


def _plain(kind: inspect.Type) -> inspect.Type:
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _member(make: Make, kind: inspect.StructType, name: str) -> Make:
    others = {item.encode_name: sample(item.type) for item in kind.fields if item.required}
    others.pop(name, None)
    return lambda value: make({**others, name: value})


def _key(make: Make, kind: inspect.DictType) -> Make:
    return lambda value: make({value: sample(kind.value_type)})


def _item(make: Make, name: str) -> Make:
    return lambda value: make({name: value})


def sample(kind: inspect.Type) -> Any:
    """Make the plain data of a value that is right."""
    match kind:
        case inspect.Metadata():
            return sample(kind.type)
        case inspect.UnionType():
            return sample(kind.types[0])
        case inspect.StructType():
            return {item.encode_name: sample(item.type) for item in kind.fields if item.required}
        case inspect.DictType():
            return {}
        case inspect.VarTupleType() | inspect.ListType():
            return [sample(kind.item_type)]
        case inspect.EnumType():
            return ENUMS.get(kind.cls.__name__) or next(iter(kind.cls)).value
        case inspect.CustomType():
            return QUANTITIES[kind.cls.__name__]
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return max(kind.ge or 0, 1)
        case inspect.StrType():
            return "TERM" if kind.pattern and kind.pattern.startswith("^[A-Z]") else "sample"
        case _:
            raise NotImplementedError(f"no sample of {kind}: add one")


RIGHT = {"recovery.cessation.after": "5m", "slurm.options.{key}": "wckey", "env.{key}": "NAME"}
ENUMS = {"Cause": "Preempted", "Action": "resubmit"}
QUANTITIES = {"Duration": "5m", "TimeLimit": "20m", "Size": "200M"}
