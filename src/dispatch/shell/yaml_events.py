"""YAML 1.2 to plain data, strictly: no tags, no merge keys, no key twice, and the line of everything.

It works on the parser's events. ruamel's own constructors know more than a job file needs (objects, dates, numbers with
underscores), and drop the lines; its scalar resolver reads ``1_000`` as a thousand and ``012`` as twelve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.reader import ReaderError

from dispatch.model.documents import DEEPEST, MOST_FAULTS
from dispatch.model.documents_words import element, member, show
from dispatch.model.errors import Fault, Invalid

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# The core schema of YAML 1.2, section 10.3.2, but for a leading zero, which is read as text there and elsewhere as octal.
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,99})")
_OTHER_INT = re.compile(r"0o[0-7]{1,99}|0x[0-9a-fA-F]{1,99}")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_DOUBTFUL = re.compile(r"[-+]?(0[0-9]+|[0-9]+(_[0-9]+)+)")


class _Event(NamedTuple):
    """One event of the parser, in our own types: ruamel's are untyped."""

    kind: str
    line: int
    value: str = ""
    plain: bool = False
    tag: str | None = None
    anchor: str | None = None
    version: tuple[int, ...] | None = None


def _events(text: str) -> Iterator[_Event]:
    events: Iterator[Any] = YAML(typ="safe", pure=True).parse(text)  # pyright: ignore[reportUnknownMemberType]
    for event in events:
        yield _Event(
            kind=type(event).__name__.removesuffix("Event"),
            line=event.start_mark.line + 1,
            value=str(getattr(event, "value", "")),
            plain=getattr(event, "style", None) is None,
            tag=getattr(event, "tag", None),
            anchor=getattr(event, "anchor", None),
            version=getattr(event, "version", None),
        )


class Parsed(NamedTuple):
    """Plain data, and the line (from 1) of every path in it."""

    data: object
    lines: dict[str, int]


def parse_yaml(text: str, *, where: str) -> Parsed:
    """Read one YAML document; ``Invalid`` says where and why it is none, or has every fault that stands in it."""
    builder = _Builder(where)
    try:
        data = builder.document(_events(text))
    except YAMLError as error:
        raise _malformed(error, text, where) from error
    except (
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        AssertionError,
        RecursionError,
    ) as error:
        # What the parser's own code trips over in broken input; which one it is means nothing to a person.
        raise Invalid(
            f"{where} is no YAML: {type(error).__name__} while it was read.", todo=_TODO
        ) from error
    if builder.faults:
        count = "one fault" if len(builder.faults) == 1 else f"{len(builder.faults)} faults"
        raise Invalid(f"{where} has {count}.", faults=tuple(builder.faults))
    return Parsed(data, builder.lines)


_TODO = "Correct the file there; `-` items and `key: value` lines are indented by spaces."


def _malformed(error: YAMLError, text: str, where: str) -> Invalid:
    if isinstance(error, ReaderError):
        return _unprintable(int(getattr(error, "position", 0)), text, where)
    said: Any = error
    mark: Any = getattr(said, "problem_mark", None) or getattr(said, "context_mark", None)
    problem = (
        getattr(said, "problem", None) or getattr(said, "context", None) or "it cannot be parsed"
    )
    if mark is None:
        return Invalid(f"{where} is no YAML: {problem}.", todo=_TODO)
    place = f"{where}, line {mark.line + 1}, column {mark.column + 1}"
    if "\\t" in problem:
        what = f"{place}: a tab stands where YAML allows only spaces."
        return Invalid(what, todo="Indent by spaces.")
    return Invalid(f"{place}: this is no YAML: {problem}.", todo=_TODO)


def _unprintable(position: int, text: str, where: str) -> Invalid:
    before = text[:position]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    code = f"U+{ord(text[position]):04X}" if position < len(text) else "at the end"
    what = f"{where}, line {line}, column {column}: the character {code} is not allowed in YAML."
    return Invalid(what, todo="Remove it, or write it as an escape within double quotes.")


class _Builder:
    """Builds plain data from the events of one document."""

    def __init__(self, where: str) -> None:
        self.faults: list[Fault] = []
        self.lines: dict[str, int] = {}
        self._where = where
        self._anchors: dict[str, object] = {}
        self._unfinished: set[str] = set()

    def document(self, events: Iterator[_Event]) -> object:
        """Build the only document of a stream."""
        data: object = None
        documents = 0
        for event in events:
            if event.kind == "DocumentStart":
                documents += 1
                self._check_start(event, documents)
            elif event.kind not in {"StreamStart", "StreamEnd", "DocumentEnd"}:
                data = self._node(event, events, "", 0)
        return data

    def _check_start(self, event: _Event, documents: int) -> None:
        if documents > 1:
            what = f"{self._where}, line {event.line}: a second YAML document begins there."
            raise Invalid(what, todo="Write one document a file, and submit the files together.")
        if event.version not in {None, (1, 2)}:
            version = ".".join(map(str, event.version or ()))
            what = f"{self._where} asks for YAML {version}, but it is read as YAML 1.2."
            raise Invalid(what, todo="Remove the %YAML line.")

    def _fault(self, event: _Event, path: str, found: str, allowed: str) -> None:
        path = path or "the document"
        self.faults.append(Fault(path=path, found=found, allowed=allowed, line=event.line))
        if len(self.faults) > MOST_FAULTS:
            what = f"{self._where} has more than {MOST_FAULTS} faults."
            raise Invalid(what, faults=tuple(self.faults))

    def _node(self, event: _Event, events: Iterator[_Event], path: str, depth: int) -> object:
        if depth > DEEPEST:
            what = f"{self._where}, line {event.line}: the nesting is deeper than {DEEPEST} levels."
            raise Invalid(what, todo="Flatten it.")
        self.lines.setdefault(path, event.line)
        if event.kind == "Alias":
            return self._alias(event, path)
        if event.tag is not None:
            allowed = "no tag; write text in quotes, and all else plainly"
            self._fault(event, path, f"the YAML tag {event.tag}", allowed)
        if event.anchor:
            self._unfinished.add(event.anchor)
        value = self._content(event, events, path, depth)
        if event.anchor:
            self._unfinished.discard(event.anchor)
            self._anchors[event.anchor] = value
        return value

    def _content(self, event: _Event, events: Iterator[_Event], path: str, depth: int) -> object:
        match event.kind:
            case "MappingStart":
                return self._mapping(events, path, depth)
            case "SequenceStart":
                return self._sequence(events, path, depth)
            case _:
                return self._scalar(event, path) if event.plain else event.value

    def _alias(self, event: _Event, path: str) -> object:
        name = event.anchor or ""
        if name in self._unfinished:
            found = f"*{name} within &{name} itself"
            self._fault(event, path, found, "an alias of something that ends before it")
        elif name not in self._anchors:
            allowed = f"an alias of an anchor that stands before it; there is no &{name}"
            self._fault(event, path, f"the alias *{name}", allowed)
        return self._anchors.get(name)

    def _sequence(self, events: Iterator[_Event], path: str, depth: int) -> list[object]:
        made: list[object] = []
        for event in events:
            if event.kind == "SequenceEnd":
                break
            made.append(self._node(event, events, element(path, len(made)), depth + 1))
        return made

    def _mapping(self, events: Iterator[_Event], path: str, depth: int) -> dict[object, object]:
        made: dict[object, object] = {}
        first: dict[object, int] = {}
        for event in events:
            if event.kind == "MappingEnd":
                break
            key = self._key(event, events, path, depth)
            where = member(path, key)
            if key in first:
                found = f"the key {show(key)} again, after line {first[key]}"
                self._fault(event, where, found, "each key once")
            first.setdefault(key, event.line)
            self.lines.setdefault(where, event.line)
            made[key] = self._node(next(events), events, where, depth + 1)
        return made

    def _key(self, event: _Event, events: Iterator[_Event], path: str, depth: int) -> object:
        if event.kind == "Scalar" and event.plain and event.value == "<<":
            self._fault(
                event,
                member(path, "<<"),
                "a merge key",
                "the fields themselves; YAML 1.2 has no merge keys",
            )
        key = self._node(event, events, path, depth + 1)
        if isinstance(key, dict | list):
            self._fault(event, path, "a key that is a list or a mapping", "keys that are text")
            return ""
        return key

    def _scalar(self, event: _Event, path: str) -> object:
        text = event.value
        if text in _NULL:
            return None
        if text in _BOOLS:
            return _BOOLS[text]
        if _INT.fullmatch(text):
            return int(text)
        if _OTHER_INT.fullmatch(text):
            return int(text, 0)
        if _DOUBTFUL.fullmatch(text):
            self._fault(event, path, show(text), f'a plain number, or text in quotes: "{text}"')
            return 0
        if _FLOAT.fullmatch(text):
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        return text
